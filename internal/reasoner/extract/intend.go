package extract

import (
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow/internal/oneline"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reasoner/language"
	"github.com/oxbow-memory/oxbow/internal/reasoner/pattern"
	"github.com/oxbow-memory/oxbow/internal/reasoner/when"
)

// The maximum number of characters of a sentence that is read as an intention, and of sentences before a reminder that
// may say when.
const (
	maxIntention = 300
	maxBefore    = 2
)

// intentionsOf returns what a person says in a message to intend, to have to do, or to want to be reminded of. Times are
// relative to the message. The patterns are those of intentions.txt.
func intentionsOf(m *reasoner.Message) (heard []reasoner.Intention) {
	sentences, _ := split(m.Content)
	said := 0 // the sentence of the last intention
	for i := range sentences {
		s := &sentences[i]
		if utf8.RuneCountInString(s.text) > maxIntention || s.instructs() || s.quotes() {
			continue
		}
		n, bare, ok := s.intention(m, sentences, i)
		if !ok {
			continue
		}
		if last := len(heard) - 1; bare && last >= 0 && said == i-1 && heard[last].Closes == "" {
			heard = heard[:last] // "I fly on Monday. Remind me." is one
		}
		n.Source, said = m.ID, i
		heard = append(heard, n)
	}
	return heard
}

// intention returns what the i-th sentence of a message intends. Bare reports whether it only asks to be reminded of what
// was said before it.
func (s *sentence) intention(m *reasoner.Message, all []sentence, i int) (n reasoner.Intention, bare, ok bool) {
	n.Content = oneline.Of(s.text)
	reminder, reminds := s.Find("intend.remind")
	note, notes := s.Find("intend.note")
	plan, plans := s.Find("intend.plan")
	reports := s.Has("intend.reports")
	others, told := s.Find("intend.others")
	if told && (s.Has("intend.mine") || s.chinese() && plans && s.beginsWithTime() && plan.Start < others.Start && !s.asksWithoutMark()) {
		told = false
	}
	switch {
	case s.Has("intend.dropped") && !s.asks():
		n.Closes = "dropped"
		return n, false, true
	case reminds && !reports:
		n.Kind = "reminder"
		n.Content, bare = s.reminded(reminder, all, i)
		dueAt(&n)(dueNear(m, all, i, reminder))
	case notes && !reports && dueAt(&n)(dueNear(m, all, i, note)):
		n.Kind = "reminder"
		n.Content, bare = s.reminded(note, all, i)
		return n, bare, true
	case s.asks():
		return n, false, false
	case s.Has("intend.goal"):
		n.Kind = "goal"
	case s.acts() && dueAt(&n)(s.due(m, pattern.Match{})):
		n.Kind = "reminder"
	case told, s.Has("intend.answers"):
		return n, false, false
	case s.Has("intend.done"):
		n.Closes = "done"
		return n, false, true
	case plans, s.beginsWithTime(), s.appointment(m):
		n.Kind = "intention"
	default:
		return n, false, false
	}
	if n.Kind != "reminder" {
		dueAt(&n)(s.due(m, plan))
	}
	if n.Precision == string(when.DueMinute) || n.Precision == string(when.DueDay) {
		n.Content = undated(n.Content, m.Time)
	}
	if c, ok := s.Find("intend.when"); ok && n.Due.IsZero() {
		n.Condition = s.from(c)
	}
	return n, bare, n.Kind != "intention" || !n.Due.IsZero()
}

// dangling is what leads to a time, at the end of a text that the time was cut from.
var dangling = regexp.MustCompile(`(?i)(^|[ ,，])(at|on|by|in|before|until|till|for|from|starting|around|about|every|each|this|next|the|在|于|到|等)?[ ,，]*$`)

// unfinished ends a text that says nothing without its time: "My anniversary is".
var unfinished = regexp.MustCompile(`(?i)\b(is|are|am|be|was|were)$|是$`)

