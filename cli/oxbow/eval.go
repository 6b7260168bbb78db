package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/eval"
	"github.com/oxbow-memory/oxbow/store"
)

// eraseTimeout limits the erasure at the end of an evaluation, which also runs after an interrupt.
const eraseTimeout = 10 * time.Minute

// shownMissing is how many gold ids without a memory in the file are listed.
const shownMissing = 5

type evalFlags struct {
	work                workFlags
	json, keep, extract bool
	limit               int
}

func newEvalCommand(a *app) *cobra.Command {
	var flags evalFlags
	cmd := &cobra.Command{
		Use:   "eval FILE",
		Short: "Measure recall with questions whose answers are known",
		Long: `Measure recall with a file of memories and of questions whose answers are known, JSON Lines, compressed with gzip or not;
"-" is standard input:

  {"type":"memory","user":U,"id":ID,"session":S,"seq":N,"speaker":P,"role":R,"at":RFC3339,"content":TEXT}
  {"type":"question","user":U,"question":Q,"gold":[ID,…],"category":C}

It loads the memories under users of its own, embeds them itself, whether or not a worker runs, asks every question, and
prints, per category and for all: recall@k, the mean share of a question's gold memories among the first k recalled, and
hit@k, the share of the questions with at least one. In the end, also after an interrupt, it erases what it loaded.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if flags.limit < 0 {
				return usagef("--limit-questions must not be negative, got %d", flags.limit)
			}
			return a.eval(cmd.Context(), args[0], &flags)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&flags.json, "json", false, "print JSON")
	f.BoolVar(&flags.keep, "keep", false, "do not erase what was loaded, to look at it")
	f.IntVar(&flags.limit, "limit-questions", 0, "ask only so many, spread over the file (default: all)")
	f.BoolVar(&flags.extract, "extract", false, "take the memories of the file for messages, and extract memories from them; the sources of what is recalled are counted, each for one place")
	flags.work.embedding.add(f)
	flags.work.reasoner.add(f, &flags.work.cfg)
	return cmd
}

func (a *app) eval(ctx context.Context, name string, flags *evalFlags) error {
	file, set, err := a.readEvaluation(ctx, name)
	if err != nil {
		return err
	}
	a.warnOfGold(name, set)
	embedder, err := flags.work.embedding.open()
	if err != nil {
		return err
	}
	d, err := a.connect(ctx, oxbow.WithEmbedder(embedder))
	if err != nil {
		return err
	}
	defer d.close()
	if err := seeAll(ctx, d.pool, "oxbow eval"); err != nil {
		return err
	}
	model := store.EmbeddingModel{Model: embedder.Model(), Dimension: embedder.Dimension()}
	if err := store.CheckModel(ctx, d.pool, model); err != nil {
		return err
	}
	run := &evaluation{app: a, database: d, embedder: embedder, prefix: "eval-" + uuid.NewString()[:8] + "-"}
	for _, user := range set.Users {
		run.users = append(run.users, run.prefix+user)
	}
	report, err := run.measure(ctx, shownName(name), file, spread(set.Questions, flags.limit), flags)
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
	if run.messages > 0 {
		a.printf("%s were extracted from %s (%.2f for each).\n", count(run.loaded, "memory", "memories"), count(run.messages, "message", "messages"), float64(run.loaded)/float64(run.messages))
	}
	return a.printReport(report, run.loaded, len(set.Users), model)
}

// readEvaluation reads the whole file, because it is used twice: for the questions and for the
// memories.
func (a *app) readEvaluation(ctx context.Context, name string) ([]byte, *eval.Set, error) {
	in, _, err := a.open(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	defer in.Close()
	file, err := io.ReadAll(in)
	if err != nil {
		return nil, nil, fmt.Errorf("%s cannot be read: %w", shownName(name), err)
	}
	set, err := eval.Read(bytes.NewReader(file))
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", shownName(name), err)
	}
	if len(set.Questions) == 0 {
		return nil, nil, fmt.Errorf(`%s has no questions with gold memories: lines like {"type":"question","user":U,"question":Q,"gold":[ID]} are needed`,
			shownName(name))
	}
	return file, set, nil
}

// warnOfGold warns about questions that cannot be measured and gold ids that cannot be found.
func (a *app) warnOfGold(name string, set *eval.Set) {
	if set.Unanswerable > 0 {
		a.say("%s: %s without gold memories left out.", shownName(name), count(int64(set.Unanswerable), "question", "questions"))
	}
	for i, m := range set.Missing {
		if i == shownMissing {
			a.say("… and %s more.", thousands(int64(len(set.Missing)-shownMissing)))
			return
		}
		a.say("%s: line %d: the gold id %q is no memory of that user in the file, and counts as not found.", shownName(name), m.Line, m.ID)
	}
}

// spread picks n questions evenly over the file, or all if n is 0 or above their number.
func spread(questions []eval.Question, n int) []eval.Question {
	if n == 0 || n >= len(questions) {
		return questions
	}
	picked := make([]eval.Question, n)
	for i := range picked {
		picked[i] = questions[i*len(questions)/n]
	}
	return picked
}

// evaluation is one run. Its users are those of the file, each with the run's prefix.
type evaluation struct {
	*app
	*database
	embedder oxbow.Embedder
	prefix   string
	users    []string
	loaded   int64 // memories
	messages int64 // messages that memories were extracted from; 0 without extraction
	sources  map[uuid.UUID][]string
}

func (r *evaluation) measure(ctx context.Context, name string, file []byte, questions []eval.Question, flags *evalFlags) (eval.Report, error) {
	var none eval.Report
	if err := r.load(ctx, file); err != nil {
		return none, fmt.Errorf("%s: %w", name, err)
	}
	if flags.extract {
		if err := r.extract(ctx, flags); err != nil {
			return none, err
		}
	}
	if err := r.embed(ctx); err != nil {
		return none, err
	}
	return r.ask(ctx, questions)
}

// load imports the file's memories. It sets the run's users apart before it commits, so that no
// worker sees them.
func (r *evaluation) load(ctx context.Context, file []byte) error {
	in := &countingReader{Reader: bytes.NewReader(file)}
	bar := r.progress("load (bytes)", int64(len(file)))
	defer bar.end()
	options := oxbow.ImportOptions{
		Rename:   func(userID string) string { return r.prefix + userID },
		Progress: func(oxbow.ImportReport) { bar.set(in.read.Load()) },
	}
	return pgx.BeginFunc(ctx, r.pool, func(tx pgx.Tx) error {
		report, err := r.client.WithTx(tx).Import(ctx, in, options)
		if err != nil {
			return err
		}
		r.loaded = report.New
		return store.HideFromWorkers(ctx, tx, r.users)
	})
}

// ask asks the questions in turn. It does not count a first question, which prepares the
// connection.
func (r *evaluation) ask(ctx context.Context, questions []eval.Question) (eval.Report, error) {
	bar := r.progress("ask", int64(len(questions)))
	defer bar.end()
	var tally eval.Tally
	if _, _, err := r.question(ctx, questions[0]); err != nil {
		return eval.Report{}, err
	}
	for _, q := range questions {
		rank, took, err := r.question(ctx, q)
		if err != nil {
			return eval.Report{}, err
		}
		tally.Add(q.Category, rank, took)
		bar.add(1)
	}
	return tally.Report(), nil
}

// question recalls memories, and returns the rank of each gold memory, 0 if it was not found, and
// the duration of the recall.
func (r *evaluation) question(ctx context.Context, q eval.Question) ([]int, time.Duration, error) {
	begun := time.Now()
	found, err := r.client.Recall(ctx, oxbow.Query{UserID: r.prefix + q.User, Text: q.Text, Limit: eval.Depth})
	took := time.Since(begun)
	if err == nil {
		err = found.Degraded // only half of the channels would be measured
	}
	if err != nil {
		return nil, 0, fmt.Errorf("ask the question of line %d: %w", q.Line, err)
	}
	place := map[string]int{}
	turns := 0
	for i, m := range found.Memories {
		if r.messages > 0 { // each cited message counts as a result
			for _, id := range r.sources[m.ID] {
				if turns++; place[id] == 0 {
					place[id] = turns
				}
			}
			continue
		}
		place[m.ID.String()] = i + 1
		if m.ExternalID != "" {
			place[m.ExternalID] = i + 1
		}
	}
	rank := make([]int, len(q.Gold))
	for i, id := range q.Gold {
		rank[i] = place[id]
		if parsed, err := uuid.Parse(id); err == nil && rank[i] == 0 {
			rank[i] = place[parsed.String()]
		}
	}
	return rank, took, nil
}

// clear erases the loaded data, even if ctx has ended.
func (r *evaluation) clear(ctx context.Context, keep bool) error {
	if r.loaded == 0 {
		return nil
	}
	if keep {
		r.say("Kept: %s of users such as %q; to erase them: oxbow erase '%s'…", count(r.loaded, "memory", "memories"), r.users[0], r.prefix)
		return nil
	}
	if ctx.Err() != nil {
		r.say("Interrupted; erasing what was loaded.")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), eraseTimeout)
	defer cancel()
	bar := r.progress("erase (users)", int64(len(r.users)))
	defer bar.end()
	for i, user := range r.users {
		if _, err := r.client.EraseUser(ctx, user); err != nil {
			return fmt.Errorf("what was loaded is not erased (oxbow erase %q and so on will): %w", user, err)
		}
		bar.set(int64(i + 1))
	}
	return nil
}

func (a *app) printReport(report eval.Report, memories int64, users int, model store.EmbeddingModel) error {
	a.printf("%s, %s of %s, vectors of %s\n\n", count(int64(report.All.N), "question", "questions"),
		count(memories, "memory", "memories"), count(int64(users), "user", "users"), model)
	t := newTable("category", "#questions", "#recall@5", "#recall@10", "#recall@20", "#hit@5", "#hit@10", "#hit@20")
	row := func(name string, s eval.Score) {
		cells := []string{printable(name), fmt.Sprint(s.N)}
		for _, v := range []float64{s.Recall5, s.Recall10, s.Recall20, s.Hit5, s.Hit10, s.Hit20} {
			cells = append(cells, fmt.Sprintf("%.3f", v))
		}
		t.add(cells...)
	}
	for _, name := range slices.Sorted(maps.Keys(report.Categories)) {
		shown := name
		if shown == "" {
			shown = "(none)"
		}
		row(shown, report.Categories[name])
	}
	row("all", report.All)
	if err := t.print(a.out); err != nil {
		return err
	}
	l := report.Latency
	a.printf("\nA recall took %.1f ms (median), %.1f ms (p95), %.1f ms (p99).\n", l.P50, l.P95, l.P99)
	return nil
}
