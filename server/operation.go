package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/oxbow-memory/oxbow/store"
)

// body is the answer of an operation.
type body[T any] struct {
	Body T
}

// list is a page of a list. Next is the cursor of the next page; it is empty on the last.
type list[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next_cursor,omitzero" doc:"The cursor of the next page; absent on the last"`
}

// listed is a list that is not divided into pages.
func listed[T any](items []T, err error) (list[T], error) {
	if items == nil {
		items = []T{}
	}
	return list[T]{Items: items}, err
}

// op returns the description of an operation. Every one needs a credential unless it is marked public.
func op(id, method, path, tag, summary string, options ...func(*huma.Operation)) huma.Operation {
	o := huma.Operation{OperationID: id, Method: method, Path: path, Tags: []string{tag}, Summary: summary,
		MaxBodyBytes: maxBody, RejectUnknownQueryParameters: true,
		Security: []map[string][]string{{"bearer": {}}},
		Errors: []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests,
			http.StatusServiceUnavailable}}
	for _, option := range options {
		option(&o)
	}
	return o
}

func bulk(o *huma.Operation)   { o.MaxBodyBytes = maxBulkBody }
func noAuth(o *huma.Operation) { o.Security, o.Errors = nil, []int{http.StatusServiceUnavailable} }

// forUser registers an operation on one user's data. f gets the user's id.
func forUser[I, O any](s *Server, o huma.Operation, f func(ctx context.Context, user string, in *I) (O, error)) {
	handle(s, o, func(ctx context.Context, in *I) (O, error) {
		user := callerOf(ctx).user
		if user == "" {
			var none O
			return none, errNoUser(o.Path)
		}
		return f(ctx, user, in)
	})
}

func errNoUser(path string) error {
	return huma.Error400BadRequest("an app's or an operator's key must name the user in the path: " +
		userPrefix + "{user_id}" + path)
}

// forOperator registers an operation that only operators may use.
func forOperator[I, O any](s *Server, o huma.Operation, f func(ctx context.Context, in *I) (O, error)) {
	handle(s, o, func(ctx context.Context, in *I) (O, error) {
		if callerOf(ctx).role != store.RoleOperator {
			var none O
			return none, huma.Error403Forbidden("only an operator's key allows this")
		}
		return f(ctx, in)
	})
}

// handle registers an operation. Errors of f become problems.
func handle[I, O any](s *Server, o huma.Operation, f func(ctx context.Context, in *I) (O, error)) {
	o.BodyReadTimeout = s.cfg.timeout
	huma.Register(s.api, o, func(ctx context.Context, in *I) (*body[O], error) {
		out, err := f(ctx, in)
		if err != nil {
			return nil, withHeaders(s.problem(ctx, err), err)
		}
		return &body[O]{out}, nil
	})
}

// nothing is the input of operations without parameters.
type nothing struct{}
