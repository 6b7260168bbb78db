package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// phrase is a message to an assistant, and what is meant by it.
type phrase struct {
	ID         int
	Lang, Text string
	Does       string    // instruct, end: of an instruction
	Said       time.Time // in the zone of the person
	DueDate    string    `json:"due_date"` // or between these two days
	DueFrom    string    `json:"due_from"`
	DueTo      string    `json:"due_to"`
	DueTime    string    `json:"due_time"` // empty: any
	Repeats    string    // none, daily, weekly, monthly, yearly
}

// tally counts phrases by what is meant and by language.
type tally struct {
	all, right map[string]int
	wrong      []string
}

func (t tally) String() string {
	var b strings.Builder
	for _, what := range slices.Sorted(maps.Keys(t.all)) {
		fmt.Fprintf(&b, "%s: %d of %d\n", what, t.right[what], t.all[what])
	}
	return b.String()
}

// score counts the phrases of which the rules hear what is meant.
func score(phrases []phrase, judge func(*phrase) (what, wrong string)) tally {
	t := tally{all: map[string]int{}, right: map[string]int{}}
	for i := range phrases {
		p := &phrases[i]
		what, wrong := judge(p)
		for _, what := range []string{what, what + " " + p.Lang} {
			if t.all[what]++; wrong == "" {
				t.right[what]++
			}
		}
		if wrong != "" {
			t.wrong = append(t.wrong, fmt.Sprintf("%s %d: %s: %s", what, p.ID, wrong, p.Text))
		}
	}
	return t
}

// instructed returns the kinds of the instructions heard in a message: instruct, end.
func instructed(x reasoner.Extraction) (kinds []string) {
	for _, n := range x.Instructions {
		kind := "instruct"
		if n.Ends {
			kind = "end"
		}
		kinds = append(kinds, kind)
	}
	return kinds
}

// instruction judges what is heard of an instruction: that, and nothing of the other kind.
func instruction(p *phrase) (what, wrong string) {
	kinds := slices.Compact(slices.Sorted(slices.Values(instructed(heard(p.Text, time.Now())))))
	if slices.Equal(kinds, []string{p.Does}) {
		return p.Does, ""
	}
	return p.Does, fmt.Sprint("heard ", kinds)
}

// nothing judges a message that neither instructs nor asks for a reminder.
func nothing(p *phrase) (what, wrong string) {
	x := heard(p.Text, time.Now())
	kinds := instructed(x)
	for _, n := range x.Intentions {
		if n.Kind == "reminder" && n.Closes == "" {
			kinds = append(kinds, n.Kind)
		}
	}
	if len(kinds) > 0 {
		wrong = fmt.Sprint("heard ", kinds)
	}
	return "nothing", wrong
}

// reminder judges the times of what a message plans or wants to be reminded of.
func reminder(p *phrase) (what, wrong string) {
	var times []string
	for _, n := range heard(p.Text, p.Said).Intentions {
		if n.Closes != "" || n.Due.IsZero() {
			continue
		}
		if p.due(&n) {
			return "reminder", ""
		}
		times = append(times, n.Due.Format("2006-01-02 15:04 ")+n.Recurrence)
	}
	return "reminder", fmt.Sprintf("heard %q", times)
}

// due reports whether an intention has the time that is meant.
func (p *phrase) due(n *reasoner.Intention) bool {
	day, clock := n.Due.Format(time.DateOnly), n.Due.Format("15:04")
	from, to := cmp.Or(p.DueFrom, p.DueDate), cmp.Or(p.DueTo, p.DueDate)
	return day >= from && day <= to && (p.DueTime == "" || n.Precision == "minute" && clock == p.DueTime) &&
		n.Recurrence == "" == (p.Repeats == "none") &&
		(n.Recurrence == "" || strings.Contains(n.Recurrence+";", "FREQ="+strings.ToUpper(p.Repeats)+";"))
}
