package rules

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reasoner/pattern"
)

// Review decides by what the contradicting memories say, when, and in which contexts. The only error is that of ctx.
//
//   - Where those for and those against come from different parts of life, and from the same time, the trait depends on the
//     context.
//   - Where the latest word is that it is over, said outright and after everything that speaks for it, it dissolves.
//   - Where memories went on to speak for it afterwards, it stays.
//   - Otherwise it is worded more cautiously, unless the user worded it.
func (*Reasoner) Review(ctx context.Context, c reasoner.Case) (reasoner.Verdict, error) {
	if err := ctx.Err(); err != nil {
		return reasoner.Verdict{}, err
	}
	zh := pattern.HasHan(c.Trait.Content)
	if len(c.Contradicting) == 0 {
		return reasoner.Verdict{Action: reasoner.Keep, Reason: pick(zh, "没有反证", "nothing contradicts it")}, nil
	}
	lastFor, lastAgainst := latest(c.Supporting), latest(c.Contradicting)
	a, b, ok := apart(contextsOf(c.Supporting), contextsOf(c.Contradicting))
	if ok && !c.Trait.Edited && lastFor.After(earliest(c.Contradicting)) {
		return reasoner.Verdict{
			Action: reasoner.Split, Content: c.Trait.Content + pick(zh, "（视场合而定）", ", depending on the context"),
			Tendencies: map[string]string{a: c.Trait.Content, b: pick(zh, "不再如此："+c.Trait.Content, "Not so: "+c.Trait.Content)},
			Reason:     pick(zh, "支持与反对来自不同场合", "what speaks for it and against it comes from different contexts"),
		}, nil
	}
	switch {
	case lastAgainst.After(lastFor) && outright(c):
		return reasoner.Verdict{Action: reasoner.Dissolve, Reason: pick(zh, "用户最近明确说不再如此", "the user said last that it is so no longer")}, nil
	case lastFor.After(lastAgainst) || c.Trait.Edited:
		return reasoner.Verdict{Action: reasoner.Keep, Reason: pick(zh, "之后仍有支持的记忆", "memories went on to speak for it")}, nil
	}
	return reasoner.Verdict{
		Action: reasoner.Revise, Content: cautious(c.Trait.Content, zh),
		Reason: pick(zh, "支持与反对并存", "some memories speak for it and some against it"),
	}, nil
}

func pick(zh bool, chinese, english string) string {
	if zh {
		return chinese
	}
	return english
}

func latest(evidence []reasoner.Evidence) time.Time {
	var last time.Time
	for _, e := range evidence {
		if e.Time.After(last) {
			last = e.Time
		}
	}
	return last
}

func earliest(evidence []reasoner.Evidence) time.Time {
	first := evidence[0].Time
	for _, e := range evidence {
		if e.Time.Before(first) {
			first = e.Time
		}
	}
	return first
}

// contextsOf counts the parts of life that evidence comes from; those that tell nothing are left out.
func contextsOf(evidence []reasoner.Evidence) map[string]int {
	counts := map[string]int{}
	for _, e := range evidence {
		switch e.Context {
		case "", "general", "contextual":
			counts[""]++
		default:
			counts[e.Context]++
		}
	}
	return counts
}

// apart tells whether all evidence on each side comes from one context, and not the same.
func apart(a, b map[string]int) (string, string, bool) {
	one := func(counts map[string]int) string {
		if len(counts) != 1 {
			return ""
		}
		for name := range counts {
			return name
		}
		return ""
	}
	x, y := one(a), one(b)
	return x, y, x != "" && y != "" && x != y
}

// outright tells whether the latest contradicting memory denies what the trait says.
func outright(c reasoner.Case) bool {
	last := c.Contradicting[0]
	for _, e := range c.Contradicting {
		if e.Time.After(last.Time) {
			last = e
		}
	}
	var f finder
	return slices.ContainsFunc(f.read(sentences(last.Content)), func(n finding) bool { return n.polarity == con })
}

// cautious words a trait as something that is so at times.
func cautious(content string, zh bool) string {
	if zh {
		for _, p := range []string{"经常", "常", "喜欢", "爱"} {
			if rest, ok := strings.CutPrefix(content, p); ok {
				if p == "经常" || p == "常" {
					return "有时" + rest
				}
				return "有时" + p + rest
			}
		}
		return "有时" + content
	}
	if rest, ok := strings.CutPrefix(content, "Often "); ok {
		return "Sometimes " + rest
	}
	if rest, ok := strings.CutPrefix(content, "Sometimes "); ok {
		return "Sometimes " + rest
	}
	return "Sometimes: " + content
}
