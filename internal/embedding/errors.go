package embedding

import (
	"fmt"
	"strings"
	"time"
)

// Kind says what to do about an Error.
type Kind int

const (
	// Unavailable: the provider is down, slow, over its limits, or wrongly configured (key, model, address). Nothing
	// is wrong with the texts: ask again later, after RetryAfter where it is set, and lose nothing.
	Unavailable Kind = iota + 1
	// Invalid: the provider answered, but not with the vectors that were asked for. Ask again.
	Invalid
	// Permanent: the provider refuses the texts named by Texts, each alone and while it accepts others. The vectors of
	// the other texts were returned.
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

// Error is what Embed returns, for errors.As, unless its context ended. It never contains an API key or a text.
type Error struct {
	Kind  Kind
	Model string // as Model() says it
	// Status is the HTTP status, 0 if there was no answer.
	Status int
	// RetryAfter is how long the provider asked to be left alone, 0 if it did not say; at most a day.
	RetryAfter time.Duration
	// Texts are the positions of the refused texts, ascending; only for Permanent.
	Texts []int
	// Message is what happened, or what the provider said.
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
