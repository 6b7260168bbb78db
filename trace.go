package oxbow

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/oxbow-memory/oxbow/store"
)

const tracerName = "github.com/oxbow-memory/oxbow"

// span starts a span in the caller's trace; end takes the error of the call. The span contains no user
// ids, no texts and no error text, which may quote them.
func (c *Client) span(ctx context.Context, name string,
	attributes ...attribute.KeyValue) (_ context.Context, end func(*error)) {
	tracer := c.tracer
	if tracer == nil {
		tracer = trace.SpanFromContext(ctx).TracerProvider().Tracer(tracerName)
	}
	ctx, span := tracer.Start(ctx, "oxbow."+name, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(append(attributes, attribute.String("db.system.name", "postgresql"))...))
	return ctx, func(err *error) {
		if *err != nil {
			span.SetStatus(codes.Error, "failed")
		}
		span.End()
	}
}

// traceparent returns the W3C traceparent of ctx, or "" if the trace is not recorded. OpenTelemetry's
// propagation package has the same, but imports net/http.
func traceparent(ctx context.Context) string {
	s := trace.SpanContextFromContext(ctx)
	if !s.IsValid() || !s.IsSampled() {
		return ""
	}
	return fmt.Sprintf("00-%s-%s-%s", s.TraceID(), s.SpanID(), s.TraceFlags()&trace.FlagsSampled)
}

// setTrace returns the statement that sets the trace of the transaction. Triggers copy it into the jobs
// that they enqueue.
func setTrace(traceparent string) string {
	return "select set_config('oxbow.traceparent', " + literal(traceparent) + ", true)"
}

// nameTrace sets the trace of ctx in the caller's transaction, before a method stores something.
func (c *Client) nameTrace(ctx context.Context) error {
	parent := traceparent(ctx)
	if c.tx == nil || parent == "" {
		return nil
	}
	_, err := c.tx.Exec(ctx, setTrace(parent))
	return store.Explain(err)
}

// traced returns the options of a transaction that stores something.
func traced(ctx context.Context) pgx.TxOptions {
	if parent := traceparent(ctx); parent != "" {
		return pgx.TxOptions{BeginQuery: "begin; " + setTrace(parent)}
	}
	return pgx.TxOptions{}
}
