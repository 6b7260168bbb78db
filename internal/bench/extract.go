package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/worker"
)

const (
	talkers      = 200    // users who talk at once
	talkerMost   = 1_000  // memories that one of them has at most; on average half as many
	talkMessages = 40_000 // that they say, assistants' answers included
	longTalker   = 10_000 // memories of the user whose messages are timed alone
	longMessages = 2_000
	talkSession  = 20 // messages of a session

	extractGoal = 1_000 // messages a second
)

// extractions measures the extractor of rules at work: from the messages in the table to memories that are embedded and can be
// found. Reflection goes on beside it and is not waited for.
func (b *bench) extractions(ctx context.Context) error {
	dsn, err := b.database(ctx, "bench_extract")
	if err != nil {
		return err
	}
	pool, err := openPool(ctx, dsn, 2)
	if err != nil {
		return err
	}
	defer pool.Close()
	t := &talking{bench: b, dsn: dsn, pool: pool, writer: newWriter(b.Seed)}
	if err := t.remember(ctx); err != nil {
		return err
	}
	out := Table{Title: fmt.Sprintf("Extraction by rules, %d users at once of up to %d memories each, and one user of %d", talkers, talkerMost, longTalker)}
	out.add("users", "messages", "seconds", "messages a second", "ms a message", "memories of them", "promised")
	for _, run := range []struct{ users, messages int }{{talkers, talkMessages}, {1, longMessages}} {
		took, memories, err := t.talk(ctx, run.users, run.messages)
		if err != nil {
			return err
		}
		rate, promised := float64(run.messages)/took.Seconds(), ""
		if run.users > 1 {
			promised = fmt.Sprintf("≥ %d %s", extractGoal, verdict(rate >= extractGoal))
		}
		out.add(fmt.Sprint(run.users), fmt.Sprint(run.messages), fmt.Sprintf("%.1f", took.Seconds()), fmt.Sprintf("%.0f", rate),
			fmt.Sprintf("%.2f", took.Seconds()*1000/float64(run.messages)), fmt.Sprint(memories), promised)
	}
	b.show(out)
	pool.Close()
	return b.drop(ctx, "bench_extract")
}

// talking is a database of users with memories, who say more.
type talking struct {
	*bench
	dsn    string
	pool   *pgxpool.Pool
	writer writer
	said   int
}

func talker(users, i int) string {
	if users == 1 {
		return "long-talker"
	}
	return fmt.Sprintf("talker-%d", i)
}

// remember imports and embeds what the users have before, half of it facts.
func (t *talking) remember(ctx context.Context) error {
	var file bytes.Buffer
	lines := json.NewEncoder(&file)
	add := func(user string, n int) error {
		for i := range n {
			kind := []string{"fact", "episodic"}[i%2]
			if err := lines.Encode(map[string]any{"type": "memory", "user": user, "memory_type": kind, "content": t.writer.english()}); err != nil {
				return err
			}
		}
		return nil
	}
	for i := range talkers {
		if err := add(talker(talkers, i), talkerMost*(i+1)/talkers); err != nil {
			return err
		}
	}
	if err := add(talker(1, 0), longTalker); err != nil {
		return err
	}
	_, err := t.importAndEmbed(ctx, t.dsn, func(ctx context.Context, client *oxbow.Client) error {
		_, err := client.Import(ctx, io.Reader(&file), oxbow.ImportOptions{})
		return err
	})
	if err != nil {
		return err
	}
	_, err = t.pool.Exec(ctx, "vacuum analyze")
	return err
}

// talk inserts messages, in sessions in which users and assistants take turns, and runs a worker until all are extracted and
// what they became is embedded.
func (t *talking) talk(ctx context.Context, users, messages int) (took time.Duration, memories int, err error) {
	rows := make([][]any, messages)
	begin := time.Date(2026, 1, 1, 8, 0, 0, 0, time.UTC)
	for i := range rows {
		user, turn := talker(users, i%users), i/users
		t.said++
		role, content := "assistant", "I see. Tell me more about the "+t.writer.of(things)+"."
		if turn%2 == 0 {
			role, content = "user", t.statement()
		}
		rows[i] = []any{user, fmt.Sprintf("%d-%d", messages, turn/talkSession), int64(t.said), role, content, begin.Add(time.Duration(t.said) * time.Second)}
	}
	conn, err := t.pool.Acquire(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer conn.Release()
	columns := []string{"user_id", "session_id", "seq", "role", "content", "created_at"}
	if _, err := conn.Exec(ctx, `update oxbow.river_queue set paused_at = null`); err != nil {
		return 0, 0, err
	}
	if _, err := conn.CopyFrom(ctx, pgx.Identifier{"oxbow", "messages"}, columns, pgx.CopyFromRows(rows)); err != nil {
		return 0, 0, err
	}
	// a session that is quiet is due
	if _, err := conn.Exec(ctx, `update oxbow.river_job set state = 'available', scheduled_at = now() where kind = 'extract' and state = 'scheduled'`); err != nil {
		return 0, 0, err
	}
	before, err := t.count(ctx, `oxbow.memory_sources`)
	if err != nil {
		return 0, 0, err
	}
	start := time.Now()
	stop, err := startWorker(ctx, worker.Config{DatabaseURL: t.dsn})
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	end, err := await(ctx, t.pool, 20*time.Millisecond, "select -(select count(*) from oxbow.memory_vectors) - (select count(*) from oxbow.messages where extracted_at is not null)",
		func() (bool, error) {
			return exists(ctx, t.pool, "oxbow.river_job where kind in ('extract', 'embed') and state in "+statesLeft)
		})
	if err != nil {
		return 0, 0, err
	}
	took = end.Sub(start)
	left, err := t.count(ctx, `oxbow.messages where extracted_at is null`)
	if err == nil && left > 0 {
		err = fmt.Errorf("%d messages were not extracted", left)
	}
	if err != nil {
		return 0, 0, err
	}
	after, err := t.count(ctx, `oxbow.memory_sources`)
	return took, after - before, err
}

func (t *talking) count(ctx context.Context, what string) (n int, err error) {
	err = t.pool.QueryRow(ctx, "select count(*) from "+what).Scan(&n)
	return n, err
}

// statement is what a user says: mostly what happened, at times what is so, and what is not worth remembering.
func (t *talking) statement() string {
	w := t.writer
	switch w.IntN(6) {
	case 0:
		return "ok, thanks"
	case 1:
		return fmt.Sprintf("I love my %s %s.", w.of(adjectives), w.of(things))
	case 2:
		return fmt.Sprintf("今天我在%s%s%s%s，%s。", w.of(locations), w.of(doings), w.of(qualities), w.of(objects), w.of(afterwards))
	}
	return fmt.Sprintf("Yesterday I %s the %s %s from %s at the %s %s.", w.of(verbs), w.of(adjectives), w.of(things), w.rare(), w.of(places), w.of(reasons))
}
