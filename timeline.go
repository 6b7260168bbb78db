package oxbow

import (
	"context"
	"errors"

	"github.com/oxbow-memory/oxbow/store"
)

// TimelineQuery selects how knowledge about a topic changed. Only UserID and Topic are required; a zero
// value is the default.
type TimelineQuery struct {
	UserID string
	// Topic is the text to search for, like Query.Text.
	Topic string
	// Limit is the maximum number of memories to return; the most relevant are kept, 1 to 1000. Default: 50.
	Limit int
	// Types are the types to include, TypeFact or TypeEpisodic. Default: both.
	Types []MemoryType
	// Embedding is the vector of Topic, made with the database's model, if the application has it.
	Embedding []float32
	// WordsOnly disables the search by vectors. Embedding is ignored then.
	WordsOnly bool
}

// Timeline is the result of Client.Timeline.
type Timeline struct {
	// Entries are in the order in which they became true or happened.
	Entries []TimelineEntry
	// Degraded is the reason why only words were searched; see Results.
	Degraded error
}

// TimelineEntry is a fact or an episode of a Timeline.
type TimelineEntry = store.TimelineEntry

// Timeline returns a user's facts and episodes about a topic, including past ones, with the versions that
// replaced them; see oxbow.timeline in the SQL interface. It writes nothing. It returns the errors of Recall.
func (c *Client) Timeline(ctx context.Context, q TimelineQuery) (Timeline, error) {
	asked := Query{UserID: q.UserID, Text: q.Topic, Limit: q.Limit, Types: q.Types, Embedding: q.Embedding,
		WordsOnly: q.WordsOnly}
	checked, err := asked.params()
	if err != nil {
		if bad, ok := errors.AsType[*InvalidError](err); ok && bad.Field == "text" {
			bad.Field = "topic"
		}
		return Timeline{}, err
	}
	params := store.TimelineParams{UserID: q.UserID, Topic: q.Topic, Types: checked.Types, Limit: checked.Limit}
	var result Timeline
	result.Entries, result.Degraded, err = search(ctx, c, asked,
		func(db store.DB, vector []float32) ([]TimelineEntry, EmbeddingModel, error) {
			params.Embedding = vector
			return store.Timeline(ctx, db, params)
		})
	return result, err
}
