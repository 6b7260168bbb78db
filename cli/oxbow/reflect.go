package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/worker"
)

func newReflectCommand(a *app) *cobra.Command {
	var flags workFlags
	var dryRun, asJSON bool
	cmd := &cobra.Command{
		Use:   "reflect USER",
		Short: "Reflect on a user's new memories now, or show what a reflection would do",
		Long: `Reflect on what is in a user's inbox, at once and whether or not it is due, and show what came of it. Workers may run
meanwhile. --dry-run shows the same and writes nothing; with a language model it shows the first batch alone.

Reflection counts time from its clock. For memories that lie in the past, --now sets it: "--now 2024-06-30" is the end of
that day in the user's time zone. No memory is later than the clock: one that is dated later counts as of its moment.`,
		Example: `  oxbow reflect ada --dry-run
  oxbow reflect 林 --now 2025-12-31`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.reflect(cmd.Context(), args[0], &flags, dryRun, asJSON)
		},
	}
	flags.embedding.add(cmd.Flags())
	flags.reasoner.add(cmd.Flags(), &flags.cfg)
	cmd.Flags().Lookup("now").Usage = "set the clock to a day's end (2025-12-31) or a time, in the user's time zone, for data that lies in the past"
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show what would be done, and write nothing")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, a cycle a line")
	return cmd
}

func (a *app) reflect(ctx context.Context, user string, flags *workFlags, dryRun, asJSON bool) error {
	dsn, err := a.dsn()
	if err != nil {
		return err
	}
	cfg, err := flags.config(dsn, a.logger())
	if err != nil {
		return err
	}
	var now time.Time
	if flags.reasoner.now != "" {
		cfg.Now = func() time.Time { return now }
	}
	w, err := worker.New(ctx, cfg)
	if err != nil {
		return err
	}
	defer w.Close()
	if err := seeAll(ctx, w.Pool(), "oxbow reflect"); err != nil {
		return err
	}
	if flags.reasoner.now != "" {
		if now, err = a.momentFor(ctx, w.Pool(), user, flags.reasoner.now); err != nil {
			return err
		}
	}
	report := &reflectReport{app: a, lines: asJSON}
	err = w.Reflect(ctx, user, dryRun, report.cycle)
	if out, ok := errors.AsType[*jobs.OptedOutError](err); ok {
		return fmt.Errorf("%w: nothing was done", out)
	}
	if err != nil || report.err != nil {
		return errors.Join(err, report.err)
	}
	if !asJSON {
		a.printf("%s\n", report.summary(dryRun))
	}
	memories, err := store.UserPresence(ctx, w.Pool(), user)
	switch {
	case err != nil:
		return err
	case !memories.Any:
		a.say("There are no memories of user %q.", user)
	case memories.Waiting > 0:
		a.say("%s %s to be embedded, and only then to be reflected on. Is a worker running? (oxbow work)",
			count(memories.Waiting, "memory", "memories"), waits(memories.Waiting))
	}
	return nil
}

// momentFor parses --now in the user's time zone, and reports how many memories are later.
func (a *app) momentFor(ctx context.Context, db store.DB, user, text string) (time.Time, error) {
	person, err := store.ReadPerson(ctx, db, user)
	if err != nil {
		return time.Time{}, err
	}
	now, err := endOf("now", text, person.Zone)
	if err != nil {
		return now, err
	}
	later, err := store.CountInboxAfter(ctx, db, user, now)
	if later > 0 {
		a.say("%s as of that moment.", count(later, "memory that waits for it is later than --now, and counts", "memories that wait for it are later than --now, and count"))
	}
	return now, err
}

// reflectReport prints the results of reflection cycles.
type reflectReport struct {
	*app
	lines                                                bool // JSON
	cycles, scanned, created, updated, dissolved, denied int
	err                                                  error
}

// shownEvent is an event in the report and its JSON.
type shownEvent struct {
	Trait      string          `json:"trait_id"`
	Content    string          `json:"content"`
	Subtype    string          `json:"subtype"`
	Event      lifecycle.Kind  `json:"event"`
	Stage      lifecycle.Stage `json:"stage"`
	Confidence *float64        `json:"confidence"`
	Memories   int             `json:"memories"`
	Context    string          `json:"context"`
	Reason     string          `json:"reason,omitzero"`
}

func (r *reflectReport) cycle(o jobs.Outcome) {
	r.cycles++
	r.scanned += o.Scanned
	r.created += o.Created
	r.updated += o.Updated
	r.dissolved += o.Dissolved
	r.denied += len(o.Dropped)
	var events []shownEvent
	for _, t := range o.Changes.Traits {
		content := t.Content
		if t.Reworded != "" {
			content = t.Reworded
		}
		for _, e := range t.Events {
			shown := shownEvent{Trait: t.ID.String(), Content: content, Subtype: string(t.State.Subtype), Event: e.Event, Stage: e.Stage,
				Confidence: e.Confidence, Memories: e.Memories, Context: t.Context}
			if e.Reason != nil {
				shown.Reason = *e.Reason
			}
			events = append(events, shown)
		}
	}
	if r.lines {
		r.err = errors.Join(r.err, json.NewEncoder(r.out).Encode(map[string]any{"cycle_id": o.Cycle, "review": o.Review, "memories_scanned": o.Scanned, "traits_created": o.Created,
			"traits_updated": o.Updated, "traits_dissolved": o.Dissolved, "events": events, "dropped": o.Dropped, "clues": len(o.Changes.Clues)}))
		return
	}
	r.print(o, events)
}

func (r *reflectReport) print(o jobs.Outcome, events []shownEvent) {
	what := fmt.Sprintf("Cycle %d: %s", r.cycles, counted(o.Scanned, "memory", "memories"))
	if o.Review {
		what = fmt.Sprintf("Cycle %d: a contradiction is reviewed", r.cycles)
	}
	r.printf("%s; %s noted for later\n", what, counted(len(o.Changes.Clues), "clue", "clues"))
	if len(events) > 0 {
		t := newTable("event", "trait", "subtype", "stage", "confidence", "memories", "why")
		for _, e := range events {
			confidence := ""
			if e.Confidence != nil {
				confidence = fmt.Sprintf("%.2f", *e.Confidence)
			}
			t.add(string(e.Event), e.Content, e.Subtype, string(e.Stage), confidence, fmt.Sprint(e.Memories), e.Reason)
		}
		r.err = errors.Join(r.err, t.print(r.out))
	}
	for _, d := range o.Dropped {
		r.printf("not followed: %s: %s\n", d.Reason, printable(store.Shorten(d.What, 200)))
	}
}

func (r *reflectReport) summary(dryRun bool) string {
	if r.cycles == 0 {
		return "Nothing waits to be reflected on."
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s made, %d changed, %d dissolved", counted(r.scanned, "memory", "memories"), counted(r.created, "trait", "traits"), r.updated, r.dissolved)
	if r.denied > 0 {
		fmt.Fprintf(&b, ", %s not followed", counted(r.denied, "proposal", "proposals"))
	}
	b.WriteString(".")
	if dryRun {
		b.WriteString(" This was a dry run: nothing was written.")
	}
	return b.String()
}

// counted formats a number with its noun.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
