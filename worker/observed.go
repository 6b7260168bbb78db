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
	ctx, span := o.tracer.Start(ctx, c.provider+" "+c.operation, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attribute.String("gen_ai.request.model", c.model), attribute.Int("oxbow.texts", texts)))
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

// asked is call for an operation with a result.
func asked[T any](ctx context.Context, o *observed, c call, texts int,
	ask func(context.Context) (T, error)) (result T, err error) {
	err = o.call(ctx, c, texts, func(ctx context.Context) (err error) {
		result, err = ask(ctx)
		return err
	})
	return result, err
}

// askedModel is asked for a language model; it also records the tokens that the model reports.
func askedModel[T any](ctx context.Context, o *observed, c call, texts int,
	ask func(context.Context) (T, error)) (T, error) {
	outer := ctx
	return asked(ctx, o, c, texts, func(ctx context.Context) (T, error) {
		span := trace.SpanFromContext(ctx)
		return ask(reasoner.WithRecorder(ctx, func(u reasoner.Usage) {
			o.metrics.used(u)
			span.SetAttributes(attribute.Int("gen_ai.usage.input_tokens", u.PromptTokens),
				attribute.Int("gen_ai.usage.output_tokens", u.CompletionTokens))
			reasoner.Record(outer, u)
		}))
	})
}

// observedEmbedder is an embedder that counts its calls.
type observedEmbedder struct {
	embedder
	*observed
}

func (e observedEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return asked(ctx, e.observed, call{"embedder", e.Model(), "embed"}, len(texts),
		func(ctx context.Context) ([][]float32, error) { return e.embedder.Embed(ctx, texts) })
}

func (e observedEmbedder) EmbedQueries(ctx context.Context, texts []string) ([][]float32, error) {
	return asked(ctx, e.observed, call{"embedder", e.Model(), "embed"}, len(texts),
		func(ctx context.Context) ([][]float32, error) { return e.embedder.EmbedQueries(ctx, texts) })
}

// observedReasoner is a reasoner that counts its calls.
type observedReasoner struct {
	reasoner.Reasoner
	*observed
}

func (r observedReasoner) Reflect(ctx context.Context, batch reasoner.Batch) (reasoner.Proposals, error) {
	return askedModel(ctx, r.observed, call{"reasoner", r.Name(), "reflect"}, len(batch.Memories),
		func(ctx context.Context) (reasoner.Proposals, error) { return r.Reasoner.Reflect(ctx, batch) })
}

func (r observedReasoner) Review(ctx context.Context, c reasoner.Case) (reasoner.Verdict, error) {
	return askedModel(ctx, r.observed, call{"reasoner", r.Name(), "review"}, len(c.Supporting)+len(c.Contradicting),
		func(ctx context.Context) (reasoner.Verdict, error) { return r.Reasoner.Review(ctx, c) })
}

// observedExtractor is an extractor that counts its calls.
type observedExtractor struct {
	reasoner.Extractor
	*observed
}

func (x observedExtractor) Extract(ctx context.Context, c reasoner.Conversation) (reasoner.Extraction, error) {
	return askedModel(ctx, x.observed, call{"extractor", x.Name(), "extract"}, len(c.Messages),
		func(ctx context.Context) (reasoner.Extraction, error) { return x.Extractor.Extract(ctx, c) })
}

func (x observedExtractor) Resolve(ctx context.Context, now time.Time,
	conflicts []reasoner.Conflict) ([]reasoner.Resolution, error) {
	return askedModel(ctx, x.observed, call{"extractor", x.Name(), "resolve"}, len(conflicts),
		func(ctx context.Context) ([]reasoner.Resolution, error) {
			return x.Extractor.Resolve(ctx, now, conflicts)
		})
}

// observedReviewer is a reviewer that counts its calls.
type observedReviewer struct {
	reasoner.Reviewer
	*observed
}

func (r observedReviewer) Judge(ctx context.Context, now time.Time,
	cases []reasoner.ReviewCase) ([]reasoner.Judgement, error) {
	return askedModel(ctx, r.observed, call{"reviewer", r.Name(), "judge"}, len(cases),
		func(ctx context.Context) ([]reasoner.Judgement, error) { return r.Reviewer.Judge(ctx, now, cases) })
}

// observedJudge is a judge that counts its calls.
type observedJudge struct {
	reasoner.Judge
	*observed
}

func (j observedJudge) Signals(ctx context.Context, t reasoner.Turns) ([]reasoner.Signal, error) {
	return askedModel(ctx, j.observed, call{"judge", j.Name(), "signals"}, len(t.Turns),
		func(ctx context.Context) ([]reasoner.Signal, error) { return j.Judge.Signals(ctx, t) })
}

// observedAbstracter is an abstracter that counts its calls.
type observedAbstracter struct {
	reasoner.Abstracter
	*observed
}

func (a observedAbstracter) Abstract(ctx context.Context, d reasoner.Dense) (reasoner.Conclusion, error) {
	return askedModel(ctx, a.observed, call{"abstracter", a.Name(), "abstract"}, len(d.Fragments),
		func(ctx context.Context) (reasoner.Conclusion, error) { return a.Abstracter.Abstract(ctx, d) })
}

// observedQuestioner is a questioner that counts its calls.
type observedQuestioner struct {
	reasoner.Questioner
	*observed
}

func (q observedQuestioner) Questions(ctx context.Context, recent reasoner.Batch) ([]string, error) {
	return askedModel(ctx, q.observed, call{"reasoner", q.Name(), "question"}, len(recent.Memories),
		func(ctx context.Context) ([]string, error) { return q.Questioner.Questions(ctx, recent) })
}

// observedSummarizer is a summarizer that counts its calls.
type observedSummarizer struct {
	reasoner.Summarizer
	*observed
}

func (s observedSummarizer) Summarize(ctx context.Context, told reasoner.Told) (string, error) {
	return askedModel(ctx, s.observed, call{"summarizer", s.Name(), "summarize"}, len(told.Messages),
		func(ctx context.Context) (string, error) { return s.Summarizer.Summarize(ctx, told) })
}

// observedMerger is a merger that counts its calls.
type observedMerger struct {
	reasoner.Merger
	*observed
}

func (m observedMerger) Merge(ctx context.Context, groups [][]reasoner.Held) ([]reasoner.Same, error) {
	return askedModel(ctx, m.observed, call{"merger", m.Name(), "merge"}, len(groups),
		func(ctx context.Context) ([]reasoner.Same, error) { return m.Merger.Merge(ctx, groups) })
}
