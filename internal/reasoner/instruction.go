package reasoner

import "github.com/google/uuid"

// Instruction is a standing instruction that a person gave an assistant: how it should answer or treat the person from
// now on. It holds until a newer one about the same aspect, or until the person ends it.
type Instruction struct {
	Text    string    // in the person's words
	Aspect  string    // language, length, address, tone, format, avoid, other
	Context string    // work, personal, social, learning: where it holds; empty: everywhere
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

// InstructionAspects are what instructions are about.
var InstructionAspects = []string{"language", "length", "address", "tone", "format", "avoid", "other"}
