package store

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/internal/traittest"
)

// Operators read what they need with the rights of their role.
func TestOperator(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	owner, operator := pgtest.Open(t, dsn, ""), pgtest.Open(t, dsn, "oxbow_operator")
	exec := func(sql string, args ...any) {
		t.Helper()
		_, err := owner.Exec(t.Context(), sql, args...)
		require.NoError(t, err)
	}
	day := func(n int) time.Time {
		return time.Now().Add(time.Duration(n) * 24 * time.Hour).Truncate(time.Microsecond)
	}
	trait := func(user, content string) uuid.UUID {
		return traittest.Trait{UserID: user, Content: content, Events: []traittest.Event{
			traittest.Created(day(-10), 0.4, traittest.Evidence{Content: "Rowed at dawn.", At: day(-11), Session: "s1"}),
			traittest.Contradicted(day(-5), 0.2, traittest.Evidence{Content: "Slept until noon.", At: day(-6), Session: "s2", Against: true}),
		}}.Insert(t, owner)
	}
	due, secret, calm := trait("ada", "Gets up early."), trait("bob", "Has a pin."), trait("ada", "Likes tea.")
	waits := day(-5)
	exec(`update oxbow.memories_trait set trait_review_due_at = $2 where id = $1`, due, day(-4))
	exec(`update oxbow.memories_trait set trait_review_due_at = $2, sensitivity = 2 where id = $1`, secret, waits)
	exec(`insert into oxbow.river_job (kind, queue, args, state, attempt, errors)
		values ('contradiction_review', 'reflect', '{"user_id": "ada"}', 'retryable', 2, array['{"error": "no answer"}']::jsonb[])`)
	exec(`insert into oxbow.users (user_id, opted_out) values ('bob', true)`)

	found, err := Contradictions(t.Context(), operator, 10)
	require.NoError(t, err)
	require.Len(t, found, 2, "not %s", calm)
	require.Equal(t, Contradiction{UserID: "bob", TraitID: secret, Stage: "emerging", Since: waits.UTC(), Supporting: 1,
		Contradicting: 1, Against: []string{"Slept until noon."}, OptedOut: true}, inUTC(found[0]))
	require.Equal(t, "Gets up early.", found[1].Content)
	require.Equal(t, []string{"retryable", "no answer"}, []string{found[1].JobState, found[1].JobError})
	found, err = Contradictions(t.Context(), operator, 1)
	require.NoError(t, err)
	require.Len(t, found, 1)

	p, err := PersonOf(t.Context(), operator, "ada")
	require.NoError(t, err)
	require.True(t, p.Known)
	require.EqualValues(t, 1, p.Reviews)
	require.EqualValues(t, 2, p.Types[2].Current, "traits")
	p, err = PersonOf(t.Context(), operator, "bob")
	require.NoError(t, err)
	require.EqualValues(t, 1, p.Secret)
	p, err = PersonOf(t.Context(), operator, "eve")
	require.NoError(t, err)
	require.False(t, p.Known)

	exec(`insert into oxbow.river_job (kind, queue, args, state, attempt, finalized_at)
		select 'embed', 'embed', '{"user_id": "ada"}', 'discarded', 25, now() from generate_series(1, 3)`)
	retried, err := RetryFailed(t.Context(), operator, "embed")
	require.NoError(t, err)
	require.EqualValues(t, 3, retried)
	retried, err = RetryFailed(t.Context(), operator, "embed")
	require.NoError(t, err)
	require.Zero(t, retried)
}

func inUTC(c Contradiction) Contradiction {
	c.Since = c.Since.UTC()
	return c
}

func TestAPIKeysInPages(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	for _, name := range []string{"one", "two", "three"} {
		_, _, err := CreateAPIKey(t.Context(), pool, APIKey{Role: RolePerson, UserID: "ada", Name: name})
		require.NoError(t, err)
	}
	names := func(keys []APIKey, err error) (names []string) {
		require.NoError(t, err)
		for _, k := range keys {
			names = append(names, k.Name)
		}
		return names
	}
	first, err := APIKeys(t.Context(), pool, uuid.Nil, 2)
	require.Equal(t, []string{"three", "two"}, names(first, err))
	require.Equal(t, []string{"one"}, names(APIKeys(t.Context(), pool, first[1].ID, 2)))
	require.Equal(t, []string{"three", "two", "one"}, names(KeysOf(t.Context(), pool, "ada")))
}
