package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/eval"
	"github.com/oxbow-memory/oxbow/store"
)

// livesReport is what an evaluation of lives found.
type livesReport struct {
	Lives  int          `json:"lives"`
	Held   int          `json:"held"`
	Failed []failedLife `json:"failed,omitempty"`
}

// failedLife is a life of which checks do not hold, with what was found instead.
type failedLife struct {
	Life    string   `json:"life"`
	Promise string   `json:"promise"`
	Found   []string `json:"found"`
}

// lives plays lives: round by round the steps of all, each round followed by the work that it causes.
type lives struct {
	*evaluation
	now time.Time
	all []*playedLife
}

// playedLife is a life and its memories so far.
type playedLife struct {
	eval.Life
	user  string
	named map[string]uuid.UUID // memories by the names of the steps
}

// evalLives plays the lives of a file for temporary users and reports which checks hold.
func (a *app) evalLives(ctx context.Context, run *evaluation) error {
	read, err := eval.ReadLives(bytes.NewReader(run.file))
	if err != nil {
		return fmt.Errorf("%s: %w", run.name, err)
	}
	r := &lives{evaluation: run, now: time.Now()}
	run.loaded = int64(len(read))
	for _, l := range read {
		p := &playedLife{Life: l, user: run.prefix + l.Name, named: map[string]uuid.UUID{}}
		r.all, run.users = append(r.all, p), append(run.users, p.user)
	}
	report, err := r.play(ctx)
	if err := run.end(ctx, err); err != nil {
		return err
	}
	if err := a.output(report, func() { a.printLives(r, report) }); err != nil {
		return err
	}
	if len(report.Failed) > 0 {
		return fmt.Errorf("the checks of %d of %d lives do not hold", len(report.Failed), report.Lives)
	}
	return nil
}

func (r *lives) play(ctx context.Context) (report livesReport, err error) {
	rounds := 0
	for _, l := range r.all {
		rounds = max(rounds, len(l.Steps))
		if err := store.SetForgetting(ctx, r.pool, l.user, l.Forgetting); err != nil {
			return report, err
		}
	}
	bar := r.progress("play (rounds)", int64(rounds))
	defer bar.end()
	for i := range rounds {
		for _, l := range r.all {
			if i < len(l.Steps) {
				if err := r.step(ctx, l, l.Steps[i], fmt.Sprintf("step %d", i+1)); err != nil {
					return report, fmt.Errorf("%s, step %d: %w", l.Name, i+1, err)
				}
			}
		}
		if err := r.worker.RunUntilIdle(ctx, func(store.Backlog) {}); err != nil {
			return report, err
		}
		bar.add(1)
	}
	report.Lives = len(r.all)
	for _, l := range r.all {
		found, err := r.check(ctx, l)
		if err != nil {
			return report, fmt.Errorf("%s: %w", l.Name, err)
		}
		if len(found) > 0 {
			report.Failed = append(report.Failed, failedLife{l.Name, l.Promise, found})
		}
	}
	report.Held = report.Lives - len(report.Failed)
	return report, nil
}

// step lets one thing happen, at the time of the step.
func (r *lives) step(ctx context.Context, l *playedLife, s eval.Step, session string) (err error) {
	at := r.now.Add(-time.Duration(s.Ago))
	ids := func(names []string) (list []uuid.UUID) {
		for _, name := range names {
			list = append(list, l.named[name])
		}
		return list
	}
	switch {
	case s.Insert != "":
		l.named[s.As], err = store.InsertAt(ctx, r.pool, l.user, at, store.PastMemory{Type: s.Type,
			Content: s.Insert, Category: s.Category, Tier: s.Tier, Importance: s.Importance,
			Sensitivity: s.Sensitivity})
	case s.Say != "":
		_, err = r.client.AddMessages(ctx, []oxbow.NewMessage{{UserID: l.user, SessionID: session, Content: s.Say,
			At: at}})
		if err == nil {
			err = r.worker.Extract(ctx, l.user, session, func(int) {})
		}
		if err == nil && s.Fact != "" {
			l.named[s.As], err = store.SaidIn(ctx, r.pool, l.user, session, s.Fact)
		}
	case s.Correct != "":
		l.named[s.As], err = r.client.Supersede(ctx, l.user, l.named[s.Of], oxbow.Replacement{Content: s.Correct})
	case s.Use != nil || s.Return != nil:
		err = store.Touch(ctx, r.pool, l.user, ids(append(s.Use, s.Return...)), s.Use != nil, at)
	default:
		for _, id := range ids(s.Forget) {
			if err := r.client.Forget(ctx, l.user, id, ""); err != nil {
				return err
			}
		}
		for _, id := range ids(s.Restore) {
			if err := r.client.Restore(ctx, l.user, id); err != nil {
				return err
			}
		}
	}
	return err
}

