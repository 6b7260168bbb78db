package extract

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reasoner/language"
)

var _ reasoner.Reviewer = (*Extractor)(nil)

// outOfDate is the age at which a passing fact is out of date.
const outOfDate = 30 * 24 * time.Hour

// Judge decides about each fact by its content: it promotes lasting facts, deletes facts that have passed or that a
// later fact replaces, and keeps all others. The only error is that of ctx.
func (x *Extractor) Judge(ctx context.Context, now time.Time, cases []reasoner.ReviewCase) ([]reasoner.Judgement, error) {
	all := make([]reasoner.Judgement, len(cases))
	for i := range cases {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		all[i] = x.judge(now, &cases[i])
	}
	return all, nil
}

func (x *Extractor) judge(now time.Time, c *reasoner.ReviewCase) reasoner.Judgement {
	keep := func(reason string) reasoner.Judgement {
		return reasoner.Judgement{Verdict: reasoner.ReviewKeep, Reason: reason}
	}
	said := x.factOf(c.Fact)
	words := language.Read(c.Fact.Content)
	category := c.Fact.Category
	if category == "" {
		category = said.Category
	}
	passing := isPassing(category)
	promise := c.Topic == "promise" || words.Has("review.promise")
	lasting := !passing && (category == reasoner.Identity || category == reasoner.StablePreference || promise ||
		words.Has("review.lasting") || c.Topic == "preference" || c.Topic == "personal")
	if c.Promotion {
		switch {
		case passing || isPassing(said.Category) || words.Has("review.passing"):
			return keep("it holds for a time only")
		case said.Negates:
			return keep("it says what is over")
		case c.Verified:
			return reasoner.Judgement{Verdict: reasoner.ReviewPromote, Reason: "a person confirmed it"}
		case promise:
			return reasoner.Judgement{Verdict: reasoner.ReviewPromote, Reason: "it is a promise or an agreement"}
		case lasting:
			return reasoner.Judgement{Verdict: reasoner.ReviewPromote, Reason: "it is lasting"}
		}
		return keep("nothing says that it is lasting")
	}
	if c.Verified {
		return keep("a person confirmed it")
	} else if category == reasoner.Identity {
		return keep("it says who somebody is")
	}
	if by := x.replacedBy(now, c); by != "" {
		return reasoner.Judgement{Verdict: reasoner.ReviewDelete, Reason: "a later fact replaces it: " + by}
	}
	switch {
	case lasting:
		return keep("it is lasting")
	case passing && c.Fact.Time.Before(now.Add(-outOfDate)) && !c.Ends.After(now):
		return reasoner.Judgement{Verdict: reasoner.ReviewDelete, Reason: "it has passed"}
	}
	return keep("nothing replaces it")
}

// isPassing reports whether facts of a category pass.
func isPassing(c reasoner.Category) bool {
	return c == reasoner.Temporary || c == reasoner.ShortPreference
}

// factOf reads a fact. A name at its beginning may be the user's: "Ada likes ramen".
func (x *Extractor) factOf(h reasoner.Held) reasoner.Candidate {
	said := x.Fact(h.Content, h.Speaker)
	name, _, _ := strings.Cut(strings.TrimSpace(h.Content), " ")
	if name = strings.TrimSuffix(name, "'s"); h.Speaker == "" && slices.ContainsFunc(said.About,
		func(key string) bool { return strings.HasPrefix(key, strings.ToLower(name)+":") }) {
		said.Category = x.Fact(h.Content, name).Category
	}
	return said
}

// replacedBy returns the later fact that replaces a fact, or "".
func (x *Extractor) replacedBy(now time.Time, c *reasoner.ReviewCase) string {
	for _, h := range c.Related {
		if !h.Time.After(c.Fact.Time) {
			continue
		}
		later := x.Fact(h.Content, h.Speaker)
		later.Time = h.Time
		d := x.resolve(now, &reasoner.Conflict{Candidate: later, Similar: []reasoner.Held{c.Fact}})
		if d.Operation == reasoner.Update || d.Operation == reasoner.Delete {
			return h.Content
		}
	}
	return ""
}
