package reasoner

import (
	"time"

	"github.com/google/uuid"
)

// Instruction is a standing instruction that a person gave an assistant: how it should answer or treat the person from
// now on. It holds until a newer one about the same aspect, or until the person ends it.
type Instruction struct {
	Text    string    // in the person's words
	Aspect  string    // language, length, address, tone, format, avoid, other
	Context string    // work, personal, social, learning: where it holds; empty: everywhere
	Here    bool      // it holds in this conversation only
	Ends    bool      // it ends earlier ones: of the aspect or, if that is empty, the last one of the conversation
	Source  uuid.UUID // the message
}

// Procedure is a way to do something that a person taught an assistant: steps for a situation.
type Procedure struct {
	Name      string
	Situation string // when it applies
	Steps     []string
	Source    uuid.UUID // the message
}

// Intention is what a person intends, has to do, or wants to be reminded of.
type Intention struct {
	Kind       string // intention, goal, reminder
	Content    string
	Due        time.Time // zero: no time is known
	Precision  string    // minute, day, week, month, year; empty: no time
	Recurrence string    // an RRULE of iCalendar without its name; empty: once
	Condition  string    // when it is due instead: "when I get home"
	Closes     string    // done, dropped: it closes an earlier one like Content; empty: it is new
	Source     uuid.UUID // the message
}

// InstructionAspects are what instructions are about.
var InstructionAspects = []string{"language", "length", "address", "tone", "format", "avoid", "other"}
