package embedding

import (
	"fmt"
	"strings"
	"time"
)

// Kind classifies an Error by what to do about it.
type Kind int

const (
	// Unavailable: the provider is down, slow, over its limits, or wrongly configured (key, model,
	// address). Ask again later, after RetryAfter if it is set.
	Unavailable Kind = iota + 1
	// Invalid: the provider's answer does not contain the requested vectors. Ask again.
	Invalid
	// Permanent: the provider refuses each of the texts in Texts, even alone, while it accepts
	// others. Embed returned the vectors of the other texts, except those that it did not reach in time.
	Permanent
)

func (k Kind) String() string {
	switch k {
	case Unavailable:
		return "unavailable"
	case Invalid:
		return "invalid answer"
	case Permanent:
		return "refused"
	}
	return fmt.Sprintf("kind %d", int(k))
}

// Error is the error of Embed, for errors.As, unless the context ended. It never contains an API
// key or a text.
type Error struct {
	Kind  Kind
	Model string // as returned by Model()
	// Status is the HTTP status, or 0 without an answer.
	Status int
	// RetryAfter is how long the provider asked to wait, at most 10 minutes; 0 if it did not ask.
	RetryAfter time.Duration
	// Texts are the positions of the refused texts, ascending, and Reasons the provider's messages about each; only for
	// Permanent.
	Texts   []int
	Reasons []string
	// Message describes the failure, or is the provider's message.
	Message string
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "embedding with %s: %s", e.Model, e.Message)
	if e.Status != 0 {
		fmt.Fprintf(&b, " (HTTP status %d)", e.Status)
	}
	if e.RetryAfter > 0 {
		fmt.Fprintf(&b, ", try again after %s", e.RetryAfter)
	}
	return b.String()
}
