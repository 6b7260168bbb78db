package server

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// Done reports whether a request changed something.
type Done struct {
	Done bool `json:"done" doc:"Whether anything changed"`
}

// Reason says why something is changed. It is stored in the history.
type Reason struct {
	Reason string `json:"reason,omitzero" maxLength:"10000" doc:"Stored in the history"`
}

// Replacement is a new version of a memory.
type Replacement struct {
	Content  string         `json:"content" minLength:"1" maxLength:"1048576"`
	ValidAt  time.Time      `json:"valid_at,omitzero" doc:"When it became true. Default: now"`
	Metadata map[string]any `json:"metadata,omitempty" doc:"Default: the earlier version's"`
	Reason   string         `json:"reason,omitzero" maxLength:"10000" doc:"Stored in the history"`
}

// Verification says whether a person confirmed a memory.
type Verification struct {
	Verified bool   `json:"verified" doc:"false withdraws the confirmation"`
	Reason   string `json:"reason,omitzero" maxLength:"10000" doc:"Stored in the history"`
}

// Tier is how long a memory keeps its strength.
type Tier struct {
	Tier   string `json:"tier" enum:"normal,core,system" doc:"The strength of core and system memories never falls"`
	Reason string `json:"reason,omitzero" maxLength:"10000" doc:"Stored in the history"`
}

// Merging says which memories say the same.
type Merging struct {
	IDs     []uuid.UUID `json:"ids" minItems:"2" maxItems:"100"`
	Content string      `json:"content,omitzero" maxLength:"1048576" doc:"Default: the text of the last"`
}

// ProofOf names an erasure and the proof that its receipt has.
type ProofOf struct {
	ID    uuid.UUID `json:"id,omitzero" doc:"The memory that was erased. Default: the user"`
	Proof string    `json:"proof" minLength:"16" maxLength:"1024"`
}

// change is a request that changes a memory, with an optional reason.
type change struct {
	MemoryID
	Body *Reason
}

// text returns the reason, "" without a body.
func (r *Reason) text() string {
	if r == nil {
		return ""
	}
	return r.Reason
}

// actor is who changes something, for the history.
func actor(ctx context.Context) string {
	if callerOf(ctx).role == store.RolePerson {
		return "user"
	}
	return "app"
}

func (s *Server) registerChanges() {
	on := func(id, verb, summary string) huma.Operation {
		return op(id, http.MethodPost, "/memories/{id}/"+verb, "memories", summary)
	}
	forUser(s, on("supersede-memory", "supersede", "Replace a memory with a new version"), s.supersede)
	forUser(s, on("forget-memory", "forget", "Forget a memory. It can be restored for 30 days"),
		func(ctx context.Context, user string, in *change) (Done, error) {
			return Done{true}, s.client.InTx(ctx, user, func(tx pgx.Tx) error {
				return store.Forget(ctx, tx, user, in.ID, in.Body.text(), actor(ctx))
			})
		})
	forUser(s, on("restore-memory", "restore", "Restore a forgotten memory"),
		func(ctx context.Context, user string, in *MemoryID) (Done, error) {
			return Done{true}, s.client.InTx(ctx, user, func(tx pgx.Tx) error {
				return store.Restore(ctx, tx, user, in.ID, actor(ctx))
			})
		})
	forUser(s, on("promote-memory", "promote", "Keep a memory that would expire"),
		func(ctx context.Context, user string, in *change) (Done, error) {
			changed, err := s.client.Promote(ctx, user, in.ID, in.Body.text())
			return Done{changed}, err
		})
	forUser(s, on("verify-memory", "verify", "Record that a person confirmed a memory, or withdraw that"),
		func(ctx context.Context, user string, in *struct {
			MemoryID
			Body Verification
		}) (Done, error) {
			return Done{true}, s.client.InTx(ctx, user, func(tx pgx.Tx) error {
				return store.Verify(ctx, tx, user, in.ID, in.Body.Verified, in.Body.Reason, actor(ctx))
			})
		})
	forUser(s, on("set-tier", "tier", "Change the tier of a memory"),
		func(ctx context.Context, user string, in *struct {
			MemoryID
			Body Tier
		}) (Done, error) {
			return Done{true}, s.client.SetTier(ctx, user, in.ID, in.Body.Tier, in.Body.Reason)
		})
	forUser(s, op("merge-memories", http.MethodPost, "/memories/merge", "memories", "Merge memories that say the same"),
		func(ctx context.Context, user string, in *struct{ Body Merging }) (Added, error) {
			id, err := s.client.Merge(ctx, user, in.Body.IDs, in.Body.Content)
			return Added{id, id}, err
		})
	forUser(s, on("unmerge-memory", "unmerge", "Make the originals of a merged memory current again"),
		func(ctx context.Context, user string, in *MemoryID) (list[uuid.UUID], error) {
			return listed(s.client.Unmerge(ctx, user, in.ID))
		})
	forUser(s, on("erase-memory", "erase", "Erase a memory and everything that refers to it, for ever"), s.eraseMemory)
	forUser(s, op("find-receipt", http.MethodPost, "/receipts", "memories",
		"Find the receipt of an erasure by its proof"),
		func(ctx context.Context, user string, in *struct{ Body ProofOf }) (oxbow.Receipt, error) {
			return s.client.FindReceipt(ctx, user, in.Body.ID, in.Body.Proof)
		})
}

func (s *Server) supersede(ctx context.Context, user string, in *struct {
	MemoryID
	Body Replacement
}) (Added, error) {
	r := oxbow.Replacement{Content: in.Body.Content, ValidAt: in.Body.ValidAt, Reason: in.Body.Reason, Actor: actor(ctx)}
	if in.Body.Metadata != nil {
		r.Metadata = in.Body.Metadata
	}
	id, err := s.client.Supersede(ctx, user, in.ID, r)
	return Added{id, id}, err
}

func (s *Server) eraseMemory(ctx context.Context, user string, in *MemoryID) (oxbow.Receipt, error) {
	receipt, err := s.client.EraseMemory(ctx, user, in.ID)
	if err == nil && receipt.ID == uuid.Nil {
		return receipt, huma.Error404NotFound("no such memory: " + in.ID.String())
	}
	return receipt, err
}