// clockEnd ends a time of which the last word may be missing: "at 6 pm".
var clockEnd = regexp.MustCompile(`(?i)(\d|[ap]\.?m|o'clock|点|半|分|钟|刻)[ .!。！]*$`)

// undated returns a text without the time with which it ends or begins, because "call mom tomorrow" is read on another
// day.
func undated(text string, said time.Time) string {
	whole, ok := when.FindDue(text, said)
	if !ok {
		return text
	}
	same := func(part string) bool {
		d, dated := when.FindDue(part, said)
		return dated && d.Time.Equal(whole.Time) && d.Recurrence == whole.Recurrence && d.Dated == whole.Dated
	}
	timeless := func(part string) bool { _, dated := when.FindDue(part, said); return !dated }
	tokens := language.Read(text).Tokens
	last := tokens[len(tokens)-1].Start
	rest := ""
	for i := 1; i < len(tokens) && rest == ""; i++ { // it begins with the time
		if at := tokens[i].Start; same(text[:at]) && (i == 1 || !same(text[tokens[1].Start:at])) && timeless(text[at:]) {
			rest = text[at:]
		}
	}
	for i := len(tokens) - 1; i > 0 && rest == ""; i-- { // it ends with the time
		at := tokens[i].Start
		if same(text[at:]) && (at == last || !same(text[at:last]) || clockEnd.MatchString(text)) && timeless(text[:at]) {
			rest = text[:at]
			for short := dangling.ReplaceAllString(rest, ""); short != rest; short = dangling.ReplaceAllString(rest, "") {
				rest = short
			}
		}
	}
	rest = strings.Trim(rest, " ,.;:!?，。；：！？")
	if utf8.RuneCountInString(rest) < 2 || unfinished.MatchString(rest) {
		return text
	}
	return rest
}

// dueAt returns a function that makes an intention due, if ok, and returns ok.
func dueAt(n *reasoner.Intention) func(d when.Due, ok bool) bool {
	return func(d when.Due, ok bool) bool {
		if ok {
			n.Due, n.Precision, n.Recurrence = d.Time, string(d.Precision), d.Recurrence
		}
		return ok
	}
}

// due returns when a sentence says that something is due: in the clause of a match, or else anywhere.
func (s *sentence) due(m *reasoner.Message, at pattern.Match) (when.Due, bool) {
	whole, ok := when.FindDue(s.text, m.Time)
	if at.End == 0 {
		return whole, ok
	}
	near, found := when.FindDue(s.clause(at), m.Time)
	if !found || !near.Dated || ok && (whole.Recurrence != "" || sameDay(whole.Time, near.Time)) {
		return whole, ok
	}
	return near, true
}

// dueNear returns when the i-th sentence says that something is due, or the sentences before or after it.
func dueNear(m *reasoner.Message, all []sentence, i int, at pattern.Match) (when.Due, bool) {
	own, ok := all[i].due(m, at)
	if ok && own.Dated && own.Precision != when.DueYear && (own.Recurrence == "" || strings.Contains(own.Recurrence, ";BY") || i == 0) {
		return own, true
	}
	text := all[i].text
	for before := i - 1; before >= max(0, i-maxBefore); before-- {
		text = all[before].text + " " + text
		if d, found := when.FindDue(text, m.Time); found && (d.Dated || !ok) && d.Precision != when.DueYear &&
			(own.Recurrence == "" || d.Recurrence == own.Recurrence && !d.Time.Equal(own.Time)) {
			return d, true
		}
	}
	if !ok && i+1 < len(all) {
		return when.FindDue(all[i+1].text, m.Time)
	}
	return own, ok
}

// clause returns the text around a match, up to the next commas.
func (s *sentence) clause(m pattern.Match) string {
	ends := func(i int) bool {
		return s.Tokens[i].Mark && strings.Contains(",;()–— ", s.Tokens[i].Lower)
	}
	from, to := m.Start, m.End
	for from > 0 && !ends(from-1) {
		from--
	}
	for to < len(s.Tokens) && !ends(to) {
		to++
	}
	return s.text[s.Tokens[from].Start:s.Tokens[to-1].End]
}

