package store

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

const sweepFactsKey = "sweep.facts" // the position of WalkReviews

// factKey is a position in the order of all facts.
type factKey struct {
	UserID string    `json:"user_id"`
	ID     uuid.UUID `json:"id"`
}

// WalkReviews looks at the next facts, at most limit, and schedules the reviews of those that have none. It returns how
// many it looked at. The next call continues there, and starts over at the end.
func WalkReviews(ctx context.Context, tx DB, now time.Time, limit int) (looked int, err error) {
	var after, next factKey
	if err := ReadSetting(ctx, tx, sweepFactsKey, &after); err != nil {
		return 0, err
	}
	page, err := one[struct {
		Looked     int
		LastUserID *string
		LastID     *uuid.UUID
	}](ctx, tx, "look for facts to review", `
		select looked, last_user_id, last_id from oxbow.walk_reviews($1, $2, $3, $4)`, after.UserID, after.ID, limit, now)
	if page.Looked == limit {
		next = factKey{*page.LastUserID, *page.LastID}
	}
	if err != nil || next == after {
		return page.Looked, err
	}
	return page.Looked, WriteSetting(ctx, tx, sweepFactsKey, next)
}

// UsersToReview returns the users of the facts that have been due for review for longest, at most reviews_per_run facts
// (a policy). Facts of users who opted out are no longer due.
func UsersToReview(ctx context.Context, db DB, now time.Time) ([]string, error) {
	return list[string](ctx, db, "look for users with facts to review",
		`select oxbow.users_to_review($1, oxbow.policy('reviews_per_run')::integer)`, now)
}

// FactToReview is a fact that is due for review.
type FactToReview struct {
	ID       uuid.UUID
	Review   string // promotion, decay; empty: no longer due
	Content  string
	Speaker  string
	Category reasoner.Category // empty: unknown
	Topic    string
	Verified bool
	Source   string
	At       time.Time // when it became true
	Ends     time.Time // when it stops being true; zero: unknown
}

// FactsToReview returns the facts of a user that have been due for review for longest, at most limit.
func FactsToReview(ctx context.Context, db DB, userID string, now time.Time, limit int) ([]FactToReview, error) {
	return list[FactToReview](ctx, db, "read facts to review", `
		select id, coalesce(review, '') as review, left(content, 6000) as content, speaker, category, topic, verified,
		       source, at, ends
		  from oxbow.facts_to_review($1, $2, $3)`, userID, now, limit)
}

// SimilarToFacts returns the current facts most similar to each of the given ones, at most limit, the most similar
// first. They include the fact itself.
func SimilarToFacts(ctx context.Context, db DB, userID string, ids []uuid.UUID, limit int, least float64) (
	[][]reasoner.Held, error,
) {
	all := make([][]reasoner.Held, len(ids))
	found, err := list[struct {
		Of uuid.UUID
		reasoner.Held
	}](ctx, db, "look for similar facts", `
		with v as (
		  select array_agg(v.memory_id) as ids, array_agg(v.embedding) as embeddings from oxbow.memory_vectors v
		   where v.user_id = $1 and v.memory_type = 'fact' and v.memory_id = any($2))
		select v.ids[s.nth] as of, s.id, 'fact' as type, left(s.content, 6000) as content, s.speaker, s.category,
		       s.at as time, s.similarity
		  from v, oxbow.similar_facts($1, v.embeddings, $3, $4) s
		 where v.ids is not null`, userID, ids, limit, least)
	for _, f := range found {
		i := slices.Index(ids, f.Of)
		all[i] = append(all[i], f.Held)
	}
	return all, err
}

// Reviewed is a verdict about a fact.
type Reviewed struct {
	ID      uuid.UUID `json:"id"`
	Review  string    `json:"review,omitempty"` // as in FactToReview
	Verdict string    `json:"verdict,omitempty"`
	Reason  string    `json:"reason,omitempty"`
}

// ReviewCounts counts what reviews did.
type ReviewCounts struct{ Promoted, Kept, Deleted int }

// WriteReviews writes verdicts about facts of a user. It skips facts that are no longer due for the same review.
func WriteReviews(ctx context.Context, tx DB, userID, actor string, reviews []Reviewed) (did ReviewCounts, err error) {
	given, err := json.Marshal(reviews)
	if err != nil {
		return did, err
	}
	return one[ReviewCounts](ctx, tx, "write reviews",
		`select promoted, kept, deleted from oxbow.write_reviews($1, $2, $3)`, userID, actor, string(given))
}
