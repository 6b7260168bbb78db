package oxbow_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// calls are all methods that concern one user, each on its own memory.
var calls = map[string]func(t *testing.T, c *oxbow.Client, user string, id uuid.UUID) error{
	"Get": func(t *testing.T, c *oxbow.Client, user string, id uuid.UUID) error {
		_, err := c.Get(t.Context(), user, id)
		return err
	},
	"Recall": func(t *testing.T, c *oxbow.Client, user string, _ uuid.UUID) error {
		_, err := c.Recall(t.Context(), oxbow.Query{UserID: user, Text: "cello"})
		return err
	},
	"History": func(t *testing.T, c *oxbow.Client, user string, id uuid.UUID) error {
		_, err := c.History(t.Context(), user, id)
		return err
	},
	"Versions": func(t *testing.T, c *oxbow.Client, user string, id uuid.UUID) error {
		_, err := c.Versions(t.Context(), user, id)
		return err
	},
	"Timeline": func(t *testing.T, c *oxbow.Client, user string, _ uuid.UUID) error {
		_, err := c.Timeline(t.Context(), oxbow.TimelineQuery{UserID: user, Topic: "cello"})
		return err
	},
	"Supersede": func(t *testing.T, c *oxbow.Client, user string, id uuid.UUID) error {
		_, err := c.Supersede(t.Context(), user, id, oxbow.Replacement{Content: "new"})
		return err
	},
	"Forget": func(t *testing.T, c *oxbow.Client, user string, id uuid.UUID) error {
		return c.Forget(t.Context(), user, id, "")
	},
	"Restore": func(t *testing.T, c *oxbow.Client, user string, id uuid.UUID) error {
		if err := c.Forget(t.Context(), user, id, ""); err != nil {
			return err
		}
		return c.Restore(t.Context(), user, id)
	},
	"EraseMemory": func(t *testing.T, c *oxbow.Client, user string, id uuid.UUID) error {
		_, err := c.EraseMemory(t.Context(), user, id)
		return err
	},
	"EraseUser": func(t *testing.T, c *oxbow.Client, user string, _ uuid.UUID) error {
		_, err := c.EraseUser(t.Context(), user)
		return err
	},
	"RememberTwice": func(t *testing.T, c *oxbow.Client, user string, _ uuid.UUID) error {
		for range 2 {
			if _, err := c.Remember(t.Context(), oxbow.NewMemory{UserID: user, Content: "x",
				ExternalID: "e"}); err != nil {
				return err
			}
		}
		return nil
	},
}

// An oxbow_app login needs no settings when the client begins the transactions. In a transaction or on a
// connection that names another user, it has no access to this user.
func TestApplicationLogin(t *testing.T) {
	t.Parallel()
	b := setup(t)
	app := b.app(t)
	bound := newClient(t, pgtest.Open(t, b.dsn, "oxbow_app", "oxbow.user_id", "bob"))
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			id := b.remember(t, oxbow.NewMemory{UserID: name})
			before := pgtest.Dump(t, b.pool)
			refused := oxbow.ErrDenied
			if name == "Get" {
				refused = oxbow.ErrNotFound // row-level security hides the row
			}
			require.ErrorIs(t, call(t, bound, name, id), refused, "the connection names bob")
			for _, setting := range []string{"", "bob"} {
				tx := begin(t, pgtest.Open(t, b.dsn, "oxbow_app"))
				_, err := tx.Exec(t.Context(), `select set_config('oxbow.user_id', $1, true)`, setting)
				require.NoError(t, err)
				require.ErrorIs(t, call(t, app.WithTx(tx), name, id), refused, "the transaction names %q", setting)
				require.NoError(t, tx.Rollback(t.Context()))
			}
			after := pgtest.Dump(t, b.pool)
			if name == "RememberTwice" { // inserting for another user is allowed, reading is not
				before, after = nil, nil
			}
			require.Equal(t, before, after, "what was refused changed nothing")

			tx := begin(t, pgtest.Open(t, b.dsn, "oxbow_app"))
			_, err := tx.Exec(t.Context(), `select set_config('oxbow.user_id', $1, true)`, name)
			require.NoError(t, err)
			require.NoError(t, call(t, app.WithTx(tx), name, id))
			require.NoError(t, tx.Rollback(t.Context()))

			require.NoError(t, call(t, app, name, id))
			require.NoError(t, call(t, newClient(t, pgtest.Open(t, b.dsn, "oxbow_worker")), name,
				b.remember(t, oxbow.NewMemory{UserID: name})), "the worker")
		})
	}
}

