package llm

import (
	"strings"

	"github.com/oxbow-memory/oxbow/internal/llm/answer"
	"github.com/oxbow-memory/oxbow/internal/llm/wording"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// verdictOf checks the members that the action needs and ignores the others.
func verdictOf(a answer.Verdict, trait reasoner.Trait) (reasoner.Verdict, error) {
	v := reasoner.Verdict{Action: reasoner.Action(a.Action), Reason: remark(a.Reason)}
	switch v.Action {
	case reasoner.Keep, reasoner.Dissolve:
		return v, nil
	case reasoner.Revise, reasoner.Split:
	default:
		return v, problemf("the action is not one of keep, revise, split, dissolve")
	}
	if trait.Edited && v.Action == reasoner.Revise {
		return v, problemf("the user worded the trait: it cannot be revised")
	}
	var err error
	if v.Content, err = wording.Sentence(a.Content); err != nil {
		return v, problemf("unusable content of %s: %s", v.Action, err)
	}
	if trait.Edited {
		v.Content = trait.Content
	}
	if v.Action == reasoner.Revise {
		return v, nil
	}
	v.Tendencies = map[string]string{}
	for _, t := range a.Tendencies {
		if reasoner.KnownContext(t.Context) == "" {
			return v, problemf("the context of a tendency is not one of %s", strings.Join(reasoner.Contexts, ", "))
		}
		if v.Tendencies[t.Context], err = wording.Sentence(t.Tendency); err != nil {
			return v, problemf("unusable tendency at %s: %s", t.Context, err)
		}
	}
	if len(v.Tendencies) < 2 {
		return v, problemf("split needs tendencies in at least two contexts")
	}
	return v, nil
}
