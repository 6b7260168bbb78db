package llm

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/oxbow-memory/oxbow/internal/provider"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// failed returns the error for an exchange without a usable answer. Only a problem with the prompt
// itself is an *AnswerError, which makes the caller ask about fewer memories. All other failures
// may be fixed otherwise, and waiting loses nothing.
func (r *Reasoner) failed(x *provider.Exchange, sent []llms.MessageContent) error {
	public := *x
	public.Message = hideQuotes(x.Message, sent)
	said := cmp.Or(public.Message, strings.ToLower(http.StatusText(x.Status)))
	switch {
	case misshaped(x):
		return problemf("the server says that it does not fit the schema")
	case tooLong(x):
		return &reasoner.AnswerError{Answer: said,
			Problem: fmt.Sprintf("the prompt is longer than the model %s reads (HTTP status %d)", r.cfg.Model,
				x.Status)}
	case filtered(x):
		return &reasoner.AnswerError{Answer: said,
			Problem: fmt.Sprintf("the provider's content filter refuses the prompt (HTTP status %d)", x.Status)}
	}
	if r.cfg.Client != nil {
		return &reasoner.UnavailableError{Err: errors.New(said)}
	}
	return r.unavailable(x, "%s", public.Failure(r.cfg.URL, r.cfg.Model))
}

// quotedBytes is the length of a text that a message of a provider cannot contain by chance: 24 letters or 8 characters of
// Chinese.
const quotedBytes = 24

// hideQuotes returns what a provider says, or a remark if that quotes the data of the request: errors are logged, and no text
// of a user may be.
func hideQuotes(message string, sent []llms.MessageContent) string {
	for _, m := range sent {
		text := fmt.Sprint(m.Parts)
		for i := 0; m.Role != llms.ChatMessageTypeSystem && i+quotedBytes <= len(message); i++ {
			if strings.Contains(text, message[i:i+quotedBytes]) {
				return "something that quotes the request"
			}
		}
	}
	return message
}

// misshaped reports whether the server compared the answer with the schema instead of enforcing it, as Groq does.
func misshaped(x *provider.Exchange) bool {
	return x.Status == http.StatusBadRequest && mentions(strings.ToLower(x.Message+" "+x.Code), "json_validate_failed",
		"failed_generation")
}

func (r *Reasoner) unavailable(x *provider.Exchange, format string, args ...any) error {
	text := fmt.Sprintf("reasoning with %s: ", r.Name()) + fmt.Sprintf(format, args...)
	if x.Status != 0 {
		text += fmt.Sprintf(" (HTTP status %d)", x.Status)
	}
	return &reasoner.UnavailableError{RetryAfter: x.RetryAfter, Err: errors.New(text)}
}

// tooLong reports whether the prompt, or the prompt with room for its answer, exceeds the model's
// limit.
func tooLong(x *provider.Exchange) bool {
	said := strings.ToLower(x.Message + " " + x.Code)
	switch x.Status {
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

func filtered(x *provider.Exchange) bool {
	return x.Status == http.StatusBadRequest &&
		mentions(strings.ToLower(x.Message+" "+x.Code), "content_filter", "content filter",
			"content management policy", "content policy", "data_inspection_failed", "safety")
}
