package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/traittest"
)

// The life of one trait of an invented person: Ilse, a joiner, who talks with an assistant about her work.

const (
	traitName    = "Sketches on paper first"
	revisedTrait = "Sketches on paper first when the shape is new to her"
)

// memory is one thing that Ilse said, as evidence.
type memory struct {
	session, context string
	stated           bool // stated explicitly about herself
	text             string
}

// step is what happens on one day. Without memories, reviewed or used, nothing happens but time.
type step struct {
	day      string
	says     []memory
	against  bool // the memories speak against the trait
	reviewed bool
	used     bool
	labels   []label // of the moments that it makes, in their order
}

// label is the text at a moment, and its offset from the point in pixels.
type label struct {
	text   string
	dx, dy float64
	end    bool // the text ends there
}

var story = []step{
	{day: "2020-01-09", says: []memory{{"stairs", "work", false,
		"Drew the stairs on a paper bag before she touched the saw."}},
		labels: []label{{"clue", -4, -30, false}}},
	{day: "2020-01-21", says: []memory{{"kitchen", "work", false,
		"Three sheets of sketches for a kitchen before she ordered wood."}},
		labels: []label{{"trend", 2, -46, false}}},
	{day: "2020-02-04", says: []memory{{"window seat", "work", false,
		"Sketched a window seat at the customer's table."}},
		labels: []label{{"seen again", 6, -62, false}}},
	{day: "2020-02-17", says: []memory{{"bookcase", "work", false, "Went through four drawings for a bookcase."}},
		labels: []label{{"and again", 14, 4, false}, {"candidate", 0, 20, true}}},
	{day: "2020-03-10", says: []memory{{"door", "work", false, "Could not start on a door: the pencil was lost."}},
		labels: []label{{"emerging", -12, -14, true}}},
	{day: "2020-04-07", says: []memory{{"apprentice", "work", true, "“I can't think without a pencil.”"}},
		labels: []label{{"said outright", -12, -14, true}}},
	{day: "2020-04-28", says: []memory{{"shed", "personal", false,
		"Drew her own garden shed on the back of a letter."}},
		labels: []label{{"at home too", -12, -14, true}}},
	{day: "2020-05-19", used: true,
		labels: []label{{"used in a reply", 6, 24, false}}},
	{day: "2020-06-09", says: []memory{{"bench", "work", false, "Drew a bench from three sides."},
		{"gate", "work", false, "Sketched a gate on the van's window."}},
		labels: []label{{"established", -12, -14, true}}},
	{day: "2020-06-30", says: []memory{{"course", "learning", false,
		"Drew each joint of the course before she read how it is cut."}},
		labels: []label{{"when learning too", -12, -14, true}}},
	{day: "2020-07-21", says: []memory{{"counter", "work", true, "“Paper first, always.”"},
		{"lamp", "personal", false, "Sketched a lamp for her sister."}},
		labels: []label{{"said again", -12, -9, true}}},
	{day: "2020-08-11", says: []memory{{"altar", "work", false, "Two evenings of drawing for an altar rail."},
		{"chest", "work", false, "Drew a chest at full size."}, {"ramp", "work", false, "A ramp, first on paper."}},
		labels: []label{{"three conversations", -12, -6, true}}},
	{day: "2020-09-01", says: []memory{{"birthday", "social", false,
		"Explained a joke at a birthday with a drawing on a napkin."}, {"pergola", "work", false,
		"A pergola, seen from above and from the side."}, {"cradle", "work", false,
		"Drew a cradle while the customer talked."}},
		labels: []label{{"with friends too: core", -12, -8, true}}},
	{day: "2020-09-15", says: []memory{{"mirror", "work", true, "“I draw it until it is built already.”"},
		{"roof", "personal", false, "Sketched the roof of the shed anew."}},
		labels: []label{{"said again", 10, -10, false}}},
	{day: "2021-03-16", says: []memory{{"table", "work", false, "Built a table off the cutting list."},
		{"shelf", "work", false, "Cut a shelf by eye."}, {"crate", "personal", false,
			"Knocked a crate together without a line drawn."}, {"tray", "personal", false, "A tray, by feel."}},
		against: true,
		labels:  []label{{"four against", -12, 20, true}}},
	{day: "2021-06-08", says: []memory{{"frames", "work", false, "Made ten frames from memory."},
		{"box", "personal", false, "A box for the cat, straight from the plank."}, {"hooks", "work", false,
			"Turned the coat hooks without a sketch."}, {"drawer", "work", false, "A drawer, as always."}, {"stool",
			"work", false, "Six stools after the first one."}}, against: true,
		labels: []label{{"five more against", -12, -2, true}}},
	{day: "2021-06-08", reviewed: true,
		labels: []label{{"reviewed, reworded", -12, 14, true}}},
	{day: "2021-08-10", says: []memory{{"pulpit", "work", false, "Filled a pad before a pulpit with eight sides."},
		{"dome", "work", false, "Folded a dome out of card."}},
		labels: []label{{"fits the new wording", -10, -14, true}}},
	{day: "2021-09-21", says: []memory{{"spiral", "work", true, "“A spiral I have to draw, a shelf I don't.”"}},
		labels: []label{{"said outright", 12, -10, false}}},
	// Years pass without a memory of it.
	{day: "2025-03-04", says: []memory{{"boat", "personal", false,
		"Lofted a rowing boat on wallpaper before she bought the larch."}},
		labels: []label{{"revived", -14, -12, true}}},
	{day: "2025-04-22", says: []memory{{"oars", "personal", true, "“Every boat begins on paper.”"}},
		labels: []label{{"emerging again", -14, -8, true}}},
	{day: "2025-12-31"},
}

