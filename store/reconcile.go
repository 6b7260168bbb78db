package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/pgvector/pgvector-go"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// StoredFact is a fact that an application stored.
type StoredFact struct {
	ID       uuid.UUID
	Content  string
	Speaker  string
	Category reasoner.Category // empty: unknown
	At       time.Time         // when it became true
	Number   int64             // of the user's writes when it was read; see LockReconciliation
}

// FactsToReconcile returns those of the facts that are current, in the order in which they became true, or none if the
// user's facts are not reconciled.
func FactsToReconcile(ctx context.Context, db DB, userID string, ids []uuid.UUID) ([]StoredFact, error) {
	return list[StoredFact](ctx, db, "read facts to reconcile",
		`select id, content, speaker, category, at, number from oxbow.facts_to_reconcile($1, $2)`, userID, ids)
}

// FactVectors returns the vectors of facts of a user, nil for one without.
func FactVectors(ctx context.Context, db DB, userID string, ids []uuid.UUID) ([][]float32, error) {
	found, err := list[*pgvector.HalfVector](ctx, db, "read the vectors of facts", `
		select v.embedding from unnest($2::uuid[]) with ordinality i(id, nth)
		  left join oxbow.memory_vectors v on v.user_id = $1 and v.memory_type = 'fact' and v.memory_id = i.id
		 order by i.nth`, userID, ids)
	vectors := make([][]float32, len(ids))
	for i, v := range found {
		if v != nil {
			vectors[i] = v.Slice()
		}
	}
	return vectors, err
}

// LockReconciliation blocks extractions and reconciliations of the user until the transaction ends. It reports whether
// another one wrote something since the facts were read.
func LockReconciliation(ctx context.Context, db DB, userID string, number int64) (others bool, err error) {
	if err := lockWrites(ctx, db, userID); err != nil {
		return false, err
	}
	return one[bool](ctx, db, "look for other extractions",
		`select coalesce((select x.number from oxbow.extractions x where x.user_id = $1), 0) <> $2`, userID, number)
}

// reconciled is a row that oxbow.reconcile_facts reads.
type reconciled struct {
	newMemory
	About []string `json:"about"`
}

// Reconciliation counts the changes of a reconciliation.
type Reconciliation struct{ Updated, Deleted, Mentioned int }

// WriteReconciliation applies the decisions about facts of a user in the caller's transaction, which must hold
// LockReconciliation. It returns ErrStale if a target is no longer current.
func WriteReconciliation(ctx context.Context, db DB, userID, actor string, facts []Extracted) (
	did Reconciliation, err error,
) {
	rows := make([]reconciled, len(facts))
	for i, m := range facts {
		rows[i] = reconciled{newMemory{ID: m.ID, Type: m.Type, Content: m.Content, At: m.Time.UTC(),
			Category: pointer(string(m.Category)), Sources: []uuid.UUID{}, Reason: pointer(m.Reason),
			Operation: string(m.Operation), Target: pointer(m.Target), Also: append([]uuid.UUID{}, m.Also...),
			Policy: policyOf(m.Category)}, append([]string{}, m.About...)}
	}
	given, err := json.Marshal(rows)
	if err != nil {
		return did, err
	}
	did, err = one[Reconciliation](ctx, db, "reconcile facts",
		`select updated, deleted, mentioned from oxbow.reconcile_facts($1, $2, $3)`, userID, actor, string(given))
	if err != nil {
		return did, staleTarget(err)
	}
	return did, nil
}

// AttachUploads folds images, recordings and files into the memories that they belong to, and returns how many. It
// blocks extractions and reconciliations of the user until the transaction ends.
func AttachUploads(ctx context.Context, db DB, userID string, ids []uuid.UUID, actor string) (int, error) {
	return one[int](ctx, db, "attach uploads", `select oxbow.attach_uploads($1, $2, $3)`, userID, ids, actor)
}
