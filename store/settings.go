package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// ReadSetting decodes the setting with the given key into value. If the setting does not exist,
// value is unchanged.
func ReadSetting(ctx context.Context, db DB, key string, value any) error {
	raw, err := one[json.RawMessage](ctx, db, fmt.Sprintf("read the setting %q", key),
		`select value from oxbow.settings where key = $1::text`, key)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, value); err != nil {
		return fmt.Errorf("setting %q: cannot decode %s: %w", key, raw, err)
	}
	return nil
}

// WriteSetting stores value as JSON under the given key.
func WriteSetting(ctx context.Context, db DB, key string, value any) error {
	raw, err := json.Marshal(value)
	if err == nil {
		_, err = Exec(ctx, db, `
			insert into oxbow.settings (key, value) values ($1::text, $2::jsonb)
			on conflict (key) do update set value = excluded.value, updated_at = now()`, key, string(raw))
	}
	return failed(fmt.Sprintf("write the setting %q", key), err)
}

// ChannelWeights are the weights of the channels of recall, and the number of nearest vectors that it considers in
// addition to its results.
type ChannelWeights struct {
	Text, Vector, Entity float64
	Nearest              int
}

// ReadChannelWeights returns the weights in force.
func ReadChannelWeights(ctx context.Context, db DB) (ChannelWeights, error) {
	return one[ChannelWeights](ctx, db, "read the weights of recall",
		`select text, vector, entity, nearest from oxbow.channel_weights()`)
}

// Similarities are the cosine similarities of a question to the given memories, and the median of its similarities to
// all others; nil if there are no others.
type Similarities struct {
	Given  []float64
	Others *float64
}

// ReadSimilarities returns the similarities of a question to the embedded memories of a user. ids has the ids or
// external ids of the given memories.
func ReadSimilarities(ctx context.Context, db DB, userID string, embedding []float32, ids []string) (Similarities, error) {
	return one[Similarities](ctx, db, "compare a question with memories", `
		select coalesce(array_agg(s.similarity) filter (where s.given), '{}') as given,
		       percentile_cont(0.5) within group (order by s.similarity) filter (where not s.given) as others
		  from oxbow.recall_vector($1, array(select distinct memory_type::text from oxbow.memories where user_id = $1), $2,
		         1000000, -1, null) v
		 cross join unnest(v.ids, v.scores) n(id, above)
		  join oxbow.memories m on m.user_id = $1 and m.id = n.id
		 cross join lateral (select n.above - 1 as similarity,
		                            m.id::text = any($3) or coalesce(m.external_id = any($3), false) as given) s`,
		userID, halfVector(embedding), ids)
}
