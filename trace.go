package oxbow

import (
	"context"

	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/oxbow-memory/oxbow/store"
)

const tracerName = "github.com/oxbow-memory/oxbow"

// span makes a call a part of the caller's trace. end is to be called with its error. Neither users nor texts are in it, and
// no error's words, which may quote them.
func (c *Client) span(ctx context.Context, name string, attributes ...attribute.KeyValue) (_ context.Context, end func(*error)) {
	ctx, span := c.tracer.Start(ctx, "oxbow."+name, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(append(attributes, attribute.String("db.system.name", "postgresql"))...))
	return ctx, func(err *error) {
		if *err != nil {
			span.SetStatus(codes.Error, "failed")
		}
		span.End()
	}
}

// traceparent is the W3C's name of the trace of ctx, "" if there is none that somebody records.
func traceparent(ctx context.Context) string {
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier["traceparent"]
}

// setTrace is the statement that names a trace until the transaction ends: the triggers write it to the jobs that they make.
func setTrace(traceparent string) string {
	return "select set_config('oxbow.traceparent', " + literal(traceparent) + ", true)"
}

// nameTrace does that in the caller's transaction, before something is stored.
func (c *Client) nameTrace(ctx context.Context) error {
	parent := traceparent(ctx)
	if c.tx == nil || parent == "" {
		return nil
	}
	_, err := c.tx.Exec(ctx, setTrace(parent))
	return store.Explain(err)
}

// traced are options for a transaction that stores something.
func traced(ctx context.Context) pgx.TxOptions {
	if parent := traceparent(ctx); parent != "" {
		return pgx.TxOptions{BeginQuery: "begin; " + setTrace(parent)}
	}
	return pgx.TxOptions{}
}
