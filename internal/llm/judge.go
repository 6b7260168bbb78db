package llm

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow/internal/llm/answer"
	"github.com/oxbow-memory/oxbow/internal/llm/wording"
	"github.com/oxbow-memory/oxbow/internal/oneline"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

const maxRelated = 500 // characters of a related fact

// bench is a group of facts to review in one prompt.
type bench struct {
	data  benchData
	size  int            // characters
	place map[string]int // index of a case among all
	cases []reasoner.ReviewCase
}

type benchData struct {
	Now   string
	Facts []factShown
}

type factShown struct {
	Ref       string      `json:"ref"`
	Review    string      `json:"review"`
	Category  string      `json:"category,omitempty"`
	Topic     string      `json:"topic,omitempty"`
	Speaker   string      `json:"speaker,omitempty"`
	Time      string      `json:"time"`
	Ends      string      `json:"ends,omitempty"`
	Verified  bool        `json:"verified,omitempty"`
	Text      string      `json:"text"`
	MaySearch bool        `json:"may_search"`
	Related   []heldShown `json:"related"`
}

// Judge asks for verdicts about facts, in as few prompts as they fit into. It keeps facts that read as an instruction
// without asking.
func (r *Reasoner) Judge(
	ctx context.Context, now time.Time, cases []reasoner.ReviewCase,
) ([]reasoner.Judgement, error) {
	judgements := make([]reasoner.Judgement, len(cases))
	for _, b := range benches(now, cases, judgements) {
		var refused notes
		q := question{purpose: "judge", data: b.data, refused: &refused, bounds: boundsFor(len(b.data.Facts), reasoner.MaxWording)}
		err := ask(ctx, r, q, func(a answer.Judgements) error {
			refused = b.decide(a, judgements)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return judgements, nil
}

func benches(now time.Time, cases []reasoner.ReviewCase, judgements []reasoner.Judgement) (all []*bench) {
	var b *bench
	for i, c := range cases {
		if wording.Instructs(c.Fact.Content) {
			judgements[i] = kept("the fact reads as an instruction")
			continue
		}
		shown := factShown{Review: "decay", Category: string(c.Fact.Category), Topic: oneline.Shorten(c.Topic, maxName),
			Speaker: oneline.Shorten(c.Fact.Speaker, maxName), Time: local(c.Fact.Time), Verified: c.Verified,
			Text: oneline.Shorten(c.Fact.Content, maxText), MaySearch: !c.Last, Related: []heldShown{}}
		if c.Promotion {
			shown.Review = "promotion"
		}
		if !c.Ends.IsZero() {
			shown.Ends = local(c.Ends)
		}
		size := len([]rune(shown.Text))
		for n, h := range c.Related[:min(len(c.Related), maxSimilar)] {
			if wording.Instructs(h.Content) {
				continue
			}
			other := showHeld(fmt.Sprintf("h%d", n+1), h)
			other.Text = oneline.Shorten(h.Content, maxRelated)
			size += len([]rune(other.Text))
			shown.Related = append(shown.Related, other)
		}
		if b == nil || len(b.data.Facts) == maxEntries || b.size+size > docketSize {
			b = &bench{data: benchData{Now: local(now)}, place: map[string]int{}, cases: cases}
			all = append(all, b)
		}
		b.size += size
		shown.Ref = fmt.Sprintf("f%d", len(b.data.Facts)+1)
		b.place[shown.Ref] = i
		b.data.Facts = append(b.data.Facts, shown)
	}
	return all
}

// kept returns the judgement that keeps a fact, for the given reason.
func kept(reason string, args ...any) reasoner.Judgement {
	return reasoner.Judgement{Verdict: reasoner.ReviewKeep, Reason: fmt.Sprintf(reason, args...)}
}

// decide enters an answer into judgements. A fact without a usable answer is kept, with the reason. decide returns
// notes on entries for unknown or already answered facts.
func (b *bench) decide(a answer.Judgements, judgements []reasoner.Judgement) (refused notes) {
	for _, place := range b.place {
		judgements[place] = kept("no answer")
	}
	answered := map[string]bool{}
	for _, j := range a.Judgements[:min(len(a.Judgements), 2*maxEntries)] {
		place, known := b.place[j.Fact]
		if !known || answered[j.Fact] {
			refused.drop(j, "no fact %s waits for an answer", quote(j.Fact))
			continue
		}
		answered[j.Fact] = true
		judgements[place] = b.judged(j, b.cases[place])
	}
	if more := len(a.Judgements) - 2*maxEntries; more > 0 {
		refused.drop(fmt.Sprintf("%d further ones", more), "more than %d of them", 2*maxEntries)
	}
	return refused
}

func (b *bench) judged(j answer.Judgement, c reasoner.ReviewCase) reasoner.Judgement {
	verdict := reasoner.ReviewVerdict(strings.ToUpper(strings.TrimSpace(j.Verdict)))
	words, reason := remark(j.Search), remark(j.Reason)
	switch {
	case !slices.Contains(answer.Verdicts, string(verdict)):
		return kept("the answer was none of %s", strings.Join(answer.Verdicts, ", "))
	case verdict == reasoner.ReviewPromote && !c.Promotion:
		return kept("the answer was PROMOTE of a fact that nobody used for long")
	case verdict == reasoner.ReviewSearch && (c.Last || words == ""):
		return kept("the answer was SEARCH without words, or after the last round")
	case verdict == reasoner.ReviewSearch:
		return reasoner.Judgement{Verdict: verdict, Search: words}
	case reason == "":
		return kept("the answer was %s without a reason", verdict)
	}
	return reasoner.Judgement{Verdict: verdict, Reason: reason}
}
