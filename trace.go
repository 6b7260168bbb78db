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

// span makes a call a part of the caller's trace; end takes the error of the call. The span has neither users nor
// texts, nor the text of the error, which may quote them.
func (c *Client) span(ctx context.Context, name string, attributes ...attribute.KeyValue) (_ context.Context,
	end func(*error)) {
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

// traceparent is the W3C's name of the trace of ctx, or "" if the trace is not recorded. OpenTelemetry's propagation
// package writes the same, but imports net/http.
func traceparent(ctx context.Context) string {
	s := trace.SpanContextFromContext(ctx)
	if !s.IsValid() || !s.IsSampled() {
		return ""
	}
	return fmt.Sprintf("00-%s-%s-%s", s.TraceID(), s.SpanID(), s.TraceFlags()&trace.FlagsSampled)
}

// setTrace is the statement that names a trace until the transaction ends: triggers write it into the jobs that they
// make.
func setTrace(traceparent string) string {
	return "select set_config('oxbow.traceparent', " + literal(traceparent) + ", true)"
}

// nameTrace names the trace of ctx in the caller's transaction, before something is stored.
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