// check returns, for each check of a life that does not hold, what was found.
func (r *lives) check(ctx context.Context, l *playedLife) (found []string, err error) {
	state, err := store.States(ctx, r.pool, l.user)
	if err != nil {
		return nil, err
	}
	names := map[uuid.UUID]string{}
	for name, id := range l.named {
		names[id] = name
	}
	of := func(name string) store.State { return state[l.named[name]] }
	wrong := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	for _, c := range l.Checks {
		if c.Query != "" {
			q := oxbow.Query{UserID: l.user, Text: c.Query, Limit: 10, Mode: oxbow.Mode(c.Mode)}
			if c.AsOf != nil {
				q.ValidAsOf = r.now.Add(-time.Duration(*c.AsOf))
			}
			got, err := r.client.Recall(ctx, q)
			if err != nil {
				return nil, err
			}
			var list []string
			for _, m := range got.Memories {
				list = append(list, names[m.ID])
			}
			if !recalledAs(c, list) {
				wrong("%q found %s", c.Query, strings.Join(list, " "))
			}
		}
		for i := range len(c.Heavier) - 1 {
			if a, b := of(c.Heavier[i]), of(c.Heavier[i+1]); a.Weight <= b.Weight {
				wrong("%s weighs %.4f and %s %.4f", c.Heavier[i], a.Weight, c.Heavier[i+1], b.Weight)
			}
		}
		for _, name := range c.Current {
			if !of(name).Current {
				wrong("%s has ended", name)
			}
		}
		for _, name := range c.Ended {
			if of(name).Current {
				wrong("%s is current", name)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(c.Mentions)) {
			if got := of(name).Mentions; got != c.Mentions[name] {
				wrong("%s has %s", name, count(got, "mention"))
			}
		}
		for _, name := range slices.Sorted(maps.Keys(c.Tier)) {
			if got := of(name).Tier; got != c.Tier[name] {
				wrong("%s has the tier %s", name, got)
			}
		}
	}
	return found, nil
}

// recalledAs reports whether the results, by name, are as a check demands.
func recalledAs(c eval.Check, list []string) bool {
	last := -1
	for _, name := range c.Order {
		at := slices.Index(list, name)
		if at <= last {
			return false
		}
		last = at
	}
	alike := 0
	for _, name := range list[:min(5, len(list))] {
		if slices.Contains(c.Of, name) {
			alike++
		}
	}
	return (c.First == "" || len(list) > 0 && list[0] == c.First) && (c.Variety == 0 || alike <= c.Variety) &&
		!slices.ContainsFunc(c.Absent, func(name string) bool { return slices.Contains(list, name) })
}

func (a *app) printLives(r *lives, report livesReport) {
	type tally struct{ lives, held int }
	kinds := map[string]*tally{}
	for _, l := range r.all {
		if kinds[l.Kind()] == nil {
			kinds[l.Kind()] = &tally{}
		}
		kinds[l.Kind()].lives++
		kinds[l.Kind()].held++
	}
	for _, f := range report.Failed {
		l := eval.Life{Name: f.Life}
		kinds[l.Kind()].held--
		a.printf("%s: %s\n", f.Life, f.Promise)
		for _, what := range f.Found {
			a.printf("  %s\n", what)
		}
	}
	t := a.table("lives", "#held", "#of")
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		t.add(kind, kinds[kind].held, kinds[kind].lives)
	}
	t.add("all", report.Held, report.Lives)
	t.print()
}
