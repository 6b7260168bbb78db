package llmtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Reply is what the server does with a request. Say and similar functions create one.
type Reply struct {
	write func(s *Server, w http.ResponseWriter, r *http.Request, request Request)
}

// PromptTokens and CompletionTokens are the usage that the server reports for each answer.
const (
	PromptTokens     = 1200
	CompletionTokens = 80
)

// Say answers with a text.
func Say(text string) Reply { return say(text, "stop", true) }

// SayUncounted answers with a text and reports no usage.
func SayUncounted(text string) Reply { return say(text, "stop", false) }

// Truncated answers with a text cut off at the token limit.
func Truncated(text string) Reply { return say(text, "length", true) }

// Filtered reports that the provider's filter withheld the answer.
func Filtered() Reply { return say("", "content_filter", true) }

// Fenced answers with a text in a Markdown fence.
func Fenced(text string) Reply { return Say("```json\n" + text + "\n```") }

// Prose answers with a text that is not JSON.
func Prose() Reply { return Say("Sure! This person seems to like running. Shall I tell you more?") }

// BrokenJSON answers with JSON that breaks off without reporting it.
func BrokenJSON() Reply { return Say(`{"patterns": [{"clue": "", "content": "runs bef`) }

func say(text, finish string, counted bool) Reply {
	return Reply{func(_ *Server, w http.ResponseWriter, r *http.Request, request Request) {
		message := map[string]any{"role": "assistant", "content": text}
		if r.URL.Path == "/api/chat" {
			last := map[string]any{"model": request.Model, "message": map[string]any{"role": "assistant",
				"content": ""}, "done": true, "done_reason": finish}
			if counted {
				last["prompt_eval_count"], last["eval_count"] = PromptTokens, CompletionTokens
			}
			w.Header().Set("Content-Type", "application/x-ndjson")
			send(w, http.StatusOK, map[string]any{"model": request.Model, "message": message, "done": false}, last)
			return
		}
		answer := map[string]any{"id": "chatcmpl-1", "object": "chat.completion", "model": request.Model,
			"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finish}}}
		if counted {
			answer["usage"] = map[string]any{"prompt_tokens": PromptTokens, "completion_tokens": CompletionTokens,
				"total_tokens": PromptTokens + CompletionTokens}
		}
		w.Header().Set("Content-Type", "application/json")
		send(w, http.StatusOK, answer)
	}}
}

// send writes a line of JSON for each answer.
func send(w http.ResponseWriter, status int, answers ...any) {
	w.WriteHeader(status)
	for _, answer := range answers {
		text, err := json.Marshal(answer)
		if err != nil {
			panic(fmt.Sprintf("llmtest: %v", err))
		}
		_, _ = w.Write(append(text, '\n')) // the client may be gone
	}
}

// Status answers with an HTTP status and a message in OpenAI's form.
func Status(code int, message string) Reply { return StatusCode(code, "", message) }

// StatusCode is Status with OpenAI's error code.
func StatusCode(status int, code, message string) Reply {
	return Reply{func(_ *Server, w http.ResponseWriter, _ *http.Request, _ Request) {
		w.Header().Set("Content-Type", "application/json")
		send(w, status, map[string]any{"error": map[string]any{"message": message, "type": "test", "code": code}})
	}}
}

// ContextExceeded answers as OpenAI does when a prompt is too long.
func ContextExceeded() Reply {
	return StatusCode(http.StatusBadRequest, "context_length_exceeded",
		"This model's maximum context length is 8192 tokens, however your messages resulted in 9001 tokens.")
}

// TooManyRequests answers with status 429 and a Retry-After header in whole seconds, or without the
// header if after is negative.
func TooManyRequests(after time.Duration) Reply {
	return Reply{func(s *Server, w http.ResponseWriter, r *http.Request, request Request) {
		if after >= 0 {
			w.Header().Set("Retry-After", fmt.Sprint(int(after.Seconds())))
		}
		Status(http.StatusTooManyRequests, "rate limit reached").write(s, w, r, request)
	}}
}

// EchoKey answers with status 401 and a message that contains the key.
func EchoKey() Reply {
	return Reply{func(s *Server, w http.ResponseWriter, r *http.Request, request Request) {
		Status(http.StatusUnauthorized, "incorrect key in "+request.Authorization).write(s, w, r, request)
	}}
}

// Redirect answers with status 307 and another address.
func Redirect(to string) Reply {
	return Reply{func(_ *Server, w http.ResponseWriter, _ *http.Request, _ Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusTemporaryRedirect)
	}}
}

// Hang does not answer until the client gives up or the server ends. Hanging reports when it has
// begun.
func Hang() Reply {
	return Reply{func(s *Server, _ http.ResponseWriter, r *http.Request, _ Request) {
		s.hanging <- struct{}{}
		select {
		case <-r.Context().Done():
		case <-s.closing:
		}
	}}
}

// Slow waits before it gives an answer.
func Slow(pause time.Duration, answer Reply) Reply {
	return Reply{func(s *Server, w http.ResponseWriter, r *http.Request, request Request) {
		select {
		case <-r.Context().Done():
		case <-time.After(pause):
			answer.write(s, w, r, request)
		}
	}}
}

// Drop closes the connection without an answer.
func Drop() Reply {
	return Reply{func(*Server, http.ResponseWriter, *http.Request, Request) { panic(http.ErrAbortHandler) }}
}

// Endless answers with a body that does not end.
func Endless() Reply {
	return Reply{func(s *Server, w http.ResponseWriter, _ *http.Request, _ Request) {
		chunk := []byte(strings.Repeat(" ", 64<<10))
		for {
			select {
			case <-s.closing:
				return
			default:
			}
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}}
}

// Raw answers with status 200 and a body outside the protocol.
func Raw(body string) Reply {
	return Reply{func(_ *Server, w http.ResponseWriter, _ *http.Request, _ Request) {
		_, _ = w.Write([]byte(body)) // the client may be gone
	}}
}
