package providers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"unicode/utf8"

	"github.com/tmc/langchaingo/embeddings"
	"github.com/tmc/langchaingo/llms/ollama"
	"github.com/tmc/langchaingo/llms/openai"

	"github.com/oxbow-memory/oxbow/internal/embedding"
	"github.com/oxbow-memory/oxbow/internal/oneline"
	"github.com/oxbow-memory/oxbow/internal/provider"
)

// maxAnswer is more bytes than 2,048 vectors of embedding.MaxDimension take as text.
const maxAnswer = 256 << 20

// remote is a provider reached over HTTP.
type remote struct {
	cfg    Config
	client embeddings.EmbedderClient
}

func newRemote(cfg Config) (*remote, error) {
	server := provider.Server{APIKey: cfg.APIKey, Timeout: cfg.Timeout, MaxAnswer: maxAnswer, Rewrite: inOrder}
	client := server.Client()
	var made embeddings.EmbedderClient
	var err error
	if cfg.Provider == Ollama {
		made, err = ollama.New(ollama.WithServerURL(cfg.URL), ollama.WithModel(cfg.Model),
			ollama.WithHTTPClient(client))
	} else {
		// Every option is set, because the library takes missing ones from environment variables.
		// The server replaces the token.
		options := []openai.Option{
			openai.WithBaseURL(cfg.URL), openai.WithToken("unused"), openai.WithOrganization(""),
			openai.WithModel(cfg.Model), openai.WithEmbeddingModel(cfg.Model), openai.WithHTTPClient(client),
		}
		if cfg.SendDimension {
			options = append(options, openai.WithEmbeddingDimensions(cfg.Dimension))
		}
		made, err = openai.New(options...)
	}
	if err != nil {
		return nil, fmt.Errorf("embedding provider %s: %w", cfg.Provider, err)
	}
	return &remote{cfg: cfg, client: made}, nil
}

func (r *remote) Model() string  { return r.cfg.Provider + ":" + r.cfg.Model }
func (r *remote) Dimension() int { return r.cfg.Dimension }

// Prefixes returns those of the configuration.
func (r *remote) Prefixes() (query, passage string) { return r.cfg.QueryPrefix, r.cfg.PassagePrefix }

func (r *remote) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return r.embed(ctx, r.cfg.PassagePrefix, texts)
}

// EmbedQueries is Embed for questions.
func (r *remote) EmbedQueries(ctx context.Context, texts []string) ([][]float32, error) {
	return r.embed(ctx, r.cfg.QueryPrefix, texts)
}

func (r *remote) embed(ctx context.Context, prefix string, given []string) ([][]float32, error) {
	texts := make([]string, len(given))
	for i, text := range given {
		texts[i] = prefix + text
	}
	work := &batch{remote: r, texts: texts, vectors: make([][]float32, len(texts))}
	for from := 0; from < len(texts); from += r.cfg.BatchSize {
		err := work.embed(ctx, from, min(from+r.cfg.BatchSize, len(texts)))
		if err != nil && ctx.Err() != nil && work.progress() {
			break // so that a repetition has less to do
		}
		if err != nil {
			return nil, err
		}
	}
	if !slices.ContainsFunc(work.vectors, func(v []float32) bool { return v == nil }) {
		return work.vectors, nil
	}
	failed := embedding.Error{Model: r.Model(), Message: "there was no time for all texts"}
	if work.last != nil {
		failed = *work.last
		failed.Message = fmt.Sprintf("%d of %d texts refused: %s", len(work.refused), len(texts), failed.Message)
	}
	failed.Kind, failed.Texts, failed.Reasons = embedding.Permanent, work.refused, work.reasons
	return work.vectors, &failed
}

// batch is one call of Embed.
type batch struct {
	*remote
	texts   []string
	vectors [][]float32
	probed  bool             // the provider is known to accept a harmless text
	refused []int            // positions
	reasons []string         // the provider's messages about them
	last    *embedding.Error // why the last of them was refused
}

