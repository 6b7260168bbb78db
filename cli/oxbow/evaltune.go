package main

import (
	"context"
	"maps"
	"slices"

	"github.com/oxbow-memory/oxbow/internal/embedding"
	"github.com/oxbow-memory/oxbow/internal/eval"
	"github.com/oxbow-memory/oxbow/store"
)

// tuneChoices are the values that --tune tries for the setting recall. It keeps the weight of the text, because only the
// ratio of the weights matters.
var tuneChoices = []eval.Choice{
	{Key: "vector", Values: []float64{0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5}},
	{Key: "nearest", Values: []float64{60, 140, 280, 500}},
}

// tune looks for the best setting recall. It changes it only in transactions that it rolls back.
func (r *evaluation) tune(ctx context.Context) (found eval.Tuning, err error) {
	questions := slices.DeleteFunc(spread(r.set.Questions, r.flags.limit), eval.Question.Nothing)
	r.vectors = map[int][]float32{}
	for batch := range slices.Chunk(questions, evalBatch) {
		texts := make([]string, len(batch))
		for i, q := range batch {
			texts[i] = q.Text
		}
		vectors, err := embedding.Queries(ctx, r.embedder, texts)
		if err != nil {
			return found, err
		}
		for i, q := range batch {
			r.vectors[q.Line] = vectors[i]
		}
	}
	now, err := store.ReadChannelWeights(ctx, r.pool)
	if err != nil {
		return found, err
	}
	present := eval.Setting{"text": now.Text, "vector": now.Vector, "entity": now.Entity, "nearest": float64(now.Nearest)}
	found, err = eval.Tune(present, tuneChoices,
		func(s eval.Setting) (map[string]eval.Mean, error) { return r.measureSetting(ctx, s, questions) })
	if err != nil {
		return found, err
	}
	var others, gold []float64
	for _, q := range questions {
		similar, err := store.ReadSimilarities(ctx, r.pool, r.prefix+q.User, r.vectors[q.Line], q.Gold)
		if err != nil {
			return found, err
		}
		gold = append(gold, similar.Given...)
		if similar.Others != nil {
			others = append(others, *similar.Others)
		}
	}
	found.Scale = eval.Scale(others, gold)
	return found, nil
}

// measureSetting returns the recall@10 of each user with a setting.
func (r *evaluation) measureSetting(ctx context.Context, s eval.Setting, questions []eval.Question) (
	map[string]eval.Mean, error) {
	tx, err := r.pool.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	setting := eval.Setting{} // with the keys that are not tried
	if err := store.ReadSetting(ctx, tx, "recall", &setting); err != nil {
		return nil, err
	}
	maps.Copy(setting, s)
	if err := store.WriteSetting(ctx, tx, "recall", setting); err != nil {
		return nil, err
	}
	bound := *r
	bound.database = &database{r.app, r.pool, r.client.WithTx(tx)}
	tallies := map[string]*eval.Tally{}
	var all eval.Tally
	for _, q := range questions {
		answer, err := bound.question(ctx, q)
		if err != nil {
			return nil, err
		}
		if tallies[q.User] == nil {
			tallies[q.User] = &eval.Tally{}
		}
		tallies[q.User].Add(q.Category, answer)
		all.Add(q.Category, answer)
	}
	users := map[string]eval.Mean{}
	for user, t := range tallies {
		users[user] = recall10(t)
	}
	r.say("%s: recall@10 %.3f", s, recall10(&all).Mean)
	return users, nil
}

// recall10 returns the recall@10 of memories or, if the questions have only gold sessions, of sessions.
func recall10(t *eval.Tally) eval.Mean {
	report := t.Report()
	got := report.All
	if got.N == 0 && report.Sessions != nil {
		got = report.Sessions.All
	}
	return eval.Mean{N: got.N, Mean: got.Recall10}
}

func (a *app) printTuning(t eval.Tuning) {
	a.printf("present  recall@10 %.3f  %s\nbest     recall@10 %.3f  %s\n", t.Before, t.Present, t.After, t.Best)
	if t.LeftOut != nil {
		a.printf("\nIf each user is measured with the setting that is best for the other users, recall@10 is %.3f (%+.3f).\n",
			*t.LeftOut, *t.LeftOut-t.Before)
	} else {
		a.printf("\nWith a single user, it is unknown whether the gain holds for others.\n")
	}
	const change = "\n\ninsert into oxbow.settings (key, value) values ('recall', '%s')\n" +
		"  on conflict (key) do update set value = oxbow.settings.value || excluded.value;\n"
	if t.After == t.Before {
		a.printf("The present setting is the best of those tried.\n")
	} else {
		a.printf("To use the best setting:"+change, t.Best)
	}
	if t.Scale != nil {
		a.printf("\nTo scale the relevance for --min-score to these vectors:"+change, t.Scale)
	}
}
