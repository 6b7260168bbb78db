// Package llm is the reasoner that asks a language model: any server that speaks OpenAI's chat
// completions, or Ollama, through langchaingo. The model gets memories and messages as data and
// answers in JSON. The package drops and reports conclusions that the model may not draw, and never
// asks it for the numbers that decide about traits. docs/reasoner-llm.md describes what is sent and
// how answers are checked.
package llm

import (
	"context"
	"time"

	"github.com/oxbow-memory/oxbow/internal/llm/answer"
	"github.com/oxbow-memory/oxbow/internal/provider"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// Reasoner draws conclusions from memories, and extracts memories from conversations, by asking a
// model. It is safe for concurrent use.
type Reasoner struct {
	cfg        Config
	server     provider.Server
	negotiated negotiated
}

var (
	_ reasoner.Reasoner   = (*Reasoner)(nil)
	_ reasoner.Extractor  = (*Reasoner)(nil)
	_ reasoner.Summarizer = (*Reasoner)(nil)
	_ reasoner.Merger     = (*Reasoner)(nil)
	_ reasoner.Abstracter = (*Reasoner)(nil)
	_ reasoner.Judge      = (*Reasoner)(nil)
	_ reasoner.Questioner = (*Reasoner)(nil)
)

// Open returns the reasoner that cfg describes. It does not contact the provider. An error names
// the field and its value.
func Open(cfg Config) (*Reasoner, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	server := provider.Server{APIKey: cfg.APIKey, Timeout: cfg.Timeout, MaxAnswer: maxAnswer}
	r := &Reasoner{cfg: cfg, server: server}
	r.negotiated.how.tokens = cfg.MaxTokens
	if cfg.Client != nil {
		r.negotiated.how.format = formatJSON // langchaingo has no option for a schema
	}
	return r, nil
}

// Name returns the provider and the model, such as "openai/gpt-5-mini".
func (r *Reasoner) Name() string { return r.cfg.Provider + "/" + r.cfg.Model }

// Keys returns nil: the clues and traits that a model will use are unknown before it is asked.
func (r *Reasoner) Keys([]reasoner.Memory) (keys []string, found any) { return nil, nil }

// Reflect asks what follows from a batch. It does not ask if the batch has no memories.
func (r *Reasoner) Reflect(ctx context.Context, batch reasoner.Batch) (proposals reasoner.Proposals, err error) {
	if len(batch.Memories) == 0 {
		return proposals, nil
	}
	shown := show(batch)
	q := question{purpose: "reflect", data: shown.data, bounds: boundsFor(len(batch.Memories), reasoner.MaxWording)}
	err = ask(ctx, r, q, func(a answer.Reflection) error {
		proposals = shown.resolve(a)
		return nil
	})
	return proposals, err
}

// Review asks what should become of a trait.
func (r *Reasoner) Review(ctx context.Context, c reasoner.Case) (verdict reasoner.Verdict, err error) {
	q := question{purpose: "review", data: showCase(c), bounds: boundsFor(len(reasoner.Contexts), reasoner.MaxWording)}
	err = ask(ctx, r, q, func(a answer.Verdict) error {
		decided, err := verdictOf(a, c.Trait)
		if err == nil {
			verdict = decided
		}
		return err
	})
	return verdict, err
}

// Extract asks what is worth remembering from the new messages of a conversation. It does not ask unless the user says
// something new or a new reply may use a recalled memory.
func (r *Reasoner) Extract(ctx context.Context, c reasoner.Conversation) (extraction reasoner.Extraction, err error) {
	talk := listen(c)
	if !talk.worthAsking() {
		return extraction, nil
	}
	q := question{purpose: "extract", data: talk.data, bounds: talk.bounds(), shorter: talk.asked() > 1}
	if len(talk.recalled) == 0 {
		q.without = "used"
	}
	err = ask(ctx, r, q, func(a answer.Extraction) error {
		extraction = talk.resolve(a)
		return nil
	})
	return extraction, err
}

// Resolve asks what should become of candidates, as many at once as fit a prompt. It adds a candidate that resembles no
// memory without asking. Answers about conflicts that were not shown are reported with the call (reasoner.Usage).
func (r *Reasoner) Resolve(
	ctx context.Context, now time.Time, conflicts []reasoner.Conflict,
) ([]reasoner.Resolution, error) {
	resolutions := make([]reasoner.Resolution, len(conflicts))
	for _, d := range dockets(now, conflicts, resolutions) {
		var refused notes
		q := question{purpose: "resolve", data: d.data, refused: &refused,
			bounds: boundsFor(len(d.data.Conflicts), reasoner.MaxWording)}
		err := ask(ctx, r, q, func(a answer.Resolutions) error {
			refused = d.decide(a, resolutions)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return resolutions, nil
}
