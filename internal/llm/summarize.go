package llm

import (
	"context"
	"slices"
	"strings"

	"github.com/oxbow-memory/oxbow/internal/llm/answer"
	"github.com/oxbow-memory/oxbow/internal/llm/wording"
	"github.com/oxbow-memory/oxbow/internal/oneline"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// summaryData holds the values for the prompt of a summary.
type summaryData struct {
	talkData
	Before []string // the summary so far, or none
}

// Summarize asks for a summary of the conversation so far. It leaves out messages that read like
// instructions. It does not ask unless the user has said something new.
func (r *Reasoner) Summarize(ctx context.Context, told reasoner.Told) (summary string, err error) {
	messages := slices.DeleteFunc(slices.Clone(told.Messages),
		func(m reasoner.Message) bool { return wording.Instructs(m.Content) })
	talk := listen(reasoner.Conversation{Now: told.Now, Language: told.Language, Messages: messages})
	if !talk.worthAsking() {
		return told.Before, nil
	}
	data := summaryData{talkData: talk.data, Before: []string{}}
	texts := []string{told.Before} // their languages are allowed in the summary
	if told.Before != "" && !wording.Instructs(told.Before) {
		data.Before = append(data.Before, oneline.Shorten(told.Before, reasoner.MaxSummary))
	}
	for _, m := range talk.said {
		if m.Role == roleUser {
			texts = append(texts, m.Content)
		}
	}
	err = ask(ctx, r, question{purpose: "summarize", data: data}, func(a answer.Summary) error {
		summary, err = checked(a, texts)
		return err
	})
	return summary, err
}

// checked returns a summary that can be stored: short, in one paragraph, in a language that someone
// used, and not an instruction.
func checked(a answer.Summary, from []string) (string, error) {
	if strings.TrimSpace(*a.Summary) == "" {
		return "", nil
	}
	summary, err := wording.Statement(*a.Summary, reasoner.MaxSummary)
	if err != nil {
		return "", problemf("unusable summary: %s", err)
	}
	if how := wording.Translated(summary, from); how != "" {
		return "", problemf("unusable summary: %s", how)
	}
	return summary, nil
}
