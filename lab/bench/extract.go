package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/worker"
)

// extraction measures the rules: from messages in the table to memories that can be recalled, for 200 users of up to
// 1,000 memories, and for one user of 10,000.
func extraction(ctx context.Context, b *bench) error {
	messages := b.sized(40_000)
	dsn, pool, err := b.fresh(ctx, "bench_extract", 2)
	if err != nil {
		return err
	}
	w := newWriter(seed)
	err = remember(ctx, pool, "long-talker", w.texts(messages/4))
	for i := range 200 {
		err = errors.Join(err, remember(ctx, pool, fmt.Sprint("talker-", i), w.texts(1+messages/40*(i+1)/200)))
	}
	if err := errors.Join(err, embedAll(ctx, dsn, pool)); err != nil {
		return err
	}
	t := b.table("Extraction by the rules", "users", "messages", "a second")
	said := 0
	for _, run := range []struct{ users, messages int }{{200, messages}, {1, messages / 20}} {
		columns := []string{"user_id", "session_id", "seq", "role", "content", "created_at"}
		begin := time.Date(2026, 1, 1, 8, 0, 0, 0, time.UTC)
		if _, err := pool.CopyFrom(ctx, pgx.Identifier{"oxbow", "messages"}, columns,
			pgx.CopyFromSlice(run.messages, func(i int) ([]any, error) {
				user, turn := fmt.Sprint("talker-", i%run.users), i/run.users
				role, content := "assistant", "I see. Tell me more about the "+w.of("things")+"."
				if said++; turn%2 == 0 {
					role, content = "user", w.statement()
				}
				if run.users == 1 {
					user = "long-talker"
				}
				return []any{user, fmt.Sprintf("%d-%d", run.messages, turn/20), int64(said), role, content,
					begin.Add(time.Duration(said) * time.Second)}, nil
			})); err != nil {
			return err
		}
		// a conversation that is quiet is due
		if err := execAll(ctx, pool, `
			update oxbow.river_job set state = 'available', scheduled_at = now()
			 where kind = 'extract' and state = 'scheduled'`); err != nil {
			return err
		}
		start := time.Now()
		stop, err := startWorker(ctx, worker.Config{DatabaseURL: dsn})
		if err != nil {
			return err
		}
		err = waitFor(ctx, pool, `not exists (select from oxbow.messages where extracted_at is null)
			and not exists (select from oxbow.river_job where kind in ('extract', 'embed') and finalized_at is null)`)
		took := time.Since(start)
		if err := errors.Join(err, stop()); err != nil {
			return err
		}
		rate := float64(run.messages) / took.Seconds()
		t.row(run.users, run.messages, rate)
		if run.users > 1 {
			b.atLeast(fmt.Sprintf("messages extracted a second by the rules, %d users at once", run.users), 1000, rate)
		}
	}
	return nil
}

// statement is what a user says: mostly what happened, at times what is so, and what is not worth remembering.
func (w writer) statement() string {
	switch w.IntN(6) {
	case 0:
		return "ok, thanks"
	case 1:
		return "I love my " + w.of("adjectives") + " " + w.of("things") + "."
	case 2:
		return "今天我在" + w.of("locations") + w.of("doings") + w.of("qualities") + w.of("objects") +
			"，" + w.of("afterwards") + "。"
	}
	return "Yesterday I " + w.of("verbs") + " the " + w.of("adjectives") + " " + w.of("things") + " from " + w.rare() +
		" at the " + w.of("places") + " " + w.of("reasons") + "."
}
