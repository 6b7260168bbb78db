package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/eval"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/worker"
)

// eraseTimeout limits the erasure at the end of an evaluation, which also runs after an interrupt.
const eraseTimeout = 10 * time.Minute

// shownMissing is how many gold ids without a memory in the file are listed.
const shownMissing = 5

// evalFlags are the flags of eval.
type evalFlags struct {
	work          workFlags
	rerank        rerankFlags
	keep, extract bool
	tune          bool
	limit         int
	minScore      float64
	agree         float64 // cosine of the model's vectors from which on a memory states a point; 0: do not compare them
	user          string
}

func evalCommand(a *app) *cobra.Command {
	var flags evalFlags
	cmd := &cobra.Command{
		Use:   "eval FILE | --user USER",
		Short: "Measure recall with questions whose answers are known",
		Long: `Measure recall with a JSON Lines file of memories and questions, which may be compressed with gzip; "-" is
standard input:

  {"type":"memory","user":U,"id":ID,"session":S,"seq":N,"speaker":P,"role":R,"at":RFC3339,"content":TEXT}
  {"type":"question","user":U,"question":Q,"gold":[ID,…],"category":C}

The command loads the memories for temporary users, embeds them itself, asks every question, and prints, per
category and in total: recall@k, the mean share of a question's gold memories among the first k results, and
hit@k, the share of questions with at least one. Finally, even after an interrupt, it erases the temporary
users.

A question may also have

  "gold_sessions":[S,…]  instead of gold or as well: sessions that should be among the first k distinct sessions
  "unwanted":[ID,…]      memories that must not be found; without it, all that are not gold
  "at":RFC3339           the time when it is asked: later memories are not found
  "metadata":{…}         an object that the memories' metadata must contain

An empty gold says that nothing is known. If a question has unwanted or an empty gold, or with --min-score, the
command prints the precision: the mean share of gold memories among the first 20 results that are gold or unwanted.
It also prints the share of the questions with an empty gold for which nothing unwanted was found.

For --extract, a file may also have points. A point is a fact that extraction should find in a session:

  {"type":"point","user":U,"id":ID,"session":S,"content":TEXT}

The command prints the share of the extracted memories that state a point, and the share of the points that a memory
states. It compares their words.

With --tune, the command tries values of the setting "recall" in oxbow.settings (docs/embedding.md). It prints the
recall@10 with the present and with the best setting, the recall@10 if each user is measured with the setting that is
best for the others, and the statement that changes the setting. It also prints the values of "unrelated" and "related"
that scale the relevance to the model (docs/evaluation.md). It changes no setting itself.

A file may hold lives instead, such as examples/weights.jsonl (docs/weight.md): what happens to a user's memories,
and which of them must then outweigh, outrank or replace others. The command plays them as a worker, which also runs
other waiting jobs of the database, and prints the checks that do not hold.

With --user, the questions are those of a user's latest answers, and the memories that each answer used are what
recall should find with the present policies (docs/molt.md). It changes nothing, and prints the number of answers,
the mean reciprocal rank of the first used memory, and F1.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if flags.limit < 0 {
				return usagef("invalid --limit-questions %d: expected 0 or more", flags.limit)
			}
			if !(flags.minScore >= 0 && flags.minScore <= 1) {
				return usagef("invalid --min-score %v: expected 0 to 1", flags.minScore)
			}
			if !(flags.agree >= 0 && flags.agree <= 1) {
				return usagef("invalid --point-similarity %v: expected 0 to 1", flags.agree)
			}
			if (len(args) == 1) == (flags.user != "") {
				return usagef("expected either FILE or --user")
			}
			if flags.user != "" {
				return a.evalUser(cmd, &flags)
			}
			return a.eval(cmd, args[0], &flags)
		},
	}
	f := cmd.Flags()
	a.jsonFlag(f)
	f.BoolVar(&flags.keep, "keep", false, "do not erase the temporary users")
	f.IntVar(&flags.limit, "limit-questions", 0, "ask only this many questions, spread over the file, or the latest of a user (default: all, or molt_sample)")
	f.Float64Var(&flags.minScore, "min-score", 0, "recall only memories with at least this relevance, 0 to 1 (default: all)")
	userFlag(f, &flags.user, "user whose answers to ask again")
	f.Float64Var(&flags.agree, "point-similarity", 0,
		"with --extract, also compare memories with points by the model's vectors, with this minimum cosine similarity")
	f.BoolVar(&flags.extract, "extract", false,
		"load the memories as messages, extract memories from them, and count their sources as results")
	f.BoolVar(&flags.tune, "tune", false, "find the best weight and number of nearest vectors for recall")
	flags.work.embedding.add(f)
	flags.rerank.add(f)
	flags.work.reasoner.add(f, &flags.work.cfg)
	cmd.MarkFlagsMutuallyExclusive("user", "keep")
	cmd.MarkFlagsMutuallyExclusive("user", "extract")
	cmd.MarkFlagsMutuallyExclusive("user", "min-score")
	cmd.MarkFlagsMutuallyExclusive("user", "tune")
	return cmd
}

func (a *app) eval(cmd *cobra.Command, name string, flags *evalFlags) error {
	file, err := a.readFile(cmd.Context(), name)
	if err != nil {
		return err
	}
	measure := a.evalLives
	var set *eval.Set
	if !eval.IsLives(file) {
		if set, err = readEvaluation(name, file, flags); err != nil {
			return err
		}
		a.warnAboutGold(name, set)
		measure = a.evalQuestions
	}
	embedder, err := flags.work.embedding.open()
	if err != nil {
		return err
	}
	var failed atomic.Int64 // recalls that were not ranked again
	flags.rerank.options.Observe = func(_ time.Duration, err error) {
		if err != nil {
			failed.Add(1)
		}
	}
	return a.asOperator(func(ctx context.Context, d *database, _ []string) error {
		model := store.ModelOf(embedder)
		if err := store.CheckModel(ctx, d.pool, model); err != nil {
			return err
		}
		w, err := worker.New(ctx, flags.work.config(d.databaseURL, d.logger()))
		if err != nil {
			return err
		}
		defer w.Close()
		run := &evaluation{database: d, embedder: embedder, name: shownName(name), file: file, set: set, flags: flags,
			worker: w, model: model, prefix: "eval-" + uuid.NewString()[:8] + "-"}
		err = measure(ctx, run)
		if n := failed.Load(); n > 0 {
			d.say("The reranker failed in %s, which kept their order. See --rerank-timeout.", count(n, "recall"))
		}
		return err
	}, func(context.Context) (oxbow.Option, error) { return oxbow.WithEmbedder(embedder), nil },
		flags.rerank.option)(cmd, nil)
}

// evalQuestions asks the questions of a file about its memories.
func (a *app) evalQuestions(ctx context.Context, run *evaluation) error {
	for _, user := range run.set.Users {
		run.users = append(run.users, run.prefix+user)
	}
	if run.flags.tune {
		err := run.prepare(ctx)
		var found eval.Tuning
		if err == nil {
			found, err = run.tune(ctx)
		}
		if err := run.end(ctx, err); err != nil {
			return err
		}
		return a.output(found, func() { a.printTuning(found) })
	}
	report, err := run.measure(ctx)
	if err := run.end(ctx, err); err != nil {
		return err
	}
	return a.output(report, func() {
		if run.messages > 0 {
			a.printf("%s extracted from %s (%.2f per message).\n", count(run.loaded, "memory"),
				count(run.messages, "message"), float64(run.loaded)/float64(run.messages))
		}
		a.printReport(report, len(spread(run.set.Questions, run.flags.limit)), run.loaded, len(run.set.Users), run.model)
	})
}

// end erases what the run loaded, and returns the first error.
func (r *evaluation) end(ctx context.Context, err error) error {
	failed := r.clear(ctx, r.flags.keep)
	if err == nil {
		return failed
	}
	if failed != nil {
		r.say("%s", sentence(failed))
	}
	return err
}

// readFile reads the whole file, because it is used twice: for the questions and for the memories.
func (a *app) readFile(ctx context.Context, name string) ([]byte, error) {
	in, _, err := a.open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	file, err := io.ReadAll(in)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", shownName(name), err)
	}
	return file, nil
}

func readEvaluation(name string, file []byte, flags *evalFlags) (*eval.Set, error) {
	set, err := eval.Read(bytes.NewReader(file))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shownName(name), err)
	}
	switch {
	case flags.tune && !slices.ContainsFunc(set.Questions, func(q eval.Question) bool { return !q.Nothing() }):
		return nil, fmt.Errorf("%s has no questions with gold, which --tune needs", shownName(name))
	case len(set.Questions) == 0 && len(set.Points) > 0 && !flags.extract:
		return nil, fmt.Errorf("%s has points but no questions: use --extract", shownName(name))
	case len(set.Questions)+len(set.Points) == 0:
		return nil, fmt.Errorf("%s has no questions: add lines like "+
			`{"type":"question","user":U,"question":Q,"gold":[ID]}`, shownName(name))
	}
	return set, nil
}

// warnAboutGold warns about ids that cannot be found.
func (a *app) warnAboutGold(name string, set *eval.Set) {
	for i, m := range set.Missing {
		if i == shownMissing {
			a.say("… and %s more.", thousands(len(set.Missing)-shownMissing))
			return
		}
		a.say("%s: line %d: the %s %q is not that of a memory of that user in the file; it counts as not found.",
			shownName(name), m.Line, m.Is, m.ID)
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
	*database
	name     string // of the file
	file     []byte
	set      *eval.Set // nil: the file holds lives
	flags    *evalFlags
	worker   *worker.Worker
	embedder oxbow.Embedder
	model    store.EmbeddingModel
	prefix   string
	users    []string
	loaded   int64 // memories
	messages int64 // messages that memories were extracted from; 0 without extraction
	// of what was extracted
	extracted []store.ExtractedMemory
	sources   map[uuid.UUID][]string
	vectors   map[int][]float32 // of the questions, by line; others are embedded when asked
}

// prepare loads the memories and makes them searchable.
func (r *evaluation) prepare(ctx context.Context) error {
	if err := r.load(ctx, r.file); err != nil {
		return fmt.Errorf("%s: %w", r.name, err)
	}
	if r.flags.extract {
		if err := r.extract(ctx); err != nil {
			return err
		}
	}
	return r.embed(ctx)
}

func (r *evaluation) measure(ctx context.Context) (none eval.Report, err error) {
	if err := r.prepare(ctx); err != nil {
		return none, err
	}
	report, err := r.ask(ctx, spread(r.set.Questions, r.flags.limit))
	if err == nil && r.flags.extract && len(r.set.Points) > 0 {
		err = r.points(ctx, &report)
	}
	return report, err
}

// ask asks the questions in turn. An extra first question, which prepares the connection, does not count.
func (r *evaluation) ask(ctx context.Context, questions []eval.Question) (eval.Report, error) {
	bar := r.progress("ask", int64(len(questions)))
	defer bar.end()
	var tally eval.Tally
	if len(questions) > 0 {
		if _, err := r.question(ctx, questions[0]); err != nil {
			return eval.Report{}, err
		}
	}
	precise := r.flags.minScore > 0
	for _, q := range questions {
		answer, err := r.question(ctx, q)
		if err != nil {
			return eval.Report{}, err
		}
		tally.Add(q.Category, answer)
		precise = precise || q.Unwanted != nil || q.Nothing()
		bar.add(1)
	}
	report := tally.Report()
	if precise {
		report.Precision = tally.Precision()
	}
	return report, nil
}

// question recalls memories and returns what a question got.
func (r *evaluation) question(ctx context.Context, q eval.Question) (none eval.Answer, err error) {
	query := oxbow.Query{UserID: r.prefix + q.User, Text: q.Text, Limit: eval.Depth, MinScore: r.flags.minScore,
		ValidAsOf: q.At, Now: q.At, Embedding: r.vectors[q.Line]}
	if len(q.Sessions) > 0 {
		query.Limit = eval.SessionDepth
	}
	if q.Metadata != nil {
		query.Metadata = q.Metadata
	}
	begun := time.Now()
	found, err := r.client.Recall(ctx, query)
	took := time.Since(begun)
	if err == nil {
		err = found.Degraded // only half of the channels would be measured
	}
	if err != nil {
		return none, fmt.Errorf("question on line %d: %w", q.Line, err)
	}
	var results [][]string // the ids of each
	var sessions [][]string
	seen := map[string]bool{}
	for _, m := range found.Memories {
		if r.messages > 0 { // each cited message counts as a result
			for _, id := range r.sources[m.ID] {
				results = append(results, []string{id})
			}
		} else {
			results = append(results, []string{m.ID.String(), m.ExternalID})
		}
		if m.SessionID != "" && !seen[m.SessionID] {
			seen[m.SessionID] = true
			sessions = append(sessions, []string{m.SessionID})
		}
	}
	return q.Answer(results, sessions, took), nil
}

// points compares what was extracted with what should have been.
func (r *evaluation) points(ctx context.Context, report *eval.Report) (err error) {
	var memories, points []eval.Fact
	for _, x := range r.extracted {
		memories = append(memories, eval.Fact{User: strings.TrimPrefix(x.UserID, r.prefix), Session: x.SessionID,
			Text: x.Content})
	}
	for _, p := range r.set.Points {
		points = append(points, eval.Fact{User: p.User, Session: p.Session, Text: p.Text})
	}
	var found eval.PointScores
	found.Words, err = eval.MeasurePoints(ctx, memories, points, eval.WordsAgree, oxbow.LocalEmbedder().Embed)
	if err == nil && r.flags.agree > 0 {
		found.Embedding = new(eval.Points)
		*found.Embedding, err = eval.MeasurePoints(ctx, memories, points, r.flags.agree, r.embedder.Embed)
	}
	report.Points = &found
	return err
}

// clear erases the loaded data, even if ctx has ended.
func (r *evaluation) clear(ctx context.Context, keep bool) error {
	if r.loaded == 0 && r.messages == 0 {
		return nil
	}
	if keep {
		r.say("Kept %s of users such as %s. Erase them with oxbow erase.", count(r.loaded, "memory"), r.users[0])
		return nil
	}
	if ctx.Err() != nil {
		r.say("Interrupted. Erasing the temporary users.")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), eraseTimeout)
	defer cancel()
	bar := r.progress("erase (users)", int64(len(r.users)))
	defer bar.end()
	for i, user := range r.users {
		if _, err := r.client.EraseUser(ctx, user); err != nil {
			return fmt.Errorf("cannot erase the temporary user %q (run oxbow erase): %w", user, err)
		}
		bar.set(int64(i + 1))
	}
	return nil
}

func (a *app) printReport(report eval.Report, questions int, memories int64, users int, model store.EmbeddingModel) {
	a.printf("%s, %s of %s, vectors of %s\n\n",
		count(questions, "question"), count(memories, "memory"), count(users, "user"), model)
	a.printScores(report.Scores)
	if report.Sessions != nil {
		a.printf("\nSessions:\n\n")
		a.printScores(*report.Sessions)
	}
	if p := report.Precision; p != nil {
		a.printf("\nThe precision of %s is %.3f", count(p.N, "question"), p.Precision)
		if report.All.N > 0 {
			a.printf(" at a recall of %.3f", p.Recall)
		}
		a.printf(".\n")
		if p.Unknown > 0 {
			a.printf("Nothing unwanted was found for %.3f of %s about which nothing is known.\n", p.Silent,
				count(p.Unknown, "question"))
		}
	}
	if report.Points != nil {
		a.printf("\n")
		t := a.table("points compared by", "#memories", "#precision", "#points", "#recall")
		row := func(by string, p eval.Points) {
			t.add(by, p.Memories, fmt.Sprintf("%.3f", p.Precision), p.Points, fmt.Sprintf("%.3f", p.Recall))
		}
		row("words", report.Points.Words)
		if by := report.Points.Embedding; by != nil {
			row("embedding", *by)
		}
		t.print()
	}
	if questions == 0 {
		return
	}
	l := report.Latency
	a.printf("\nA recall took %.1f ms (median), %.1f ms (p95), %.1f ms (p99).\n", l.P50, l.P95, l.P99)
}

// printScores prints measures by category, if there are any.
func (a *app) printScores(scores eval.Scores) {
	if scores.All.N == 0 {
		return
	}
	t := a.table("category", "#questions", "#recall@5", "#recall@10", "#recall@20", "#hit@5", "#hit@10", "#hit@20")
	row := func(name string, s eval.Score) {
		cells := []any{name, s.N}
		for _, v := range []float64{s.Recall5, s.Recall10, s.Recall20, s.Hit5, s.Hit10, s.Hit20} {
			cells = append(cells, fmt.Sprintf("%.3f", v))
		}
		t.add(cells...)
	}
	for _, name := range slices.Sorted(maps.Keys(scores.Categories)) {
		row(cmp.Or(name, "(none)"), scores.Categories[name])
	}
	row("all", scores.All)
	t.print()
}
