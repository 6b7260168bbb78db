package server

import (
	"context"
	"net/http"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/gauges"
	"github.com/oxbow-memory/oxbow/store"
)

// Operation is what became of a memory that was added.
type Operation struct {
	ID uuid.UUID `json:"id"`
	store.Operation
	Changes []oxbow.Change `json:"changes" doc:"The history of the memory, with what reconciliation did to it"`
}

// OperationID names an operation in the path.
type OperationID struct {
	ID uuid.UUID `path:"id" doc:"The id that adding a memory returned"`
}

// Retried counts jobs that are due again.
type Retried struct {
	Jobs int64 `json:"jobs"`
}

// Queue is the state of the queue.
type Queue struct {
	Counts []gauges.QueueGauge `json:"counts" doc:"Jobs by kind and state"`
	Failed []store.QueuedJob   `json:"failed" doc:"Jobs that failed, the latest first"`
	Next   int64               `json:"next_before,omitzero" doc:"The parameter before of the next page"`
}

func (s *Server) registerOperations() {
	forUser(s, op("get-operation", http.MethodGet, "/operations/{id}", "operations",
		"See what became of a memory that was added"),
		s.getOperation)
	forUser(s, op("retry-operation", http.MethodPost, "/operations/{id}/retry", "operations",
		"Retry the failed jobs of a memory"),
		func(ctx context.Context, user string, in *OperationID) (r Retried, err error) {
			err = s.client.InTx(ctx, user, func(tx pgx.Tx) error {
				r.Jobs, err = store.RetryOperation(ctx, tx, user, in.ID)
				return err
			})
			return r, err
		})
}

// getOperation returns an operation. A person does not see the errors of jobs, which may name servers.
func (s *Server) getOperation(ctx context.Context, user string, in *OperationID) (o Operation, err error) {
	o.ID = in.ID
	err = s.client.InTx(ctx, user, func(tx pgx.Tx) error {
		if o.Operation, err = store.OperationOf(ctx, tx, user, in.ID); err != nil {
			return err
		}
		o.Changes, err = store.History(ctx, tx, user, in.ID)
		return err
	})
	if callerOf(ctx).role == store.RolePerson {
		for i := range o.Jobs {
			o.Jobs[i].LastError = ""
		}
	}
	return o, err
}

func (s *Server) registerOperators() {
	forOperator(s, op("get-queue", http.MethodGet, "/queue", "operators",
		"Show the queue and the jobs that failed"), s.getQueue)
	forOperator(s, op("retry-job", http.MethodPost, "/queue/{job_id}/retry", "operators", "Make a job due now"),
		func(ctx context.Context, in *struct {
			ID int64 `path:"job_id" minimum:"1"`
		}) (Done, error) {
			retried, err := store.RetryJob(ctx, s.own, in.ID)
			return Done{retried}, err
		})
	forOperator(s, op("get-status", http.MethodGet, "/status", "operators",
		"Show the contents of the database and the waiting work"),
		func(ctx context.Context, _ *nothing) (gauges.Overview, error) {
			return gauges.ReadOverview(ctx, s.own, gauges.ExactCounts)
		})
	forOperator(s, op("list-users", http.MethodGet, "/users", "operators", "List users by id"),
		func(ctx context.Context, in *Page) (page list[string], err error) {
			page.Items, err = store.Users(ctx, s.own, in.Cursor, in.Limit)
			if n := len(page.Items); n > 0 && n == in.Limit {
				page.Next = page.Items[n-1]
			}
			return page, err
		})
}

func (s *Server) getQueue(ctx context.Context, in *struct {
	Before int64 `query:"before" minimum:"1" doc:"Only failed jobs with a lower id"`
	Limit  int   `query:"limit" minimum:"1" maximum:"1000" default:"50"`
}) (q Queue, err error) {
	var g gauges.Gauges
	if err := g.ReadQueue(ctx, s.own); err != nil {
		return q, err
	}
	q.Counts = g.Queue
	q.Failed, err = store.FailedJobs(ctx, s.own, in.Before, in.Limit)
	if n := len(q.Failed); n > 0 && n == in.Limit {
		q.Next = q.Failed[n-1].ID
	}
	return q, err
}
