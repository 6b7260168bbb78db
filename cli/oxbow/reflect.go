package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/oneline"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/worker"
)

func reflectCommand(a *app) *cobra.Command {
	var flags workFlags
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "reflect USER",
		Short: "Reflect on a user's new memories now, or preview the result",
		Long: `Reflect on the memories in a user's inbox immediately, even if reflection is not due, and show the result.
Workers may run meanwhile. --dry-run shows the result and writes nothing; with a language model, it previews
only the first batch.

For imported history, --now sets the reflection clock: "--now 2024-06-30" is the end of that day in the user's
time zone. Memories with a later time count as of the clock.`,
		Example: `  oxbow reflect ada --dry-run
  oxbow reflect 林 --now 2025-12-31`,
		Args: cobra.ExactArgs(1),
	}
	f := cmd.Flags()
	flags.embedding.add(f)
	flags.reasoner.add(f, &flags.cfg)
	f.Lookup("now").Usage = "set the reflection clock to this time or to the end of this period, in the user's time zone"
	f.BoolVar(&dryRun, "dry-run", false, "show the result without writing it")
	f.BoolVar(&a.json, "json", false, "print JSON, one line per cycle")
	cmd.RunE = a.needsDatabase(func(cmd *cobra.Command, args []string) error {
		return a.reflect(cmd.Context(), args[0], &flags, dryRun)
	})
	return cmd
}

func (a *app) reflect(ctx context.Context, userID string, flags *workFlags, dryRun bool) error {
	cfg := flags.config(a.databaseURL, a.logger())
	var now time.Time
	if cfg.Now != nil {
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
	if cfg.Now != nil {
		if now, err = a.reflectionClock(ctx, w.Pool(), userID, flags.reasoner.now); err != nil {
			return err
		}
	}
	report := &reflectReport{app: a}
	err = w.Reflect(ctx, userID, dryRun, report.cycle)
	if optedOut, ok := errors.AsType[*jobs.OptedOutError](err); ok {
		return fmt.Errorf("%w: nothing was changed", optedOut)
	}
	if err = errors.Join(err, report.err); err != nil {
		return err
	}
	if !a.json {
		a.printf("%s\n", report.summary(dryRun))
	}
	memories, err := store.UserPresence(ctx, w.Pool(), userID)
	switch {
	case err != nil:
		return err
	case !memories.Any:
		a.say("User %q has no memories.", userID)
	case memories.Waiting > 0:
		a.say("%s not embedded yet. Is a worker running (oxbow work)?", count(memories.Waiting, "memory"))
	}
	return nil
}

// reflectionClock reads --now in the user's time zone, and reports how many memories are later.
func (a *app) reflectionClock(ctx context.Context, db store.DB, userID string, at *moment) (time.Time, error) {
	person, err := store.ReadPerson(ctx, db, userID)
	if err != nil {
		return time.Time{}, err
	}
	now := at.end(person.Zone)
	later, err := store.CountInboxAfter(ctx, db, userID, now)
	if later > 0 {
		a.say("Later than --now, and counted as of --now: %s.", count(later, "memory"))
	}
	return now, err
}

// reflectReport prints the results of reflection cycles.
type reflectReport struct {
	*app
	cycles, scanned, created, updated, dissolved, dropped int
	err                                                   error
}

// reflectEvent is an event in the report and its JSON.
type reflectEvent struct {
	Trait      uuid.UUID       `json:"trait_id"`
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
	r.dropped += len(o.Dropped)
	var events []reflectEvent
	for _, t := range o.Changes.Traits {
		for _, e := range t.Events {
			event := reflectEvent{Trait: t.ID, Content: cmp.Or(t.Reworded, t.Content), Subtype: string(t.State.Subtype),
				Event: e.Event, Stage: e.Stage, Confidence: e.Confidence, Memories: e.Memories, Context: t.Context}
			if e.Reason != nil {
				event.Reason = *e.Reason
			}
			events = append(events, event)
		}
	}
	if r.json {
		err := json.NewEncoder(r.out).Encode(map[string]any{
			"cycle_id": o.Cycle, "review": o.Review, "memories_scanned": o.Scanned, "events": events,
			"traits_created": o.Created, "traits_updated": o.Updated, "traits_dissolved": o.Dissolved,
			"dropped": o.Dropped, "clues": len(o.Changes.Clues)})
		r.err = errors.Join(r.err, err)
		return
	}
	r.print(o, events)
}

func (r *reflectReport) print(o jobs.Outcome, events []reflectEvent) {
	what := count(o.Scanned, "memory")
	if o.Review {
		what = "contradiction review"
	}
	r.printf("Cycle %d: %s; %s kept for later\n", r.cycles, what, count(len(o.Changes.Clues), "clue"))
	t := r.table("event", "trait", "subtype", "stage", "confidence", "memories", "why")
	for _, e := range events {
		confidence := ""
		if e.Confidence != nil {
			confidence = fmt.Sprintf("%.2f", *e.Confidence)
		}
		t.add(e.Event, e.Content, e.Subtype, e.Stage, confidence, e.Memories, e.Reason)
	}
	if len(events) > 0 {
		t.print()
	}
	for _, d := range o.Dropped {
		r.printf("rejected: %s: %s\n", d.Reason, printable(oneline.Shorten(d.What, 200)))
	}
}

func (r *reflectReport) summary(dryRun bool) string {
	if r.cycles == 0 {
		return "No memories to reflect on."
	}
	text := fmt.Sprintf("%s: %s created, %d changed, %d dissolved",
		count(r.scanned, "memory"), count(r.created, "trait"), r.updated, r.dissolved)
	if r.dropped > 0 {
		text += ", " + count(r.dropped, "proposal") + " rejected"
	}
	if dryRun {
		text += ". Dry run: nothing was written"
	}
	return text + "."
}