func TestApplicationLoginMayWriteForAnyUser(t *testing.T) {
	t.Parallel()
	b := setup(t)
	app := b.app(t)
	_, err := app.RememberMany(t.Context(), []oxbow.NewMemory{{UserID: "ann", Content: "x"},
		{UserID: "bob", Content: "x"}})
	require.NoError(t, err)
	report, err := app.Import(t.Context(), strings.NewReader(conversation), oxbow.ImportOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 3, report.New)

	// The same in a transaction that names no user.
	tx := begin(t, pgtest.Open(t, b.dsn, "oxbow_app"))
	_, err = app.WithTx(tx).Remember(t.Context(), oxbow.NewMemory{UserID: "ann", Content: "y", ExternalID: "y"})
	require.NoError(t, err)
	_, err = app.WithTx(tx).Import(t.Context(), strings.NewReader(conversation), oxbow.ImportOptions{})
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context()))
	require.Equal(t, 7, b.count(t, `select count(*) from oxbow.memories`))
}

func TestApplicationLoginMayNotImportTraitsOrHistory(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.fill(t, "Zebedee")
	var file bytes.Buffer
	_, err := b.app(t).ExportUser(t.Context(), "Zebedee", &file)
	require.NoError(t, err)
	require.Contains(t, file.String(), "lives in Berlin")
	_, err = b.app(t).EraseUser(t.Context(), "Zebedee")
	require.NoError(t, err)
	_, err = b.app(t).Import(t.Context(), strings.NewReader(file.String()), oxbow.ImportOptions{Traits: true})
	require.ErrorContains(t, err, "memory_type must not be trait: only reflection creates traits")
	history := linesWith(file.String(), `"type": "memory_history"`)
	require.NotEmpty(t, history)
	_, err = b.app(t).Import(t.Context(), strings.NewReader(history), oxbow.ImportOptions{Traits: true})
	require.ErrorIs(t, err, oxbow.ErrDenied)
	_, err = b.app(t).Import(t.Context(),
		strings.NewReader(`{"user": "ann", "memory_type": "trait", "content": "is patient"}`),
		oxbow.ImportOptions{Traits: true})
	require.ErrorContains(t, err, "memory_type must not be trait: only reflection creates traits")
	require.Equal(t, 0, b.count(t, `select count(*) from oxbow.memories`))
}

// A user id in a statement is quoted.
func TestHostileUserIDs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	app := b.app(t)
	for _, user := range []string{`'; drop table oxbow.memories; --`, `\'; select 1; --`, `\\`, `$1`, `"`, `%s`, "a\nb",
		"安", " "} {
		id, err := app.Remember(t.Context(), oxbow.NewMemory{UserID: user, Content: "x"})
		require.NoError(t, err)
		m, err := app.Get(t.Context(), user, id)
		require.NoError(t, err, user)
		require.Equal(t, user, m.UserID)
		_, err = app.EraseUser(t.Context(), user)
		require.NoError(t, err)
	}
}

// Poolers in transaction mode do not support prepared statements.
func TestWithoutPreparedStatements(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
		pgx.QueryExecModeDescribeExec, pgx.QueryExecModeCacheDescribe} {
		cfg := pgtest.Open(t, b.dsn, "").Config()
		cfg.ConnConfig.DefaultQueryExecMode = mode
		client := newClient(t, pgtest.PoolOf(t, cfg))
		for name, call := range calls {
			user := name + " " + mode.String()
			id, err := client.Remember(t.Context(), oxbow.NewMemory{UserID: user, Content: "x",
				Metadata: map[string]any{"a": 1}})
			require.NoError(t, err)
			require.NoError(t, call(t, client, user, id), user)
		}
		_, err := client.Import(t.Context(), strings.NewReader(strings.ReplaceAll(conversation, "conv", mode.String())),
			oxbow.ImportOptions{})
		require.NoError(t, err, mode.String())
		var file bytes.Buffer
		_, err = client.ExportUser(t.Context(), mode.String()+"-1", &file)
		require.NoError(t, err)
		require.Contains(t, file.String(), "I adopted a cat.")
	}
}
