package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/embedding"
	"github.com/oxbow-memory/oxbow/internal/molt"
	"github.com/oxbow-memory/oxbow/store"
)

// userReport is how recall does on the answers of a user.
type userReport struct {
	User    string  `json:"user"`
	Answers int     `json:"answers"` // that were asked again
	Locked  int     `json:"locked"`  // that could not be, because a transaction changes their memories
	MRR     float64 `json:"mrr"`
	F1      float64 `json:"f1"`
}

// evalUser asks the questions of a user's latest answers again.
func (a *app) evalUser(cmd *cobra.Command, flags *evalFlags) error {
	embedder, err := flags.work.embedding.open()
	if err != nil {
		return err
	}
	return a.asOperator(func(ctx context.Context, d *database, _ []string) error {
		model := store.ModelOf(embedder)
		if err := store.CheckModel(ctx, d.pool, model); err != nil {
			return err
		}
		policies, err := store.MoltPolicies(ctx, d.pool)
		if err != nil {
			return err
		}
		answers, err := store.AnswersOf(ctx, d.pool, flags.user,
			cmp.Or(flags.limit, int(policies["molt_sample"].Value)))
		if err != nil {
			return err
		}
		if len(answers) == 0 {
			return fmt.Errorf("user %q has no answers whose use is known: report them with oxbow.answered", flags.user)
		}
		report, err := d.replay(ctx, flags.user, answers, embedder)
		if err != nil {
			return err
		}
		return a.output(report, func() {
			a.printf("%s of %s, vectors of %s\n\n", count(report.Answers, "answer"), report.User, model)
			a.printf("mean reciprocal rank  %.3f\nF1                    %.3f\n", report.MRR, report.F1)
			if report.Locked > 0 {
				a.printf("\nSkipped %s whose memories are being changed.\n", count(report.Locked, "answer"))
			}
		})
	})(cmd, nil)
}

// replay measures answers as the job molt does, with the policies in force.
func (d *database) replay(ctx context.Context, user string, answers []molt.Answer, embedder oxbow.Embedder) (
	userReport, error) {
	report := userReport{User: user}
	bar := d.progress("ask", int64(len(answers)))
	defer bar.end()
	for batch := range slices.Chunk(answers, evalBatch) {
		questions := make([]string, len(batch))
		for i, answer := range batch {
			questions[i] = answer.Query
		}
		vectors, err := embedding.Queries(ctx, embedder, questions)
		if err != nil {
			return report, err
		}
		for i, answer := range batch {
			values, err := d.replayOne(ctx, answer, vectors[i])
			if err != nil {
				return report, err
			}
			if values == nil {
				report.Locked++
			} else {
				report.Answers++
				report.MRR += values[0]
				report.F1 += values[1]
			}
			bar.add(1)
		}
	}
	report.MRR /= float64(max(report.Answers, 1))
	report.F1 /= float64(max(report.Answers, 1))
	return report, nil
}

// replayOne returns the reciprocal rank and F1 of an answer, or nil if it is locked.
func (d *database) replayOne(ctx context.Context, a molt.Answer, vector []float32) (values []float64, err error) {
	for _, metric := range []string{molt.MRR, molt.F1} {
		found, err := store.ReplayAnswer(ctx, d.pool, a, vector, nil, a.Depth(metric))
		if err != nil || found == nil {
			return nil, err
		}
		values = append(values, molt.Measure(metric, found, a.Used))
	}
	return values, nil
}
