package llm

import (
	"context"
	"fmt"
	"slices"

	"github.com/oxbow-memory/oxbow/internal/llm/answer"
	"github.com/oxbow-memory/oxbow/internal/llm/wording"
	"github.com/oxbow-memory/oxbow/internal/oneline"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

const (
	turnsPerPrompt = 20
	maxTurn        = 1000 // characters of a message
)

type turnsData struct {
	Now   string
	Turns []turnShown
}

type turnShown struct {
	Ref           string   `json:"ref"`
	ContextWindow []string `json:"context_window"`
	AgentResponse string   `json:"agent_response"`
	UserInput     string   `json:"user_input"`
}

// Signals asks what people think of answers, for up to turnsPerPrompt turns at once. It drops references to turns that
// were not shown, and a second signal for one.
func (r *Reasoner) Signals(ctx context.Context, t reasoner.Turns) (signals []reasoner.Signal, err error) {
	for turns := range slices.Chunk(t.Turns, turnsPerPrompt) {
		data := turnsData{Now: local(t.Now)}
		place := map[string]reasoner.Turn{}
		for i, turn := range turns {
			if turn.AgentResponse == "" || wording.Instructs(turn.UserInput) {
				continue
			}
			shown := turnShown{Ref: fmt.Sprintf("t%d", i+1), ContextWindow: []string{},
				AgentResponse: oneline.Shorten(turn.AgentResponse, maxTurn), UserInput: oneline.Shorten(turn.UserInput, maxTurn)}
			for _, said := range turn.ContextWindow {
				shown.ContextWindow = append(shown.ContextWindow, oneline.Shorten(said, maxTurn))
			}
			place[shown.Ref] = turn
			data.Turns = append(data.Turns, shown)
		}
		if len(data.Turns) == 0 {
			continue
		}
		var refused notes
		q := question{purpose: "signals", data: data, refused: &refused, bounds: boundsFor(len(data.Turns), 0)}
		err := ask(ctx, r, q, func(a answer.Signals) error {
			refused = notes{}
			for _, s := range bounded(&refused, a.Signals) {
				turn, ok := place[s.Turn]
				if !ok {
					refused.drop(s, "%s is not one of the turns, or the second signal for it", quote(s.Turn))
					continue
				}
				delete(place, s.Turn)
				refused.unknown(s.Turn, "kind", []string{s.Kind}, reasoner.SignalKinds)
				refused.unknown(s.Turn, "target", slices.Concat(s.Good, s.Bad), reasoner.SignalTargets)
				refused.unknown(s.Turn, "action_hint", s.ActionHint, reasoner.SignalHints)
				signals = append(signals, signalOf(turn, s))
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return signals, nil
}

// unknown notes the values that are not among all.
func (n *notes) unknown(about, part string, values, all []string) {
	for _, v := range bounded(n, values) {
		if !slices.Contains(all, v) {
			n.drop(map[string]string{part: short(v), "for": short(about)}, "unknown %s", part)
		}
	}
}

// signalOf keeps only known values. The type follows from what is good and bad.
func signalOf(turn reasoner.Turn, s answer.Signal) reasoner.Signal {
	signal := reasoner.Signal{Message: turn.Message, Kind: s.Kind, Type: s.Type,
		Confidence: min(max(s.Confidence, 0), 1), ActionHint: known(s.ActionHint, reasoner.SignalHints)}
	if !slices.Contains(reasoner.SignalKinds, s.Kind) {
		signal.Kind = "complaint"
	}
	good, bad := known(s.Good, reasoner.SignalTargets), known(s.Bad, reasoner.SignalTargets)
	switch {
	case len(good) > 0 && len(bad) > 0:
		signal.Type, signal.Parts = "mixed", map[string]string{}
		for _, target := range good {
			signal.Parts[target] = "positive"
		}
		for _, target := range bad {
			signal.Parts[target] = "negative"
		}
	case len(bad) > 0:
		signal.Type = "negative"
	case len(good) > 0:
		signal.Type = "positive"
	default:
		signal.Type = "neutral"
	}
	signal.Targets = known(append(good, bad...), reasoner.SignalTargets)
	return signal
}

// known returns the values that are among all, in its order, each once.
func known(values, all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(v string) bool { return !slices.Contains(values, v) })
}
