// Package judge finds out what a person thinks of an answer, by rules, in English and Chinese: whether a message
// corrects the answer, complains about it, asks the same again, rephrases the question, or gives thanks. The patterns are
// those of signals.txt.
package judge

import (
	"context"
	"slices"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reasoner/language"
	"github.com/oxbow-memory/oxbow/internal/reasoner/pattern"
)

// Rules judge by patterns.
type Rules struct{}

var _ reasoner.Judge = Rules{}

// Name returns the name under which signals are recorded.
func (Rules) Name() string { return "rules-v1" }

// Signals judges each turn that has an answer before it.
func (Rules) Signals(_ context.Context, t reasoner.Turns) (signals []reasoner.Signal, _ error) {
	for _, turn := range t.Turns {
		if turn.AgentResponse == "" {
			continue
		}
		if s, ok := judge(turn); ok {
			s.Message = turn.Message
			signals = append(signals, s)
		}
	}
	return signals, nil
}

// The confidence of each kind. An explicit statement is surer than a question that comes again.
var confidence = map[string]float64{"correction": 0.8, "complaint": 0.75, "thanks": 0.7, "repeated_question": 0.65,
	"rephrasing": 0.5}

const (
	spoken  = 400 // tokens of a message that are read: longer ones bring their own subject
	repeats = 0.7 // common words from which a question is the same
	again   = 0.35
)

func judge(turn reasoner.Turn) (reasoner.Signal, bool) {
	said := language.Read(turn.UserInput)
	if len(said.Tokens) > spoken {
		return reasoner.Signal{}, false
	}
	thanks := said.Has("signal.thanks") && !said.Has("signal.not_thanks")
	kind := against(said, turn)
	switch {
	case kind != "" && thanks && kind != "rephrasing":
		return mixed(said, kind)
	case kind != "":
		s := reasoner.Signal{Kind: kind, Type: "negative", Confidence: confidence[kind], Targets: targets(said)}
		s.ActionHint = hints(kind)
		return s, true
	case thanks:
		return reasoner.Signal{Kind: "thanks", Type: "positive", Confidence: confidence["thanks"],
			Targets: []string{"final_answer"}, ActionHint: []string{"prefer"}}, true
	}
	return reasoner.Signal{}, false
}

// against returns the kind of a message that is against the answer before it, or "".
func against(said *pattern.Text, turn reasoner.Turn) string {
	others := said.Has("signal.about_others")
	switch {
	case !others && said.Has("signal.correction"):
		return "correction"
	case !others && said.Has("signal.complaint"):
		return "complaint"
	case said.Has("signal.rephrase"):
		return "rephrasing"
	}
	words := wordsOf(said)
	if no, denies := said.Has("signal.no"), said.Has("signal.denial"); !others && (no || denies) {
		answer := language.Read(turn.AgentResponse)
		if !asks(answer) && (no || shared(words, wordsOf(answer)) > 0) {
			return "correction"
		}
	}
	for i := len(turn.ContextWindow) - 1; i >= 0; i -= 2 { // what the person said, the latest first
		switch share := common(words, wordsOf(language.Read(turn.ContextWindow[i]))); {
		case share >= repeats:
			return "repeated_question"
		case share >= again && i == len(turn.ContextWindow)-1 && asks(said):
			return "rephrasing"
		}
	}
	return ""
}

// mixed is a signal that praises and complains: the complaint is about what it names.
func mixed(said *pattern.Text, kind string) (reasoner.Signal, bool) {
	bad := targets(said)
	parts := map[string]string{}
	for _, target := range bad {
		parts[target] = "negative"
	}
	if _, ok := parts["final_answer"]; !ok {
		parts["final_answer"] = "positive"
	} else {
		parts["style"] = "positive"
	}
	all := slices.Collect(func(yield func(string) bool) {
		for _, target := range reasoner.SignalTargets {
			if _, ok := parts[target]; ok && !yield(target) {
				return
			}
		}
	})
	return reasoner.Signal{Kind: kind, Type: "mixed", Confidence: confidence[kind], Targets: all,
		ActionHint: hints(kind), Parts: parts}, true
}

func targets(said *pattern.Text) (targets []string) {
	for list, target := range map[string]string{"signal.reasoning": "reasoning", "signal.style": "style",
		"signal.tool": "tool_choice"} {
		if said.Has(list) {
			targets = append(targets, target)
		}
	}
	if len(targets) == 0 {
		return []string{"final_answer"}
	}
	slices.Sort(targets)
	return targets
}

func hints(kind string) []string {
	switch kind {
	case "correction":
		return []string{"penalty", "invalidate"}
	case "thanks":
		return []string{"prefer"}
	}
	return []string{"penalty"}
}

// wordsOf returns the words of a text that tell it from others; two Chinese characters in a row are one.
func wordsOf(t *pattern.Text) map[string]bool {
	words := map[string]bool{}
	for i, token := range t.Tokens {
		switch {
		case token.Mark || t.Len("signal.stop", i) > 0:
		case token.Han && i+1 < len(t.Tokens) && t.Tokens[i+1].Han:
			words[token.Lower+t.Tokens[i+1].Lower] = true
		case !token.Han:
			words[token.Lower] = true
		}
	}
	return words
}

// common returns the Jaccard index of two sets of words, 0 if either has fewer than two.
func common(a, b map[string]bool) float64 {
	if len(a) < 2 || len(b) < 2 {
		return 0
	}
	n := shared(a, b)
	return float64(n) / float64(len(a)+len(b)-n)
}

func shared(a, b map[string]bool) (n int) {
	for word := range a {
		if b[word] {
			n++
		}
	}
	return n
}

func asks(t *pattern.Text) bool {
	return slices.ContainsFunc(t.Tokens, func(token pattern.Token) bool { return token.Lower == "?" || token.Lower == "吗" })
}
