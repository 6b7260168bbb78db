package llm

import (
	"context"
	"slices"
	"strings"

	"github.com/oxbow-memory/oxbow/internal/provider"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// summaryAnswer is what a model answers to a conversation, as summarizeSchema demands it.
type summaryAnswer struct {
	Summary *string `json:"summary"`
}

// summaryData is what the prompt of a summary is filled with.
type summaryData struct {
	talkData
	Before []string // the summary so far, or nothing
}

// Summarize asks for a summary of what was told so far. Messages that read as instructions are not
// shown. Where nobody but an assistant said something new, nothing is asked.
func (r *Reasoner) Summarize(ctx context.Context, told reasoner.Told) (summary string, err error) {
	messages := slices.DeleteFunc(slices.Clone(told.Messages), func(m reasoner.Message) bool { return instructs(m.Content) })
	talk := listen(reasoner.Conversation{Now: told.Now, Language: told.Language, Messages: messages})
	if !talk.worthAsking() {
		return told.Before, nil
	}
	data := summaryData{talkData: talk.data, Before: []string{}}
	texts := []string{told.Before} // in whose language it is to be
	if told.Before != "" && !instructs(told.Before) {
		data.Before = append(data.Before, provider.Beginning(told.Before, reasoner.MaxSummary))
	}
	for _, m := range talk.said {
		if m.Role == roleUser {
			texts = append(texts, m.Content)
		}
	}
	err = r.ask(ctx, question{purpose: "summarize", schema: summarizeSchema, data: data}, func(answer string) error {
		var read summaryAnswer
		if err := decode(answer, &read); err != nil {
			return err
		}
		summary, err = read.check(texts)
		return err
	})
	return summary, err
}

// check takes a summary that can be kept: short, in one paragraph, in a language in which something
// was said, and no instruction.
func (a summaryAnswer) check(from []string) (string, error) {
	if a.Summary == nil {
		return "", problemf("the member %q is missing: an empty text if there is nothing to tell", "summary")
	}
	if strings.TrimSpace(*a.Summary) == "" {
		return "", nil
	}
	summary, err := statement(*a.Summary, reasoner.MaxSummary)
	if err != nil {
		return "", problemf("the summary is of no use: %s", err)
	}
	if how := translated(summary, from); how != "" {
		return "", problemf("the summary is of no use: %s", how)
	}
	return summary, nil
}
