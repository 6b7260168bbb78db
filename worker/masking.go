package worker

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/oxbow-memory/oxbow/internal/secrets"
)

// maskedLog is a log handler that replaces secrets by their kinds. Errors of providers, models and PostgreSQL may quote
// texts.
type maskedLog struct{ slog.Handler }

func (h maskedLog) Handle(ctx context.Context, r slog.Record) error {
	clean := slog.NewRecord(r.Time, r.Level, secrets.Mask(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(maskAttr(a))
		return true
	})
	return h.Handler.Handle(ctx, clean)
}

func (h maskedLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = maskAttr(a)
	}
	return maskedLog{h.Handler.WithAttrs(clean)}
}

func (h maskedLog) WithGroup(name string) slog.Handler { return maskedLog{h.Handler.WithGroup(name)} }

func maskAttr(a slog.Attr) slog.Attr {
	switch a.Value = a.Value.Resolve(); a.Value.Kind() {
	case slog.KindString, slog.KindAny:
		text := a.Value.String()
		if a.Value.Kind() == slog.KindAny {
			text = fmt.Sprintf("%+v", a.Value.Any()) // as the handlers show it
		}
		if masked := secrets.Mask(text); masked != text {
			a.Value = slog.StringValue(masked)
		}
	case slog.KindGroup:
		var clean []slog.Attr
		for _, member := range a.Value.Group() {
			clean = append(clean, maskAttr(member))
		}
		a.Value = slog.GroupValue(clean...)
	}
	return a
}

// masking masks the errors of jobs, which River stores.
type masking struct{ river.MiddlewareDefaults }

func (*masking) Work(ctx context.Context, _ *rivertype.JobRow, work func(context.Context) error) error {
	err := work(ctx)
	if err != nil {
		if text := secrets.Mask(err.Error()); text != err.Error() {
			return &maskedError{text, err}
		}
	}
	return err
}

// maskedError is an error with another text.
type maskedError struct {
	text string
	error
}

func (e *maskedError) Error() string { return e.text }
func (e *maskedError) Unwrap() error { return e.error }
