package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/eval"
	"github.com/oxbow-memory/oxbow/internal/sensitive"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/worker"
)

type evalTraitsFlags struct {
	work       workFlags
	json, keep bool
}

func newEvalTraitsCommand(a *app) *cobra.Command {
	var flags evalTraitsFlags
	cmd := &cobra.Command{
		Use:   "eval-traits RECORDS PERSONAS",
		Short: "Measure reflection with people whose interests are known",
		Long: `Measure reflection with the records of people whose interests are known. RECORDS is a file as "oxbow eval" takes, of which
the memories are used; PERSONAS is a JSON object:

  {"USER": {"name": N, "interests": [{"kind": K, "name": N, "match": [WORD, …]}, …]}, …}

It loads the memories under users of its own, embeds them, and reflects on each person with the clock at the end of the
person's records. An interest is seen when a trait of stage emerging or higher contains one of its words; a trait counts for
one interest. It prints what was seen and missed, and traits in sensitive categories, of which there must be none. In the
end it erases what it loaded. No worker should run on the database meanwhile: its clock is another.`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.evalTraits(cmd.Context(), args[0], args[1], &flags)
		},
	}
	cmd.Flags().BoolVar(&flags.json, "json", false, "print JSON")
	cmd.Flags().BoolVar(&flags.keep, "keep", false, "do not erase what was loaded, to look at it")
	flags.work.embedding.add(cmd.Flags())
	flags.work.reasoner.add(cmd.Flags(), &flags.work.cfg)
	_ = cmd.Flags().MarkHidden("now") // it follows the records
	return cmd
}

func (a *app) evalTraits(ctx context.Context, records, people string, flags *evalTraitsFlags) error {
	personas, err := a.readPersonas(ctx, people)
	if err != nil {
		return err
	}
	in, _, err := a.open(ctx, records)
	if err != nil {
		return err
	}
	defer in.Close()
	file, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("%s cannot be read: %w", shownName(records), err)
	}
	set, err := eval.Read(bytes.NewReader(file))
	if err != nil {
		return fmt.Errorf("%s: %w", shownName(records), err)
	}
	run, close, err := a.beginTraits(ctx, set, flags)
	if err != nil {
		return err
	}
	defer close()
	report, err := run.measureTraits(ctx, shownName(records), file, personas, flags)
	if failed := run.clear(ctx, flags.keep); err == nil {
		err = failed
	} else if failed != nil {
		a.say("%s", sentence(failed))
	}
	if err != nil {
		return err
	}
	if flags.json {
		return a.printJSON(report)
	}
	return a.printTraitReport(report)
}

func (a *app) readPersonas(ctx context.Context, name string) ([]eval.Persona, error) {
	in, _, err := a.open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	personas, err := eval.ReadPersonas(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shownName(name), err)
	}
	return personas, nil
}

func (a *app) beginTraits(ctx context.Context, set *eval.Set, flags *evalTraitsFlags) (*evaluation, func(), error) {
	embedder, err := flags.work.embedding.open()
	if err != nil {
		return nil, nil, err
	}
	d, err := a.connect(ctx, oxbow.WithEmbedder(embedder))
	if err != nil {
		return nil, nil, err
	}
	if err := seeAll(ctx, d.pool, "oxbow eval-traits"); err != nil {
		d.close()
		return nil, nil, err
	}
	if err := store.CheckModel(ctx, d.pool, store.EmbeddingModel{Model: embedder.Model(), Dimension: embedder.Dimension()}); err != nil {
		d.close()
		return nil, nil, err
	}
	run := &evaluation{app: a, database: d, embedder: embedder, prefix: "eval-" + uuid.NewString()[:8] + "-"}
	for _, user := range set.Users {
		run.users = append(run.users, run.prefix+user)
	}
	return run, d.close, nil
}

func (r *evaluation) measureTraits(ctx context.Context, name string, file []byte, personas []eval.Persona, flags *evalTraitsFlags) (eval.TraitReport, error) {
	var none eval.TraitReport
	if err := r.load(ctx, file); err != nil {
		return none, fmt.Errorf("%s: %w", name, err)
	}
	if err := r.embed(ctx); err != nil {
		return none, err
	}
	bar := r.progress("reflect", r.loaded)
	defer bar.end()
	traits := map[string][]string{}
	for _, user := range r.users {
		now, err := store.ToReflect(ctx, r.pool, user)
		if err != nil {
			return none, err
		}
		if err := r.reflectUntil(ctx, user, now, flags, func(o jobs.Outcome) { bar.add(int64(o.Scanned)) }); err != nil {
			return none, fmt.Errorf("reflect on %q: %w", strings.TrimPrefix(user, r.prefix), err)
		}
		if traits[strings.TrimPrefix(user, r.prefix)], err = store.VisibleTraits(ctx, r.pool, user, now); err != nil {
			return none, err
		}
	}
	return eval.SeenInterests(personas, traits, sensitive.Category), nil
}

func (r *evaluation) reflectUntil(ctx context.Context, user string, now time.Time, flags *evalTraitsFlags, report func(jobs.Outcome)) error {
	dsn, err := r.dsn()
	if err != nil {
		return err
	}
	cfg, err := flags.work.config(dsn, r.logger())
	if err != nil {
		return err
	}
	cfg.Now = func() time.Time { return now }
	w, err := worker.New(ctx, cfg)
	if err != nil {
		return err
	}
	defer w.Close()
	return w.Reflect(ctx, user, false, report)
}

func (a *app) printTraitReport(report eval.TraitReport) error {
	t := newTable("person", "#interests seen", "#of", "#traits", "missed")
	for _, p := range report.Persons {
		t.add(printable(p.User), fmt.Sprint(p.Seen), fmt.Sprint(p.Total), fmt.Sprint(p.Traits), printable(strings.Join(p.Missed, ", ")))
	}
	t.add("all", fmt.Sprint(report.Seen), fmt.Sprint(report.Total), fmt.Sprintf("at most %d", report.Most), "")
	if err := t.print(a.out); err != nil {
		return err
	}
	a.printf("\n%.1f %% of the interests were seen.\n", 100*report.Share)
	found := 0
	for _, p := range report.Persons {
		for _, s := range p.Sensitive {
			found++
			a.printf("Sensitive (%s), of %s: %s\n", s.Category, printable(p.User), printable(s.Trait))
		}
	}
	if found == 0 {
		a.printf("No trait is in a sensitive category.\n")
	}
	return nil
}
