package worker

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/jobs"
)

// call identifies an operation of a provider.
type call struct{ provider, model, operation string }

// observed counts the calls of providers and records each as a span of the job's trace. Neither contains texts.
type observed struct {
	metrics *metrics
	tracer  trace.Tracer
}

func (o *observed) call(ctx context.Context, c call, texts int, ask func(context.Context) error) error {
	ctx, span := o.tracer.Start(ctx, c.provider+" "+c.operation, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.String("gen_ai.request.model", c.model), attribute.Int("oxbow.texts", texts)))
	defer span.End()
	begun := time.Now()
	err := ask(ctx)
	outcome := callOutcome(err)
	o.metrics.called(c, outcome, time.Since(begun))
	span.SetAttributes(attribute.String("oxbow.outcome", outcome))
	if err != nil {
		span.SetStatus(codes.Error, outcome) // the error's text may quote the input
	}
	return err
}

// callOutcome returns the value of the label outcome for a call.
func callOutcome(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, new(*jobs.UnavailableError)), errors.As(err, new(*reasoner.UnavailableError)):
		return "unavailable"
	case errors.As(err, new(*jobs.RefusedError)):
		return "refused"
	case errors.As(err, new(*reasoner.AnswerError)):
		return "invalid"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	}
	return "failed"
}

// observedEmbedder is an embedder that counts its calls.
type observedEmbedder struct {
	embedder
	*observed
}

func (e observedEmbedder) Embed(ctx context.Context, texts []string) (vectors [][]float32, err error) {
	err = e.call(ctx, call{"embedder", e.Model(), "embed"}, len(texts), func(ctx context.Context) (err error) {
		vectors, err = e.embedder.Embed(ctx, texts)
		return err
	})
	return vectors, err
}

// callModel is call for a language model; it also records the tokens that the model reports.
func (o *observed) callModel(ctx context.Context, c call, texts int, ask func(context.Context) error) error {
	outer := ctx
	return o.call(ctx, c, texts, func(ctx context.Context) error {
		span := trace.SpanFromContext(ctx)
		return ask(reasoner.WithRecorder(ctx, func(u reasoner.Usage) {
			o.metrics.used(u)
			span.SetAttributes(attribute.Int("gen_ai.usage.input_tokens", u.PromptTokens), attribute.Int("gen_ai.usage.output_tokens", u.CompletionTokens))
			reasoner.Record(outer, u)
		}))
	})
}

// observedReasoner is a reasoner that counts its calls.
type observedReasoner struct {
	reasoner.Reasoner
	*observed
}

func (r observedReasoner) Reflect(ctx context.Context, batch reasoner.Batch) (p reasoner.Proposals, err error) {
	err = r.callModel(ctx, call{"reasoner", r.Name(), "reflect"}, len(batch.Memories), func(ctx context.Context) (err error) {
		p, err = r.Reasoner.Reflect(ctx, batch)
		return err
	})
	return p, err
}

func (r observedReasoner) Review(ctx context.Context, c reasoner.Case) (v reasoner.Verdict, err error) {
	err = r.callModel(ctx, call{"reasoner", r.Name(), "review"}, len(c.Supporting)+len(c.Contradicting), func(ctx context.Context) (err error) {
		v, err = r.Reasoner.Review(ctx, c)
		return err
	})
	return v, err
}

// observedExtractor is an extractor that counts its calls.
type observedExtractor struct {
	reasoner.Extractor
	*observed
}

func (x observedExtractor) Extract(ctx context.Context, c reasoner.Conversation) (e reasoner.Extraction, err error) {
	err = x.callModel(ctx, call{"extractor", x.Name(), "extract"}, len(c.Messages), func(ctx context.Context) (err error) {
		e, err = x.Extractor.Extract(ctx, c)
		return err
	})
	return e, err
}

func (x observedExtractor) Resolve(ctx context.Context, now time.Time, conflicts []reasoner.Conflict) (r []reasoner.Resolution, err error) {
	err = x.callModel(ctx, call{"extractor", x.Name(), "resolve"}, len(conflicts), func(ctx context.Context) (err error) {
		r, err = x.Extractor.Resolve(ctx, now, conflicts)
		return err
	})
	return r, err
}

// observedSummarizer is a summarizer that counts its calls.
type observedSummarizer struct {
	reasoner.Summarizer
	*observed
}

func (s observedSummarizer) Summarize(ctx context.Context, told reasoner.Told) (summary string, err error) {
	err = s.callModel(ctx, call{"summarizer", s.Name(), "summarize"}, len(told.Messages), func(ctx context.Context) (err error) {
		summary, err = s.Summarizer.Summarize(ctx, told)
		return err
	})
	return summary, err
}
