package llm

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/oxbow-memory/oxbow/internal/provider"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// failed returns the error for an exchange without a usable answer. Only a problem with the prompt
// itself is an *AnswerError, which makes the caller ask about fewer memories. All other failures
// may be fixed otherwise, and waiting loses nothing.
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
		return &reasoner.AnswerError{Answer: said,
			Problem: fmt.Sprintf("the prompt is longer than the model %s reads (HTTP status %d)", r.cfg.Model,
				x.status)}
	case x.filtered():
		return &reasoner.AnswerError{Answer: said,
			Problem: fmt.Sprintf("the provider's content filter refuses the prompt (HTTP status %d)", x.status)}
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

// reason returns a network error as one line. The error comes from below the HTTP client, which
// would add the URL with its secrets.
func (r *Reasoner) reason(err error) string {
	switch {
	case errors.Is(err, provider.ErrTimeout):
		return fmt.Sprintf("no answer within %s", r.cfg.Timeout)
	case err == nil:
		return "no request could be made"
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}

// tooLong reports whether the prompt, or the prompt with room for its answer, exceeds the model's
// limit.
func (x *exchange) tooLong() bool {
	said := strings.ToLower(x.message + " " + x.code)
	switch x.status {
	case http.StatusRequestEntityTooLarge:
		return true
	case http.StatusTooManyRequests: // a limit per minute below this one prompt: waiting does not help
		return mentions(said, "request too large", "reduce the length", "reduce your message")
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusInternalServerError:
		return mentions(said, "context length", "context_length", "maximum context", "context window", "context size",
			"exceeds the context",
			"prompt is too long", "input is too long", "too many tokens", "reduce the length", "token limit",
			"maximum number of tokens")
	}
	return false
}

func (x *exchange) filtered() bool {
	return x.status == http.StatusBadRequest &&
		mentions(strings.ToLower(x.message+" "+x.code), "content_filter", "content filter",
			"content management policy", "content policy", "data_inspection_failed", "safety")
}