// embed fills vectors[from:to]. A refusal may concern one text or their total size, so embed tries
// each half, down to single texts. If the provider also refuses a harmless text, the texts are not
// the cause.
func (b *batch) embed(ctx context.Context, from, to int) error {
	vectors, err := b.request(ctx, b.texts[from:to])
	if err == nil {
		copy(b.vectors[from:to], vectors)
		return nil
	}
	refused := asRefusal(err)
	if refused == nil {
		return err
	}
	if !b.probed {
		if _, err := b.request(ctx, []string{"Hello."}); err != nil {
			return unrefused(err)
		}
		b.probed = true
	}
	if to-from > 1 {
		middle := (from + to) / 2
		if err := b.embed(ctx, from, middle); err != nil {
			return err
		}
		return b.embed(ctx, middle, to)
	}
	return b.shorten(ctx, from, refused)
}

// shorten embeds the beginning of a text that is refused as a whole. The text is most often too
// long for the model, and its beginning is better than nothing. A short text is refused for another
// reason.
func (b *batch) shorten(ctx context.Context, at int, refused *embedding.Error) error {
	const short = 1024 // bytes
	for text := firstHalf(b.texts[at]); len(text) >= short; text = firstHalf(text) {
		vectors, err := b.request(ctx, []string{text})
		if err == nil {
			b.vectors[at] = vectors[0]
			return nil
		}
		if refused = asRefusal(err); refused == nil {
			return err
		}
	}
	b.refused, b.reasons, b.last = append(b.refused, at), append(b.reasons, refused.Error()), refused
	return nil
}

// progress reports whether something is known about any text.
func (b *batch) progress() bool {
	return len(b.refused) > 0 || slices.ContainsFunc(b.vectors, func(v []float32) bool { return v != nil })
}

func firstHalf(text string) string {
	cut := len(text) / 2
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut]
}

// refusal marks an Error that the texts may have caused.
type refusal struct{ about *embedding.Error }

func (r refusal) Error() string { return r.about.Error() }
func (r refusal) Unwrap() error { return r.about }

func asRefusal(err error) *embedding.Error {
	if r, ok := errors.AsType[refusal](err); ok {
		return r.about
	}
	return nil
}

// unrefused unwraps a refusal: the provider refuses everything.
func unrefused(err error) error {
	if e := asRefusal(err); e != nil {
		return e
	}
	return err
}

// request requests the vectors of a few texts and checks the answer.
func (r *remote) request(ctx context.Context, texts []string) ([][]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	recorded, x := provider.Record(ctx)
	vectors, err := r.client.CreateEmbedding(recorded, texts)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	switch {
	case x.Status != http.StatusOK:
		return nil, r.failed(x)
	case errors.Is(err, openai.ErrUnexpectedResponseLength), errors.Is(err, ollama.ErrIncompleteEmbedding):
		return nil, r.invalid("%d vectors for %d texts", len(vectors), len(texts))
	case err != nil:
		return nil, r.invalid("the answer cannot be read as vectors: %s", oneline.Of(err.Error()))
	case len(vectors) != len(texts):
		return nil, r.invalid("%d vectors for %d texts", len(vectors), len(texts))
	}
	for _, v := range vectors {
		if len(v) != r.cfg.Dimension {
			return nil, r.invalid("a vector has %d dimensions, but the configuration says %d: set the dimension of the "+
				"model", len(v), r.cfg.Dimension)
		}
		if err := embedding.Normalize(v); err != nil {
			return nil, r.invalid("%s", err)
		}
	}
	return vectors, nil
}

// failed returns the error for an exchange without a usable answer.
func (r *remote) failed(x *provider.Exchange) error {
	e := &embedding.Error{Kind: embedding.Unavailable, Model: r.Model(), Status: x.Status, RetryAfter: x.RetryAfter,
		Message: x.Failure(r.cfg.URL, r.cfg.Model)}
	switch x.Status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return refusal{about: e}
	}
	return e
}

func (r *remote) invalid(format string, args ...any) error {
	return &embedding.Error{Kind: embedding.Invalid, Model: r.Model(), Status: http.StatusOK,
		Message: fmt.Sprintf(format, args...)}
}
