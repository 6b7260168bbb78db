package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/oxbow-memory/oxbow/jobs"
)

// tracerName is the instrumentation scope of the worker's spans.
const tracerName = "github.com/oxbow-memory/oxbow/worker"

// traceKey is the key of the W3C trace context in a job's metadata. The triggers write it too.
const traceKey = "traceparent"

// tracing records each job as a span in the trace of its cause: the statement that inserted memories
// or messages, or another job. A job without a traced cause starts a trace, except a periodic job,
// which is not recorded.
type tracing struct {
	river.MiddlewareDefaults
	tracer trace.Tracer
}

func (t *tracing) Work(ctx context.Context, job *rivertype.JobRow, work func(context.Context) error) error {
	parent := remote(ctx, job.Metadata)
	if !trace.SpanContextFromContext(parent).IsValid() && jobs.KindOf(job.Kind).Periodic() {
		return work(ctx)
	}
	ctx, ended := startJob(parent, t.tracer, job)
	return toOutcome(ctx, job, work, ended)
}

// startJob starts the span of a job, and returns a function that ends it.
func startJob(ctx context.Context, tracer trace.Tracer, job *rivertype.JobRow,
	options ...trace.SpanStartOption) (context.Context, func(outcome string)) {
	options = append(options, trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
		attribute.String("oxbow.job.kind", job.Kind), attribute.Int64("oxbow.job.id", job.ID),
		attribute.Int("oxbow.job.attempt", job.Attempt)))
	ctx, span := tracer.Start(ctx, "job "+job.Kind, options...)
	return ctx, func(outcome string) {
		span.SetAttributes(attribute.String("oxbow.outcome", outcome))
		if outcome == outcomeFailed || outcome == outcomeDiscarded || outcome == outcomeCancelled ||
			outcome == outcomePanicked {
			span.SetStatus(codes.Error, outcome)
		}
		span.End()
	}
}

// joining is the jobs.Observer that counts and traces the results of jobs, and the jobs that run in the
// batch of another.
type joining struct {
	*metrics
	tracer trace.Tracer
}

// Joined implements jobs.Observer. The span belongs to the trace of the job's own cause, and links to
// the span of the job in whose batch it runs.
func (j joining) Joined(ctx context.Context, job *rivertype.JobRow) (metadata []byte, end func(error)) {
	counted := j.begun(job)
	with := trace.LinkFromContext(ctx)
	parent := remote(trace.ContextWithSpanContext(ctx, trace.SpanContext{}), job.Metadata)
	spanned, traced := startJob(parent, j.tracer, job, trace.WithLinks(with))
	return traceMetadata(spanned), func(err error) {
		outcome := outcomeCompleted
		if !errors.Is(err, rivertype.ErrNotFound) { // the job was not erased
			outcome = jobOutcome(job, err)
		}
		counted(outcome)
		traced(outcome)
	}
}

// traceMetadata returns the metadata of jobs that belong to the trace of ctx, or nil.
func traceMetadata(ctx context.Context) []byte {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return nil
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	metadata, _ := json.Marshal(map[string]string{traceKey: carrier[traceKey]}) // strings always encode
	return metadata
}

// InsertMany adds the trace of ctx to the jobs that a job enqueues.
func (t *tracing) InsertMany(ctx context.Context, many []*rivertype.JobInsertParams,
	insert func(context.Context) ([]*rivertype.JobInsertResult, error)) ([]*rivertype.JobInsertResult, error) {
	if metadata := traceMetadata(ctx); metadata != nil {
		for _, params := range many {
			if len(params.Metadata) == 0 || bytes.Equal(params.Metadata, []byte("{}")) {
				params.Metadata = metadata
			}
		}
	}
	return insert(ctx)
}

// remote returns ctx with the trace in a job's metadata, or ctx if there is none.
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
