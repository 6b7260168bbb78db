package worker

import (
	"context"
	"errors"
	"log/slog"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

// errorHandler logs failed jobs. River logs them at a level that riverLogger drops.
type errorHandler struct{ log *slog.Logger }

func (h errorHandler) HandleError(ctx context.Context, job *rivertype.JobRow, err error) *river.ErrorHandlerResult {
	level := slog.LevelWarn
	if job.Attempt >= job.MaxAttempts {
		level = slog.LevelError // the last attempt
	}
	h.log.Log(ctx, level, "a job failed", "kind", job.Kind, "job", job.ID, "attempt", job.Attempt, "of",
		job.MaxAttempts, "error", err)
	return nil
}

func (h errorHandler) HandlePanic(ctx context.Context, job *rivertype.JobRow, value any,
	trace string) *river.ErrorHandlerResult {
	h.log.ErrorContext(ctx, "a job panicked; this is a bug in Oxbow", "kind", job.Kind, "job", job.ID,
		"attempt", job.Attempt, "of", job.MaxAttempts, "panic", value, "trace", trace)
	return nil
}

// endings decides how a job ends if it was erased or interrupted while it ran.
type endings struct{ river.MiddlewareDefaults }

func (*endings) Work(ctx context.Context, _ *rivertype.JobRow, work func(context.Context) error) error {
	err := work(ctx)
	switch {
	case err == nil:
	case errors.Is(err, rivertype.ErrNotFound):
		return nil // the job was erased while it ran
	case errors.Is(ctx.Err(), context.Canceled) && !errors.Is(context.Cause(ctx), rivertype.ErrJobCancelledRemotely):
		// interrupted by a stop: it is due again at once, and this does not count as an attempt
		return river.JobSnooze(0)
	}
	return err
}

// riverLogger returns a logger for River that drops messages below a level.
func riverLogger(log *slog.Logger, level slog.Level) *slog.Logger {
	return slog.New(fromLevel{log.Handler(), level})
}

type fromLevel struct {
	slog.Handler
	level slog.Level
}

func (h fromLevel) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= h.level && h.Handler.Enabled(ctx, level)
}
func (h fromLevel) WithAttrs(attrs []slog.Attr) slog.Handler {
	return fromLevel{h.Handler.WithAttrs(attrs), h.level}
}
func (h fromLevel) WithGroup(name string) slog.Handler {
	return fromLevel{h.Handler.WithGroup(name), h.level}
}
