package oxbow_test

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/documents"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/store"
)

var eraseRounds = flag.Int("erase.rounds", 2, "rounds of TestEraseAgainstEverythingInFlight")

const thousand = `insert into oxbow.memories (user_id, content) select $1, $1 || ' sails ' || n from generate_series(1, 1000) n`

// erased counts the memories on a receipt.
func erased(r oxbow.Receipt, table string) (rows int64) {
	for _, e := range r.Erased {
		if e.Table == table {
			rows += e.Rows
		}
	}
	return rows
}

// A batch is in flight while its user is erased. The receipt counts it, and nothing remains.
func TestEraseUserCountsWhatIsInFlight(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	b.remember(t, oxbow.NewMemory{UserID: "zoe"})
	batch := begin(t, b.pool)
	_, err := batch.Exec(ctx, thousand, "zoe")
	require.NoError(t, err)

	type answer struct {
		receipt oxbow.Receipt
		err     error
	}
	answers := make(chan answer, 1)
	go func() {
		receipt, err := b.client.EraseUser(ctx, "zoe")
		answers <- answer{receipt, err}
	}()
	require.Eventually(t, func() bool {
		return b.count(t, `select count(*) from oxbow.open_erasures where user_id = 'zoe'`) == 1
	}, 2*time.Minute, time.Millisecond, "the erasure does not wait for the batch")
	require.NoError(t, batch.Commit(ctx))
	a := <-answers
	require.NoError(t, a.err)

	finished, err := b.client.FinishErasures(ctx, "zoe") // in case the machine is too slow for EraseUser
	require.NoError(t, err)
	require.True(t, finished)
	receipt, err := b.client.FindReceipt(ctx, "zoe", uuid.Nil, a.receipt.Proof)
	require.NoError(t, err)
	require.EqualValues(t, 1001, erased(receipt, "memories"))
	require.NotZero(t, receipt.CompletedAt)
	for table, text := range pgtest.Dump(t, b.pool) {
		require.NotContains(t, text, "zoe", table)
	}
}

