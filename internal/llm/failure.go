package llm

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/oxbow-memory/oxbow/internal/provider"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// failed says why there is no answer. Only what is about the prompt itself is an *AnswerError,
// which makes the caller ask about fewer memories; everything else may be put right without, and
// loses nothing by waiting.
func (r *Reasoner) failed(x *exchange) error {
	where := provider.WithoutSecrets(r.cfg.URL)
	if x.status == 0 {
		return r.unavailable(x, "%s does not answer: %s", where, r.reason(x.failure))
	}
	said := x.message
	if said == "" {
		said = strings.ToLower(http.StatusText(x.status))
	}
	switch {
	case x.tooLong():
		return &reasoner.AnswerError{Problem: fmt.Sprintf("the prompt is longer than the model %s reads (HTTP status %d)", r.cfg.Model, x.status), Answer: said}
	case x.filtered():
		return &reasoner.AnswerError{Problem: fmt.Sprintf("the provider's content filter refuses the prompt (HTTP status %d)", x.status), Answer: said}
	case x.status == http.StatusUnauthorized || x.status == http.StatusForbidden:
		return r.unavailable(x, "%s said: %s; check the API key", where, said)
	case x.status == http.StatusNotFound:
		return r.unavailable(x, "%s said: %s; check the model %q and the URL", where, said, r.cfg.Model)
	case x.status >= 300 && x.status < 400:
		return r.unavailable(x, "%s sends to another address, which is not followed; check the URL", where)
	}
	return r.unavailable(x, "%s said: %s", where, said)
}

func (r *Reasoner) unavailable(x *exchange, format string, args ...any) error {
	text := fmt.Sprintf("reasoning with %s: ", r.Name()) + fmt.Sprintf(format, args...)
	if x.status != 0 {
		text += fmt.Sprintf(" (HTTP status %d)", x.status)
	}
	return &reasoner.UnavailableError{RetryAfter: x.retryAfter, Err: errors.New(text)}
}

// reason is a network error in a line. It comes from below the HTTP client, which would add the URL with its secrets.
func (r *Reasoner) reason(err error) string {
	switch {
	case errors.Is(err, provider.ErrTimeout):
		return fmt.Sprintf("no answer within %s", r.cfg.Timeout)
	case err == nil:
		return "no request could be made"
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}

// tooLong tells whether the prompt, or the prompt with the room for its answer, is more than the model takes.
func (x *exchange) tooLong() bool {
	said := strings.ToLower(x.message + " " + x.code)
	switch x.status {
	case http.StatusRequestEntityTooLarge:
		return true
	case http.StatusTooManyRequests: // a limit a minute that is less than this one prompt: waiting does not help
		return mentions(said, "request too large", "reduce the length", "reduce your message")
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusInternalServerError:
		return mentions(said, "context length", "context_length", "maximum context", "context window", "context size", "exceeds the context",
			"prompt is too long", "input is too long", "too many tokens", "reduce the length", "token limit", "maximum number of tokens")
	}
	return false
}

func (x *exchange) filtered() bool {
	return x.status == http.StatusBadRequest &&
		mentions(strings.ToLower(x.message+" "+x.code), "content_filter", "content filter", "content management policy", "content policy", "data_inspection_failed", "safety")
}
