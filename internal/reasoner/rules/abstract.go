package rules

import (
	"context"
	"slices"
	"strings"

	"github.com/oxbow-memory/oxbow/internal/oneline"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reasoner/language"
	"github.com/oxbow-memory/oxbow/internal/reasoner/pattern"
)

var (
	_ reasoner.TopicReader = (*Reasoner)(nil)
	_ reasoner.Abstracter  = (*Reasoner)(nil)
)

// IsUser reports whether a speaker is the user.
func (*Reasoner) IsUser(speaker string) bool { return isUser(speaker) }

// Topics returns the patterns in memories that may become conclusions. Hours and self-descriptions are left to traits.
// What another speaker says counts if it is about the user.
func (*Reasoner) Topics(memories []reasoner.Memory) (topics []reasoner.Topic) {
	for _, s := range signs(aboutUser(memories)) {
		if s.kind == self || s.kind == hours {
			continue
		}
		for _, e := range s.pro {
			topics = append(topics, reasoner.Topic{Memory: e.Memory, Key: s.key})
		}
		for _, e := range s.con {
			topics = append(topics, reasoner.Topic{Memory: e.Memory, Key: s.key, Denies: true})
		}
	}
	return topics
}

// aboutUser returns memories as if the user had said them, without those that others say of themselves or of others.
func aboutUser(memories []reasoner.Memory) (mine []reasoner.Memory) {
	for _, m := range memories {
		if !isUser(m.Speaker) {
			said := language.Read(m.Content)
			if language.Read(m.Speaker).Has("trait.machine") || said.Has("trait.me") || !said.Has("abstract.user") {
				continue
			}
			m.Speaker = ""
		}
		mine = append(mine, m)
	}
	return mine
}

// Hints returns what a memory says of its conditions.
func (*Reasoner) Hints(m reasoner.Memory) (c reasoner.Conditions) {
	for _, t := range sentences(m.Content) {
		for list, hint := range map[string]*string{"abstract.part": &c.PartOfDay, "abstract.weekday": &c.Weekday,
			"abstract.season": &c.Season} {
			if found, ok := t.Find(list); ok && *hint == "" {
				*hint = found.Value
			}
		}
	}
	for _, s := range signs(aboutUser([]reasoner.Memory{m})) {
		switch {
		case len(s.pro) == 0:
		case s.kind == place:
			c.Where = append(c.Where, s.surface())
		case s.kind == person:
			c.With = append(c.With, s.surface())
		}
	}
	return c
}

func (s *sign) surface() string { return byFrequency(s.surfaces)[0] }

// Abstract words a conclusion by a template: the sentence of the pattern with its conditions or, for a person, a thing or
// a subject, the statements that the others are nearest to. The only error is that of ctx.
func (*Reasoner) Abstract(ctx context.Context, d reasoner.Dense) (reasoner.Conclusion, error) {
	if err := ctx.Err(); err != nil || len(d.Fragments) == 0 {
		return reasoner.Conclusion{}, err
	}
	var c reasoner.Conclusion
	han := 0
	for _, f := range d.Fragments {
		c.Sources = append(c.Sources, f.ID)
		if pattern.HasHan(f.Content) {
			han++
		}
	}
	zh := 2*han > len(d.Fragments)
	c.Content = statement(d, zh)
	if c.Content == "" {
		return reasoner.Conclusion{}, nil
	}
	if d.Denies {
		c.Content = pick(zh, "不再如此："+c.Content, "No longer so: "+lowerFirst(c.Content))
	}
	c.Content += conditions(d.Conditions, zh)
	if len(d.According) > 0 {
		c.Content = according(d.According, zh) + pick(zh, c.Content, lowerFirst(c.Content))
	}
	c.Content = oneline.Shorten(c.Content, reasoner.MaxConclusion)
	return c, nil
}

func lowerFirst(text string) string {
	first, rest, _ := strings.Cut(text, " ")
	if strings.ToLower(first) != first && strings.ToUpper(first) != first {
		first = strings.ToLower(first[:1]) + first[1:]
	}
	return strings.TrimRight(first+" "+rest, " ")
}

