package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/documents"
	"github.com/oxbow-memory/oxbow/store"
)

// statuses are the statuses of errors. The first that matches holds.
var statuses = []struct {
	err    error
	status int
}{
	{oxbow.ErrNotFound, http.StatusNotFound},
	{oxbow.ErrNoReceipt, http.StatusNotFound},
	{store.ErrNoFile, http.StatusNotFound},
	{store.ErrNoAnswer, http.StatusNotFound},
	{store.ErrNoAdjustment, http.StatusNotFound},
	{store.ErrNoInstruction, http.StatusNotFound},
	{store.ErrNoSkill, http.StatusNotFound},
	{store.ErrNoStrategy, http.StatusNotFound},
	{store.ErrNoIntention, http.StatusNotFound},
	{store.ErrNoWebhook, http.StatusNotFound},
	{store.ErrOtherRequest, http.StatusUnprocessableEntity},
	{store.ErrImportLimit, http.StatusRequestEntityTooLarge},
	{store.ErrImportGone, http.StatusConflict},
	{oxbow.ErrSuperseded, http.StatusConflict},
	{oxbow.ErrForgotten, http.StatusConflict},
	{oxbow.ErrNotForgotten, http.StatusConflict},
	{oxbow.ErrNotTrait, http.StatusConflict},
	{oxbow.ErrSealed, http.StatusConflict},
	{oxbow.ErrDenied, http.StatusForbidden},
	{oxbow.ErrBehind, http.StatusServiceUnavailable},
	{oxbow.ErrAhead, http.StatusServiceUnavailable},
	{oxbow.ErrNotMigrated, http.StatusServiceUnavailable},
	{oxbow.ErrNoExtension, http.StatusServiceUnavailable},
	{context.DeadlineExceeded, http.StatusGatewayTimeout},
	{context.Canceled, 499}, // the client has gone, and nobody reads it
}

func statusOf(err error) int {
	if oxbow.IsRetryable(err) {
		return http.StatusServiceUnavailable
	}
	for _, known := range statuses {
		if errors.Is(err, known.err) {
			return known.status
		}
	}
	return http.StatusInternalServerError
}

// problem returns the problem of an error. What the caller can do nothing about is logged and not shown.
func (s *Server) problem(ctx context.Context, err error) huma.StatusError {
	if errors.Is(err, store.ErrNoKey) {
		s.keys.forget(callerOf(ctx).key)
		return errNoCredential
	}
	if limited, ok := errors.AsType[*retryAfter](err); ok {
		return huma.Error429TooManyRequests(limited.Error())
	}
	if known, ok := errors.AsType[huma.StatusError](err); ok {
		return known
	}
	if bad, ok := errors.AsType[*oxbow.InvalidError](err); ok {
		detail := &huma.ErrorDetail{Message: bad.Rule, Location: bad.Field}
		if bad.Value != "" {
			detail.Value = bad.Value
		}
		if bad.Index >= 0 {
			detail.Location = fmt.Sprintf("[%d].%s", bad.Index, bad.Field)
		}
		return huma.Error422UnprocessableEntity(bad.Error(), detail)
	}
	if bad, ok := errors.AsType[*documents.Error](err); ok {
		return huma.Error422UnprocessableEntity(bad.Error())
	}
	if _, ok := errors.AsType[*store.FileError](err); ok {
		return huma.Error422UnprocessableEntity(err.Error())
	}
	if status := statusOf(err); status != http.StatusInternalServerError {
		if text := shown(err, status); text != err.Error() {
			s.log.WarnContext(ctx, "a request failed", "error", err, "request_id", requestID(ctx))
		}
		return huma.NewError(status, shown(err, status))
	}
	s.log.ErrorContext(ctx, "a request failed", "error", err, "request_id", requestID(ctx))
	return huma.NewError(http.StatusInternalServerError,
		"an unexpected error; the server's log has it under this request's id")
}

// shown returns the text of an error, unless it says something about the database that callers must not know.
func shown(err error, status int) string {
	switch status {
	case http.StatusServiceUnavailable:
		if errors.Is(err, oxbow.ErrReadOnly) {
			return "the database takes no changes now: try again later"
		}
		return "the database cannot be used now: try again later"
	case http.StatusGatewayTimeout:
		return "the request took too long"
	case http.StatusForbidden:
		return "the credential does not allow this"
	}
	return err.Error()
}

// retrySoon is the Retry-After, in seconds, of what may soon work again.
const retrySoon = "1"

// withHeaders adds the headers of an error's problem inside huma.
func withHeaders(p huma.StatusError, err error) error {
	switch p.GetStatus() {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		after := retrySoon
		if limited, ok := errors.AsType[*retryAfter](err); ok {
			after = limited.seconds()
		}
		return huma.ErrorWithHeaders(p, http.Header{"Retry-After": {after}})
	case http.StatusUnauthorized: // the key ended while it was remembered
		return huma.ErrorWithHeaders(p, http.Header{"WWW-Authenticate": {challenge + invalidToken}})
	}
	return p
}

// refuse answers with a problem before an operation begins, or instead of its stream.
func (s *Server) refuse(ctx huma.Context, err error) {
	p := s.problem(ctx.Context(), err)
	if headers, ok := errors.AsType[huma.HeadersError](withHeaders(p, err)); ok {
		for name, values := range headers.GetHeaders() {
			ctx.SetHeader(name, values[0])
		}
	}
	_ = huma.WriteErr(s.api, ctx, p.GetStatus(), textOf(p)) // the client may have disconnected
}

// fail answers with a problem, outside huma.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := s.problem(r.Context(), s.delay(r.Context(), err))
	if model, ok := p.(*huma.ErrorModel); ok && model.Title == "" {
		model.Title = http.StatusText(model.Status)
	}
	retry, limited := errors.AsType[*retryAfter](err)
	switch {
	case limited:
		w.Header().Set("Retry-After", retry.seconds())
	case p.GetStatus() == http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", retrySoon)
	}
	if p.GetStatus() == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", s.challenge(r))
	}
	s.metrics.refused.WithLabelValues(strconv.Itoa(p.GetStatus())).Inc()
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.GetStatus())
	_ = json.NewEncoder(w).Encode(p) // the client may have disconnected
}
