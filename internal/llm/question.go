package llm

import (
	"context"
	"slices"

	"github.com/oxbow-memory/oxbow/internal/llm/answer"
	"github.com/oxbow-memory/oxbow/internal/llm/wording"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// Questions asks which questions recent memories raise. It leaves out memories that read as instructions, and drops
// questions that do, or that are in another language than the memories.
func (r *Reasoner) Questions(ctx context.Context, recent reasoner.Batch) (questions []string, err error) {
	recent.Memories = slices.DeleteFunc(slices.Clone(recent.Memories),
		func(m reasoner.Memory) bool { return wording.Instructs(m.Content) })
	if len(recent.Memories) == 0 {
		return nil, nil
	}
	var texts []string
	for _, m := range recent.Memories {
		texts = append(texts, m.Content)
	}
	var refused notes
	q := question{purpose: "question", data: show(recent).data, refused: &refused,
		bounds: boundsFor(reasoner.MaxQuestions, reasoner.MaxWording)}
	err = ask(ctx, r, q, func(a answer.Questions) error {
		questions, refused = nil, notes{}
		for _, asked := range bounded(&refused, a.Questions) {
			text, err := wording.Sentence(asked)
			switch {
			case err != nil:
				refused.drop(asked, "unusable question: %s", err)
				continue
			case wording.Translated(text, texts) != "":
				refused.drop(asked, "unusable question: %s", wording.Translated(text, texts))
				continue
			case slices.Contains(questions, text) || len(questions) == reasoner.MaxQuestions:
				refused.drop(asked, "it is asked already, or there are %d", reasoner.MaxQuestions)
				continue
			}
			questions = append(questions, text)
		}
		return nil
	})
	return questions, err
}
