// Package llm is the reasoner that asks a language model: any server that speaks OpenAI's chat
// completions, or Ollama, by way of langchaingo. The model is shown memories and messages as data
// and answers in JSON; what it may not conclude is dropped here, and told; numbers that decide
// about traits it is never asked for. docs/reasoner-llm.md says what is sent and how answers are
// checked.
package llm

import (
	"context"
	"time"

	"github.com/oxbow-memory/oxbow/internal/provider"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// Reasoner draws conclusions, and memories from conversations, by asking a model. It is safe for concurrent use.
type Reasoner struct {
	cfg   Config
	http  *transport
	terms terms
}

var (
	_ reasoner.Reasoner   = (*Reasoner)(nil)
	_ reasoner.Extractor  = (*Reasoner)(nil)
	_ reasoner.Summarizer = (*Reasoner)(nil)
)

// Open returns the reasoner that cfg describes. It does not talk to the provider. An error names
// the field and its value.
func Open(cfg Config) (*Reasoner, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Reasoner{cfg: cfg, http: &transport{provider.Server{Transport: cfg.Transport, APIKey: cfg.APIKey, Timeout: cfg.Timeout, MaxAnswer: maxAnswer}}}, nil
}

// Name is the provider and the model, such as "openai/gpt-5-mini".
func (r *Reasoner) Name() string { return r.cfg.Provider + "/" + r.cfg.Model }

// Keys returns nil: which clues and traits a model will think of is not known before it is asked.
func (r *Reasoner) Keys([]reasoner.Memory) []string { return nil }

// Reflect asks what follows from a batch. Without memories nothing is asked.
func (r *Reasoner) Reflect(ctx context.Context, batch reasoner.Batch) (proposals reasoner.Proposals, err error) {
	if len(batch.Memories) == 0 {
		return proposals, nil
	}
	shown := show(batch)
	err = r.ask(ctx, question{purpose: "reflect", schema: reflectSchema, data: shown.data}, func(answer string) error {
		var read reflectAnswer
		if err := decode(answer, &read); err != nil {
			return err
		}
		if err := read.complete(); err != nil {
			return err
		}
		proposals = shown.resolve(read)
		return nil
	})
	return proposals, err
}

// Review asks what becomes of a trait.
func (r *Reasoner) Review(ctx context.Context, c reasoner.Case) (verdict reasoner.Verdict, err error) {
	err = r.ask(ctx, question{purpose: "review", schema: reviewSchema, data: showCase(c)}, func(answer string) error {
		var read reviewAnswer
		if err := decode(answer, &read); err != nil {
			return err
		}
		decided, err := read.verdict(c.Trait)
		if err == nil {
			verdict = decided
		}
		return err
	})
	return verdict, err
}

// Extract asks what the new messages of a conversation are worth remembering for. Where neither the user says something
// new, nor a new reply may rest on what was recalled, nothing is asked.
func (r *Reasoner) Extract(ctx context.Context, c reasoner.Conversation) (extraction reasoner.Extraction, err error) {
	talk := listen(c)
	if !talk.worthAsking() {
		return extraction, nil
	}
	err = r.ask(ctx, question{purpose: "extract", schema: extractSchema, data: talk.data}, func(answer string) error {
		var read extractAnswer
		if err := decode(answer, &read); err != nil {
			return err
		}
		if err := read.complete(); err != nil {
			return err
		}
		extraction = talk.resolve(read)
		return nil
	})
	return extraction, err
}

// Resolve asks what becomes of candidates, of as many at once as a prompt has room for. What
// nothing is like is added without asking. What of an answer is about no conflict that was shown is
// reported with the call (reasoner.Usage).
func (r *Reasoner) Resolve(ctx context.Context, now time.Time, conflicts []reasoner.Conflict) ([]reasoner.Resolution, error) {
	resolutions := make([]reasoner.Resolution, len(conflicts))
	for _, d := range dockets(now, conflicts, resolutions) {
		var refused notes
		err := r.ask(ctx, question{purpose: "resolve", schema: resolveSchema, data: d.data, refused: &refused}, func(answer string) error {
			var read resolveAnswer
			if err := decode(answer, &read); err != nil {
				return err
			}
			if err := read.complete(); err != nil {
				return err
			}
			refused = d.decide(read, resolutions)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return resolutions, nil
}