var (
	particle = regexp.MustCompile(`^(?:一下|一声|下(\P{Han}|$))`) // 提醒我一下
	leads    = regexp.MustCompile(`(?i)(?:(?:^|\b)(?:please|pls|and|so|can you|could you|can u)|你|记得|到时候|到时|千万|请|麻烦|劳烦|帮我|[ ,，])+$`)
)

// reminded returns what a person wants to be reminded of: what follows "to" or 提醒我, or else what precedes it, or the
// sentence before. Bare reports whether it is that.
func (s *sentence) reminded(m pattern.Match, all []sentence, i int) (what string, bare bool) {
	rest, before := s.text[s.Tokens[m.End-1].End:], s.text[:s.Tokens[m.Start].Start]
	parts := []string{rest, before}
	if !s.chinese() {
		parts = []string{"", before}
		if strings.HasSuffix(s.text[:s.Tokens[m.End-1].End], " to") {
			parts = []string{rest, before}
		}
		for _, word := range []string{" to ", " that ", " about ", ": "} {
			if _, what, ok := strings.Cut(" "+strings.TrimSpace(rest), word); ok {
				parts = []string{what, before}
				break
			}
		}
	}
	parts[0] = particle.ReplaceAllString(parts[0], "$1")
	for _, part := range parts {
		if strings.HasPrefix(part, "，") || strings.HasPrefix(part, ",") { // 提醒我，我老忘
			continue
		}
		part = strings.Trim(oneline.Of(part), " ,.;:!?，。；：！？吧哦啊呀哈呗")
		part = strings.TrimRight(leads.ReplaceAllString(part, ""), " ,，")
		if utf8.RuneCountInString(part) > 1 {
			return part, false
		}
	}
	if i > 0 {
		return oneline.Of(all[i-1].text), true
	}
	return oneline.Of(s.text), false
}

// from returns the text from a match on, up to a mark.
func (s *sentence) from(m pattern.Match) string {
	end := m.End
	for end < len(s.Tokens) && !s.Tokens[end].Mark {
		end++
	}
	return s.text[s.Tokens[m.Start].Start:s.Tokens[end-1].End]
}

// acts reports whether a sentence is a bare imperative of something that a person does in their own life, which an
// assistant can only remind of: "Thaw the turkey".
func (s *sentence) acts() bool {
	if s.chinese() {
		part := s.Len("due.part_of_day", 0)
		return part > 0 && s.Len("intend.act.zh", part) > 0 && !s.asksWithoutMark()
	}
	return s.Has("intend.act")
}

// maxAppointment is the maximum number of tokens of an appointment without a verb.
const maxAppointment = 14

// appointment reports whether an English sentence names something, a day and an hour, and says no more: "book club
// Thursday 8 pm".
func (s *sentence) appointment(m *reasoner.Message) bool {
	if s.chinese() || len(s.Tokens) > maxAppointment || s.Has("intend.no_appointment") || s.Has("time.behind") {
		return false
	}
	d, ok := when.FindDue(s.text, m.Time)
	return ok && d.Dated && d.Precision == when.DueMinute
}

// beginsWithTime reports whether a sentence begins with a time and goes on with something to do: 下周三交报告. In English that
// is an appointment or an hour: "Tomorrow, 11:45, the notary".
func (s *sentence) beginsWithTime() bool {
	if s.Has("time.behind") || !s.chinese() && !s.Has("intend.event") && !s.Has("due.clock") {
		return false
	}
	from := s.Len("intend.self", 0)
	n := max(s.Len("time", from), s.Len("due.day", from), s.Len("due.in", from), s.Len("due.every", from))
	return n > 0 && from+n < len(s.Tokens)
}
