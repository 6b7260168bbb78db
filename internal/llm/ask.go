package llm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/tmc/langchaingo/llms"

	"github.com/oxbow-memory/oxbow/internal/llm/answer"
	"github.com/oxbow-memory/oxbow/internal/oneline"
	"github.com/oxbow-memory/oxbow/internal/provider"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/secrets"
)

// question is a question to a model.
type question struct {
	purpose string         // name of the prompt
	schema  *answer.Schema // of the answer; ask sets it
	without string         // a member that the answer does not have; "": none
	data    any            // values for the prompt
	refused *notes         // nil if the result records what was dropped
	shorter bool           // the caller asks about less after an answer that was cut off, so ask does not repair it
	bounds  bounds         // of the answer; default: widest
}

const (
	maxAttempts   = 2    // the question, and one repair
	quotedAnswer  = 4000 // characters of a bad answer that the repair shows and an error may keep
	maxAdaptation = 6    // retries with other parameters if a server does not support them
	fast          = 4    // an answer that took less than a quarter of the time limit may be longer
)

// ask asks a question and passes the answer to use. If the answer does not fit A's schema, or use finds a problem, ask
// reports it to the model and asks once more. The error is an *UnavailableError, an *AnswerError, or the context's.
func ask[A any](ctx context.Context, r *Reasoner, q question, use func(A) error) error {
	q.schema = answer.SchemaOf(reflect.TypeFor[A]())
	if q.without != "" {
		delete(q.schema.Properties, q.without)
		q.schema.Required = slices.DeleteFunc(q.schema.Required, func(name string) bool { return name == q.without })
	}
	if q.bounds == (bounds{}) {
		q.bounds = widest
	}
	read := func(text string) error {
		var a A
		if err := decode(text, &a, q.without); err != nil {
			return err
		}
		return use(a)
	}
	bad := &reasoner.AnswerError{}
	for attempt := 1; attempt <= maxAttempts; attempt++ {
		answer, err := r.call(ctx, q, attempt, bad, read)
		var p problem
		if !errors.As(err, &p) {
			return err
		}
		bad = &reasoner.AnswerError{Problem: p.Error(), Answer: oneline.Shorten(answer, quotedAnswer)}
		if q.shorter && strings.HasPrefix(bad.Problem, cutOff) {
			break
		}
	}
	return bad
}

// cutOff begins the problem of an answer that reached the limit of tokens.
const cutOff = "the answer was cut off"

// problem is an error in an answer, worded for the model.
type problem string

func (p problem) Error() string { return string(p) }

func problemf(format string, args ...any) error { return problem(fmt.Sprintf(format, args...)) }

// call asks once, with parameters that the server supports, and records the usage. If the answer
// has a problem, it returns both.
func (r *Reasoner) call(
	ctx context.Context, q question, attempt int, bad *reasoner.AnswerError, read func(string) error,
) (string, error) {
	for adapted := 0; ; adapted++ {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		how := r.negotiated.get()
		messages, err := q.messages(how.format > formatSchema || r.cfg.Provider == provider.Ollama, bad)
		if err != nil {
			return "", err
		}
		usage := reasoner.Usage{Purpose: q.purpose, Model: r.Name(), Attempt: attempt, StartedAt: time.Now()}
		answer, x, err := r.send(ctx, q, how, messages, &usage)
		if err == nil {
			err = read(answer)
		}
		usage.Latency, usage.Err = time.Since(usage.StartedAt), err
		if err == nil && q.refused != nil {
			usage.Refused = q.refused.dropped
		}
		reasoner.Record(ctx, usage)
		if err == nil || ctx.Err() != nil || adapted == maxAdaptation || !r.negotiated.adapt(how, x) {
			return answer, err
		}
	}
}

// send makes one request. It returns an error if there is no usable answer.
func (r *Reasoner) send(
	ctx context.Context, q question, how parameters, messages []llms.MessageContent, usage *reasoner.Usage,
) (string, *provider.Exchange, error) {
	recorded, x := provider.Record(ctx)
	model, options, err := r.model(q, how)
	if err != nil {
		return "", x, &reasoner.UnavailableError{Err: err}
	}
	limited := recorded
	if r.cfg.Client != nil { // r.server limits other requests
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(recorded, r.cfg.Timeout)
		defer cancel()
	}
	response, err := model.GenerateContent(limited, messages, options...)
	x.TimedOut = x.TimedOut || limited.Err() != nil
	if x.TimedOut && ctx.Err() == nil {
		r.negotiated.shorten(how)
	}
	switch {
	case ctx.Err() != nil:
		return "", x, ctx.Err()
	case err != nil && limited.Err() != nil:
		return "", x, r.unavailable(x, "no answer within %s", r.cfg.Timeout)
	case r.cfg.Client != nil && err != nil:
		x.Status, x.Message = http.StatusBadRequest, provider.Loggable(err.Error()) // adapt reads it
		return "", x, r.failed(x, messages)
	case r.cfg.Client != nil && len(response.Choices) == 0:
		return "", x, r.unavailable(x, "the language model gave no answer")
	case r.cfg.Client == nil && x.Status != http.StatusOK:
		return "", x, r.failed(x, messages)
	case err != nil || len(response.Choices) == 0:
		where := secrets.StripURL(r.cfg.URL)
		if message, _ := r.server.Problem(lastLine(x.Answer)); message != "" {
			return "", x, r.unavailable(x, "%s said: %s", where, hideQuotes(message, messages))
		}
		return "", x, r.unavailable(x, "the answer of %s is not a chat completion; check the URL", where)
	}
	choice := response.Choices[0]
	usage.PromptTokens = tokens(choice, "PromptTokens", "InputTokens", "input_tokens")
	usage.CompletionTokens = tokens(choice, "CompletionTokens", "OutputTokens", "output_tokens")
	switch {
	case cut(choice.StopReason) || cut(doneReason(x.Answer)):
		if time.Since(usage.StartedAt) < r.cfg.Timeout/fast {
			r.negotiated.lengthen(how, r.cfg.MaxTokens)
		}
		// The repair does not show the answer: it is long, and a model that repeated itself would go on.
		return "", x, problemf(cutOff+" after %d tokens: it has to be shorter",
			usage.CompletionTokens)
	case choice.StopReason == "content_filter":
		return choice.Content, x, problemf("the answer was withheld by the provider's content filter")
	case strings.TrimSpace(choice.Content) == "":
		return "", x, problemf("the answer is empty")
	}
	return choice.Content, x, nil
}

// cut reports whether a reason for the end of an answer is the limit of tokens, as length, max_tokens or MAX_TOKENS say.
func cut(reason string) bool {
	return mentions(strings.ToLower(reason), "length", "max")
}

// maxTokens is more than any exchange can have. Larger numbers would not fit the database.
const maxTokens = 1_000_000_000

// tokens returns a number that the server reports, or 0 if it does not. The libraries give it different names and types.
func tokens(choice *llms.ContentChoice, names ...string) int {
	for _, name := range names {
		if n := reflect.ValueOf(choice.GenerationInfo[name]); n.CanInt() && n.Int() > 0 {
			return int(min(n.Int(), maxTokens))
		}
	}
	return 0
}
