package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/traittest"
)

// The tables of the page, by the name in their markers.
var tables = map[string]func() string{
	"life":  func() string { return lifeTable(tell(story)) },
	"rates": ratesTable,
	"kinds": evidenceTable,
}

func lifeTable(moments []moment) string {
	var b strings.Builder
	b.WriteString("| | day | event | evidence | effect | before | after | stage | next change |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|\n")
	for i, m := range moments {
		fmt.Fprintf(&b, "| %d | %s | %s | %s | %s | %s | %s | %s | %s |\n", i+1, m.at.Format(time.DateOnly), m.event,
			m.says, m.counted,
			confidence(traittest.Policies.ConfidenceAt(m.before, m.at)), confidence(m.after.Confidence),
			or(string(m.after.Stage)), next(m.after))
	}
	return b.String()
}

func confidence(c float64) string {
	if c == 0 {
		return "–"
	}
	return fmt.Sprintf("%.4f", c)
}

func or(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

func next(s lifecycle.State) string {
	at := traittest.Policies.NextTransition(s)
	if at.IsZero() {
		return "–"
	}
	return fmt.Sprintf("%s: %s", at.Format(time.DateOnly), traittest.Policies.StageAt(s, at))
}

// ratesTable shows the decay without evidence: the rate per day, the half-life, and the time from 0.85 to below 0.05.
func ratesTable() string {
	var b strings.Builder
	b.WriteString("| subtype | n | λ, a day | half is left after | from 0.85 to below 0.05 |\n|---|---|---|---|---|\n")
	at := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, subtype := range []lifecycle.Subtype{lifecycle.Behavior, lifecycle.Preference, lifecycle.CoreTrait} {
		for _, n := range []int{0, 1, 5, 10} {
			s := lifecycle.State{Subtype: subtype, Stage: lifecycle.Established, Confidence: 0.85, At: at,
				Reinforcements: n}
			for s.Stage != lifecycle.Dissolved {
				e, _ := traittest.Policies.Follow(s, traittest.Policies.NextTransition(s))
				s = traittest.Policies.Apply(s, e)
			}
			half := 0
			for traittest.Policies.Decay(1, subtype, n, time.Duration(half)*24*time.Hour) > 0.5 {
				half++
			}
			fmt.Fprintf(&b, "| %s | %d | %.6f | %d days | %.1f years |\n", subtype, n,
				traittest.Policies.Rate(subtype, n), half, s.At.Sub(at).Hours()/24/365.2425)
		}
	}
	return b.String()
}

// evidenceTable shows the effect of evidence on a trait at 0.40 and at 0.80.
func evidenceTable() string {
	var b strings.Builder
	b.WriteString("| evidence of one cycle | factor | 0.40 becomes | 0.80 becomes |\n|---|---|---|---|\n")
	row := func(what string, e lifecycle.Event) {
		became := func(c float64) float64 {
			return traittest.Policies.Replay([]lifecycle.Event{{Kind: lifecycle.Created, Subtype: lifecycle.Behavior,
				Sets: c}, e}).Confidence
		}
		fmt.Fprintf(&b, "| %s | %.4g | %.4f | %.4f |\n", what, e.Factor, became(0.40), became(0.80))
	}
	for _, k := range []struct {
		what     string
		sessions []lifecycle.Quality
	}{
		{"A: a second context", []lifecycle.Quality{lifecycle.QualityA}},
		{"B: said outright", []lifecycle.Quality{lifecycle.QualityB}},
		{"C: another conversation", []lifecycle.Quality{lifecycle.QualityC}},
		{"C and C: two other conversations", []lifecycle.Quality{lifecycle.QualityC, lifecycle.QualityC}},
		{"D: the same conversation, or inferred", []lifecycle.Quality{lifecycle.QualityD}},
	} {
		sessions := map[string]lifecycle.Quality{}
		for i, q := range k.sessions {
			sessions[fmt.Sprint(i)] = q
		}
		row(k.what, lifecycle.Event{Kind: lifecycle.Reinforced, Factor: traittest.Policies.Reinforcement(sessions)})
	}
	row("used in a reply, once a day", lifecycle.Event{Kind: lifecycle.Used, Factor: traittest.Policies.FactorUsed})
	for n, what := range []string{"1 memory against", "2 memories against", "3 or more against"} {
		row(what, lifecycle.Event{Kind: lifecycle.Contradicted, Factor: traittest.Policies.Contradiction(n + 1),
			Count: n + 1})
	}
	return b.String()
}