// An erasure in the caller's transaction stays open until it is finished. What the transaction itself stores after it,
// and what a later one imports with older times, stays.
func TestEraseThenStoreInOneTransaction(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	b.remember(t, oxbow.NewMemory{UserID: "zoe", Content: "Zoe keeps bees."})
	older := begin(t, b.pool)
	_, err := older.Exec(ctx, `select`)
	require.NoError(t, err)

	tx := begin(t, b.pool)
	bound := b.client.WithTx(tx)
	receipt, err := bound.EraseUser(ctx, "zoe")
	require.NoError(t, err)
	require.Zero(t, receipt.CompletedAt)
	finished, err := bound.FinishErasures(ctx, "zoe")
	require.NoError(t, err)
	require.False(t, finished, "it is not committed")
	_, err = bound.Remember(ctx, oxbow.NewMemory{UserID: "zoe", Content: "Zoe keeps hens."})
	require.NoError(t, err)
	require.NoError(t, tx.Commit(ctx))

	finished, err = b.client.FinishErasures(ctx, "zoe")
	require.NoError(t, err)
	require.False(t, finished, "an older transaction is open")
	_, err = b.client.Import(ctx, strings.NewReader(`{"user_id": "zoe", "content": "Zoe keeps goats.", `+
		`"created_at": "2020-01-01T00:00:00Z", "stored_at": "2020-01-01T00:00:00Z"}`), oxbow.ImportOptions{})
	require.NoError(t, err)
	_, err = older.Exec(ctx, `insert into oxbow.memories (user_id, content) values ('zoe', 'Zoe keeps pigs.')`)
	require.NoError(t, err)
	require.NoError(t, older.Commit(ctx))

	b.sweep(t)
	kept := []string{}
	rows, err := b.pool.Query(ctx, `select content from oxbow.memories where user_id = 'zoe' order by content`)
	require.NoError(t, err)
	kept, err = pgx.AppendRows(kept, rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Equal(t, []string{"Zoe keeps goats.", "Zoe keeps hens."}, kept)
	require.Equal(t, 0, b.count(t, `select count(*) from oxbow.open_erasures`))
	receipt, err = b.client.FindReceipt(ctx, "zoe", uuid.Nil, receipt.Proof)
	require.NoError(t, err)
	require.NotZero(t, receipt.CompletedAt)
	require.EqualValues(t, 2, erased(receipt, "memories"))
}

// sweep runs the job sweep.
func (b *bundle) sweep(t *testing.T) {
	t.Helper()
	_, err := b.pool.Exec(t.Context(),
		`insert into oxbow.river_job (kind, queue, max_attempts, args) values ('sweep', 'default', 1, '{}')`)
	require.NoError(t, err)
	b.work(t)
}

// A server that learns nothing of an erasure writes what it noted of the user before.
func TestLateEntriesOfTheLog(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	b.remember(t, oxbow.NewMemory{UserID: "zoe"})
	access := func(at time.Time) store.Access {
		return store.Access{UserID: "zoe", At: at, Role: store.RoleApp, Operation: "recall", Status: 200}
	}
	late := access(time.Now())
	receipt, err := b.client.EraseUser(ctx, "zoe")
	require.NoError(t, err)
	for range 2 { // while the erasure is open, and when it is completed
		require.NoError(t, store.LogAccess(ctx, b.pool, []store.Access{late}))
		require.Equal(t, 0, b.count(t, `select count(*) from oxbow.api_log`))
		_, err = b.client.FinishErasures(ctx, "zoe")
		require.NoError(t, err)
	}
	var now time.Time
	require.NoError(t, b.pool.QueryRow(ctx, `select now()`).Scan(&now))
	require.Greater(t, now, receipt.At)
	require.NoError(t, store.LogAccess(ctx, b.pool, []store.Access{late, access(now)}))
	require.Equal(t, 1, b.count(t, `select count(*) from oxbow.api_log`), "of the new user")
}

// Everything that may be in flight is: batches, conversations, files, imports, feedback and a worker. Their transactions
// begin before the erasure and end at any time. Nothing remains (-erase.rounds 200 repeats it).
func TestEraseAgainstEverythingInFlight(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	writes := map[string]func(c *oxbow.Client, tx pgx.Tx, user string) error{
		"batch": func(_ *oxbow.Client, tx pgx.Tx, user string) error {
			_, err := tx.Exec(ctx, thousand, user)
			return err
		},
		"messages": func(c *oxbow.Client, _ pgx.Tx, user string) error {
			_, err := c.AddMessages(ctx, []oxbow.NewMessage{{UserID: user, SessionID: "s", Content: user + " lives in Rome."}})
			return err
		},
		"file": func(c *oxbow.Client, _ pgx.Tx, user string) error {
			_, err := documents.Ingest(ctx, c, documents.NewFile{UserID: user, Path: "a.txt",
				Content: strings.NewReader(user + " wrote a page.")})
			return err
		},
		"import": func(c *oxbow.Client, _ pgx.Tx, user string) error {
			_, err := c.Import(ctx, strings.NewReader(fmt.Sprintf(`{"user_id": %q, "content": "old news of %s"}`, user, user)),
				oxbow.ImportOptions{})
			return err
		},
		"answer": func(_ *oxbow.Client, tx pgx.Tx, user string) error {
			_, err := tx.Exec(ctx, `select oxbow.answered($1, $1 || '?', 
				array(select id from oxbow.memories where user_id = $1 limit 1000))`, user)
			return err
		},
		"erase": func(_ *oxbow.Client, tx pgx.Tx, user string) error { // its like
			_, err := tx.Exec(ctx, `insert into oxbow.memories (user_id, content) values ($1, $1 || ' rows')`, user)
			if err == nil {
				_, err = tx.Exec(ctx, `select oxbow.erase_user($1)`, user)
			}
			return err
		},
	}
	for round := range *eraseRounds {
		user := fmt.Sprintf("gone %d", round)
		_, err := b.client.RememberMany(ctx, []oxbow.NewMemory{
			{UserID: user, Content: user + " likes tea."}, {UserID: user, Content: user + " likes rain."}})
		require.NoError(t, err)
		var begun, ended sync.WaitGroup
		for name, write := range writes {
			begun.Add(1)
			ended.Go(func() {
				tx, err := b.pool.Begin(ctx)
				begun.Done()
				if err == nil {
					defer tx.Rollback(context.WithoutCancel(ctx)) // a no-op after the commit
					err = write(b.client.WithTx(tx), tx, user)
				}
				if err == nil {
					err = tx.Commit(ctx)
				}
				if err != nil && !store.IsDeadlock(err) && !strings.Contains(err.Error(), "foreign key") {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
		ended.Go(func() { b.work(t) })
		begun.Wait()
		receipt, err := b.client.EraseUser(ctx, user)
		require.NoError(t, err)
		require.NotZero(t, receipt.ID)
		ended.Wait()
		b.work(t)
		finished, err := b.client.FinishErasures(ctx, user)
		require.NoError(t, err)
		require.True(t, finished)
	}
	for table, text := range pgtest.Dump(t, b.pool) {
		require.NotContains(t, text, "gone", table)
	}
}