// byTime holds the labels of changes by time.
var byTime = map[lifecycle.Stage]label{
	lifecycle.Established: {"established", 12, -6, false},
	lifecycle.Emerging:    {"emerging", 12, -6, false},
	lifecycle.Candidate:   {"candidate", 8, -10, false},
	lifecycle.Dissolved:   {"dissolved", 0, -14, false},
}

// moment is an event of the trait, with the states before and after it.
type moment struct {
	at            time.Time
	event         string // the kind of event; clue
	says          string
	counted       string // the evidence, as it counted
	before, after lifecycle.State
	label         label
}

// teller computes the story with the functions that reflection uses.
type teller struct {
	moments                   []moment
	state                     lifecycle.State
	seen                      lifecycle.Seen
	first                     time.Time
	supporting, contradicting int
	labels                    []label
}

func tell(steps []step) []moment {
	var t teller
	for _, s := range steps {
		now, err := time.Parse(time.DateOnly, s.day)
		if err != nil {
			panic(err)
		}
		now = now.Add(20 * time.Hour) // in the evening
		t.pass(now)
		t.labels = s.labels
		switch {
		case s.used:
			t.happens(lifecycle.Event{Kind: lifecycle.Used, At: now, Factor: traittest.Policies.FactorUsed},
				"A reply used it.", share("of the doubt", traittest.Policies.FactorUsed))
		case s.reviewed:
			t.review(now)
		case s.against:
			t.contradict(now, s.says)
		case len(s.says) > 0:
			t.support(now, s.says)
		}
	}
	return t.moments
}

// pass applies the effects of time up to a moment.
func (t *teller) pass(now time.Time) {
	for next := traittest.Policies.NextTransition(t.state); !next.IsZero() &&
		next.Before(now); next = traittest.Policies.NextTransition(t.state) {
		e, ok := traittest.Policies.Follow(t.state, next)
		if !ok {
			panic(fmt.Sprintf("nothing is due at %s", next))
		}
		after := traittest.Policies.Apply(t.state, e)
		t.labels = []label{byTime[after.Stage]}
		t.happens(e, fmt.Sprintf("No new evidence: it fades from %s to %s.", t.state.Stage, after.Stage),
			"time alone")
	}
}

func (t *teller) happens(e lifecycle.Event, says, counted string) {
	m := moment{at: e.At, event: string(e.Kind), says: says, counted: counted, before: t.state,
		after: traittest.Policies.Apply(t.state, e)}
	if len(t.labels) > 0 {
		m.label, t.labels = t.labels[0], t.labels[1:]
	}
	t.state = m.after
	t.moments = append(t.moments, m)
}

func (t *teller) support(now time.Time, says []memory) {
	best := map[string]lifecycle.Quality{}
	var texts, grades []string
	for _, m := range says {
		q := t.seen.Grade(m.session, m.context, m.stated, false)
		if old, there := best[m.session]; !there || q < old { // A is better than B
			best[m.session] = q
		}
		texts = append(texts, m.text)
		grades = append(grades, string(q))
	}
	for _, m := range says {
		t.seen.Add(m.session, m.context)
	}
	t.supporting += len(says)
	if t.first.IsZero() {
		t.first = now
	}
	text := strings.Join(texts, " ")
	factor := traittest.Policies.Reinforcement(best)
	counted := strings.Join(grades, " + ") + ": " + share("of the doubt", factor)
	switch t.state.Stage {
	case "":
		e, ok := traittest.Policies.NewPattern(now, t.supporting, t.seen.Sessions(), now.Sub(t.first), false)
		if !ok {
			t.moments = append(t.moments, moment{at: now, event: "clue", says: text,
				counted: "one conversation: nothing is inferred", label: t.labels[0]})
			return
		}
		t.happens(e, text, fmt.Sprintf("%d memories, %d conversations, %.0f days", t.supporting, t.seen.Sessions(),
			now.Sub(t.first).Hours()/24))
	case lifecycle.Dissolved:
		t.happens(traittest.Policies.Revive(now), text, "new evidence")
	case lifecycle.Trend:
		t.happens(lifecycle.Event{Kind: lifecycle.Reinforced, At: now, Factor: factor}, text,
			fmt.Sprintf("cycle %d inside the window", t.state.Reinforcements+1))
		if e, ok := traittest.Policies.Follow(t.state, now); ok {
			t.happens(e, "The trend lasted, and becomes a candidate at once.",
				fmt.Sprintf("%d cycles", t.state.Reinforcements))
		}
	default:
		t.happens(lifecycle.Event{Kind: lifecycle.Reinforced, At: now, Factor: factor}, text, counted)
	}
}

func (t *teller) contradict(now time.Time, says []memory) {
	var texts []string
	for _, m := range says {
		texts = append(texts, m.text)
	}
	n := len(says)
	t.contradicting += n
	factor := traittest.Policies.Contradiction(n)
	counted := fmt.Sprintf("%d against: %s; %d of %d in all", n, share("of the confidence", factor), t.contradicting,
		t.supporting+t.contradicting)
	if traittest.Policies.ReviewDue(t.supporting, t.contradicting, n) {
		counted += ": a review is due"
	}
	t.happens(lifecycle.Event{Kind: lifecycle.Contradicted, At: now, Factor: factor, Count: n},
		strings.Join(texts, " "), counted)
}

func (t *teller) review(now time.Time) {
	c := lifecycle.Reviewed(traittest.Policies.ConfidenceAt(t.state, now), t.supporting, t.contradicting)
	t.happens(lifecycle.Event{Kind: lifecycle.Revised, At: now, Sets: c},
		"The review rewords it: “"+revisedTrait+".”",
		fmt.Sprintf("%d of %d memories support it", t.supporting, t.supporting+t.contradicting))
}

func share(of string, factor float64) string { return fmt.Sprintf("%.4g %s", factor, of) }
