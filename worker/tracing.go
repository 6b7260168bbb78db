package worker

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/oxbow-memory/oxbow/jobs"
)

// tracerName is who made a span.
const tracerName = "github.com/oxbow-memory/oxbow/worker"

// traceKey is where a job's metadata has the trace that it belongs to, in the W3C's form. The triggers write it too.
const traceKey = "traceparent"

// tracing makes each job a span of the trace of what caused it: of the statement that inserted memories or messages, of
// another job. A job that nothing traced caused begins a trace; those that come with the clock have none.
type tracing struct {
	river.MiddlewareDefaults
	tracer trace.Tracer
}

func (t *tracing) Work(ctx context.Context, job *rivertype.JobRow, work func(context.Context) error) error {
	parent := remote(ctx, job.Metadata)
	if !trace.SpanContextFromContext(parent).IsValid() && jobs.IsPeriodic(job.Kind) {
		return work(ctx)
	}
	ctx, span := t.tracer.Start(parent, "job "+job.Kind, trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
		attribute.String("oxbow.job.kind", job.Kind), attribute.Int64("oxbow.job.id", job.ID), attribute.Int("oxbow.job.attempt", job.Attempt)))
	defer span.End()
	err := work(ctx)
	outcome := jobOutcome(job, err)
	span.SetAttributes(attribute.String("oxbow.outcome", outcome))
	if outcome == outcomeFailed || outcome == outcomeDiscarded || outcome == outcomeCancelled {
		span.SetStatus(codes.Error, outcome)
	}
	return err
}

// InsertMany lets the jobs that a job causes belong to its trace.
func (t *tracing) InsertMany(ctx context.Context, many []*rivertype.JobInsertParams, insert func(context.Context) ([]*rivertype.JobInsertResult, error)) ([]*rivertype.JobInsertResult, error) {
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		carrier := propagation.MapCarrier{}
		propagation.TraceContext{}.Inject(ctx, carrier)
		for _, params := range many {
			if len(params.Metadata) == 0 || bytes.Equal(params.Metadata, []byte("{}")) {
				params.Metadata, _ = json.Marshal(map[string]string{traceKey: carrier[traceKey]}) // strings are always JSON
			}
		}
	}
	return insert(ctx)
}

// remote returns ctx within the trace that a job's metadata names, if it does.
func remote(ctx context.Context, metadata []byte) context.Context {
	if !bytes.Contains(metadata, []byte(`"`+traceKey+`"`)) {
		return ctx
	}
	var named struct {
		Traceparent string `json:"traceparent"`
	}
	if json.Unmarshal(metadata, &named) != nil {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{traceKey: named.Traceparent})
}
