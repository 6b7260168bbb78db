package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
)

// filters compares recall over 20,000 memories that are all current with the same recall with a filter, at an earlier
// moment, or with half of the memories superseded; and a query of common words with the bare vector query.
func filters(ctx context.Context, b *bench) error {
	memories := b.sized(20_000)
	dsn, pool, err := b.fresh(ctx, "bench_filters", 2)
	if err != nil {
		return err
	}
	w := newWriter(seed)
	texts, alike := w.texts(memories), make([]string, memories)
	for i := range alike {
		alike[i] = w.alike()
	}
	for _, user := range []string{"current", "history"} {
		if err := remember(ctx, pool, user, texts); err != nil {
			return err
		}
	}
	if err := remember(ctx, pool, "alike", alike); err != nil {
		return err
	}
	if err := embedAll(ctx, dsn, pool); err != nil {
		return err
	}
	if err := supersedeHalf(ctx, pool, "history"); err != nil {
		return err
	}
	questions, err := w.ask(ctx, 8, "current", texts)
	if err != nil {
		return err
	}
	if err := b.againstCurrent(ctx, pool, memories, questions); err != nil {
		return err
	}
	common := make([]question, 8)
	for i := range common {
		common[i] = question{user: "alike",
			text: strings.TrimSuffix(strings.ReplaceAll(w.alike(), "I had", "When did I have"), ".") + "?"}
	}
	if err := embed(ctx, common); err != nil {
		return err
	}
	times, err := b.compare(ctx, pool, common, asker{name: "bare", sql: bareVector},
		asker{name: "recall", sql: plainRecall})
	if err != nil {
		return err
	}
	ratio := medianRatio(times[1], times[0])
	t := b.table(fmt.Sprintf("Query of common words over %d memories that resemble each other", memories),
		"bare vector query", "oxbow.recall", "recall/bare")
	t.row(median(times[0]), median(times[1]), ratio)
	b.atMost(fmt.Sprintf("recall by common words / bare vector query, %d memories alike", memories), 4, ratio)
	return nil
}

// againstCurrent compares each way to ask with the same kind of question over current memories alone.
func (b *bench) againstCurrent(ctx context.Context, pool *pgxpool.Pool, memories int, questions []question) error {
	const context, timeline = "select oxbow.context($1, $2, $3)", "select * from oxbow.timeline($1, $2, $3)"
	filtered := func(filter string) string { return "select * from oxbow.recall($1, $2, $3, " + filter + ")" }
	t := b.table(fmt.Sprintf("Over %d memories of one user, median of a round", memories), fmt.Sprintf("%-28s", ""),
		"all current", "so", "so/current")
	const (
		filter  = "recall with a filter / without"
		past    = "recall at an earlier moment / now"
		history = "recall, half superseded / all current"
	)
	ways := []struct {
		promise, of string
		on          asker
	}{
		{history, plainRecall, asker{name: "half superseded", sql: plainRecall, user: "history"}},
		{past, plainRecall, asker{name: "valid_as_of mid-2025", sql: filtered("valid_as_of => '2025-07-01'")}},
		{past, plainRecall, asker{name: "valid_as_of, half superseded", sql: filtered("valid_as_of => '2025-12-31'"),
			user: "history"}},
		{past, plainRecall, asker{name: "believed_as_of mid-2025", sql: filtered("believed_as_of => '2025-07-01'")}},
		{filter, plainRecall, asker{name: "agent of half", sql: filtered("agent => 'first'")}},
		{filter, plainRecall, asker{name: "agent of 1 in 100", sql: filtered("agent => 'rare'")}},
		{filter, plainRecall,
			asker{name: "metadata of half", sql: filtered(`metadata_contains => '{"topic": "garden"}'`)}},
		{filter, plainRecall, asker{name: "contexts of half", sql: filtered("contexts => '{work}'")}},
		{filter, plainRecall,
			asker{name: "agent, half superseded", sql: filtered("agent => 'first'"), user: "history"}},
		{"context, half superseded / all current", context,
			asker{name: "context(), half superseded", sql: context, user: "history"}},
		{"timeline, half superseded / all current", timeline,
			asker{name: "timeline(), half superseded", sql: timeline, user: "history"}},
	}
	for _, way := range ways {
		if !strings.Contains(way.on.name, b.match) {
			continue
		}
		times, err := b.compare(ctx, pool, questions, asker{name: "current for " + way.on.name, sql: way.of}, way.on)
		if err != nil {
			return err
		}
		ratio := medianRatio(times[1], times[0])
		t.row(way.on.name, median(times[0]), median(times[1]), ratio)
		b.atMost(fmt.Sprintf("%s, %d memories", way.promise, memories), 1.5, ratio)
	}
	return nil
}

// supersedeHalf ends every second memory of a user in favour of one beside it.
func supersedeHalf(ctx context.Context, pool *pgxpool.Pool, user string) error {
	if _, err := pool.Exec(ctx, `
		update oxbow.memories m
		   set superseded_by = n.id, expired_at = '2026-01-01', invalid_at = '2026-01-01'
		  from oxbow.memories n
		 where m.user_id = $1 and n.user_id = $1 and m.seq % 2 = 0 and n.memory_type = m.memory_type
		   and n.seq = m.seq + case m.seq % 10 when 8 then -1 else 1 end`, user); err != nil {
		return err
	}
	_, err := pool.Exec(ctx, "vacuum analyze oxbow.memories")
	return err
}