func statement(d reasoner.Dense, zh bool) string {
	for _, s := range signs(aboutUser(d.Fragments)) {
		if s.key == d.Topic {
			s.finding.zh = zh
			switch s.kind {
			case doing:
				return of(s.name, activityOf(s.finding.id).say(zh), zh)
			case eating:
				return sentence(s)
			}
			return of(s.name, s.finding.say, zh)
		}
	}
	if ours(d.Topic) {
		return ""
	}
	parts := strings.SplitN(d.Topic, ":", 3)
	name := parts[len(parts)-1]
	if at := indexFold(d.Fragments, name); at != "" {
		name = at // as the memories write it
	}
	var quotes []string
	for _, f := range d.Fragments {
		quote := oneline.Shorten(strings.TrimRight(oneline.Of(f.Content), " .。"), maxQuote)
		if len(quotes) < maxQuotes && !slices.ContainsFunc(quotes, func(q string) bool { return alike(q, quote) }) {
			quotes = append(quotes, quote)
		}
	}
	return pick(zh, "关于"+name+"："+strings.Join(quotes, "；"), "About "+name+": "+strings.Join(quotes, "; "))
}

// alike reports whether two statements have most of their words in common, so that one quote is enough.
func alike(a, b string) bool {
	in := map[string]int{}
	for i, text := range []string{a, b} {
		for _, t := range language.Read(text).Tokens {
			if !t.Mark {
				in[t.Lower] |= 1 << i
			}
		}
	}
	both := 0
	for _, where := range in {
		if where == 3 {
			both++
		}
	}
	return float64(both) >= quoteAlike*float64(len(in))
}

// quoteAlike is the share of common words from which two quotes say the same.
const quoteAlike = 0.6

// maxQuotes and maxQuote limit what a conclusion about a person, a thing or a subject quotes: conclusions are no archive.
const (
	maxQuotes = 3
	maxQuote  = 90
)

// indexFold returns a name as the first memory that has it writes it.
func indexFold(fragments []reasoner.Memory, name string) string {
	for _, f := range fragments {
		if i := strings.Index(strings.ToLower(f.Content), name); i >= 0 && i+len(name) <= len(f.Content) {
			return f.Content[i : i+len(name)]
		}
	}
	return ""
}

func according(voices []string, zh bool) string {
	names := make([]string, len(voices))
	for i, v := range voices {
		names[i] = v
		if v == "" {
			names[i] = pick(zh, "用户", "the user")
		}
	}
	return pick(zh, "据"+strings.Join(names, "、")+"说，", "According to "+strings.Join(names, ", ")+": ")
}

var conditionWords = map[string][2]string{
	"morning": {"早上", "in the morning"}, "afternoon": {"下午", "in the afternoon"}, "evening": {"晚上", "in the evening"},
	"night": {"深夜", "late at night"}, "weekend": {"周末", "at weekends"},
	"monday": {"周一", "on Mondays"}, "tuesday": {"周二", "on Tuesdays"}, "wednesday": {"周三", "on Wednesdays"},
	"thursday": {"周四", "on Thursdays"}, "friday": {"周五", "on Fridays"}, "saturday": {"周六", "on Saturdays"},
	"sunday": {"周日", "on Sundays"},
	"spring": {"春天", "in spring"}, "summer": {"夏天", "in summer"}, "autumn": {"秋天", "in autumn"},
	"winter": {"冬天", "in winter"},
	"work":   {"工作中", "at work"}, "personal": {"生活中", "in private life"}, "social": {"与人相处时", "in company"},
	"learning": {"学习时", "when learning"},
}

// conditions words conditions as the end of a sentence.
func conditions(c reasoner.Conditions, zh bool) string {
	var words []string
	times := ""
	for _, id := range []string{c.Season, c.Weekday, c.PartOfDay} {
		switch w, ok := conditionWords[id]; {
		case !ok:
		case zh:
			times += w[0]
		default:
			words = append(words, w[1])
		}
	}
	if times != "" {
		words = append(words, "在"+times)
	}
	if w, ok := conditionWords[c.Context]; ok {
		words = append(words, pick(zh, w[0], w[1]))
	}
	if len(c.Where) > 0 {
		where := strings.Join(c.Where, pick(zh, "、", " and "))
		words = append(words, pick(zh, "在"+where, "at "+where))
	}
	if len(c.With) > 0 {
		with := strings.Join(c.With, pick(zh, "、", " and "))
		words = append(words, pick(zh, "和"+with+"一起", "with "+with))
	}
	if len(words) == 0 {
		return ""
	}
	return pick(zh, "，多"+strings.Join(words, "，"), ", mostly "+strings.Join(words, ", "))
}

// IsPattern reports whether a topic is a pattern of the rules.
func (*Reasoner) IsPattern(topic string) bool { return ours(topic) }
