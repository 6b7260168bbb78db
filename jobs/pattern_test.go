package jobs

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/privacy"
	"github.com/oxbow-memory/oxbow/store"
)

// sharing is an installation whose users share their patterns.
type sharing struct {
	*testing.T
	pool *pgxpool.Pool
	db   *pgxpool.Pool // of the worker
	now  time.Time
	log  bytes.Buffer
	seed byte
}

func newSharing(t *testing.T) *sharing {
	s := &sharing{T: t, now: time.Now().Truncate(time.Microsecond)}
	s.pool, s.db = newDatabase(t)
	s.exec(`insert into oxbow.settings (key, value) values ('patterns', '{"enabled": true}')`)
	return s
}

func (s *sharing) exec(sql string, args ...any) {
	s.Helper()
	_, err := s.pool.Exec(s.Context(), sql, args...)
	require.NoError(s, err)
}

// people adds users with an emerging trait of each key. Only the shared ones opted in.
func (s *sharing) people(name string, n int, shared bool, keys ...string) {
	s.Helper()
	s.exec(`insert into oxbow.users (user_id, share_patterns) select $1 || n, $3 from generate_series(1, $2) n
		on conflict do nothing`, name, n, shared)
	tx, err := s.pool.Begin(s.Context())
	require.NoError(s, err)
	_, err = tx.Exec(s.Context(), "select set_config('oxbow.origin', 'reflection', true)")
	require.NoError(s, err)
	_, err = tx.Exec(s.Context(), `insert into oxbow.memories (user_id, memory_type, content, trait_subtype, trait_stage, trait_confidence,
		    trait_confidence_at, trait_context, trait_key)
		select $1 || n, 'trait', 'secret of ' || n || k, 'preference', 'emerging', 0.5, now(), 'work', k
		  from generate_series(1, $2) n, unnest($3::text[]) k`, name, n, keys)
	require.NoError(s, err)
	require.NoError(s, tx.Commit(s.Context()))
}

// release runs the job later, with the noise of a seed, and returns what is published.
func (s *sharing) release(after time.Duration) map[string]int64 {
	s.Helper()
	s.now, s.seed = s.now.Add(after), s.seed+1
	w := &patternWorker{Config{DB: s.db, Patterns: []string{"group:run", "group:cook", "group:read", "group:sail"},
		Now: func() time.Time { return s.now }, Logger: slog.New(slog.NewTextHandler(&s.log, nil))},
		privacy.Source{Random: rand.NewChaCha8([32]byte{s.seed})}}
	require.NoError(s, w.Work(s.Context(), nil))
	counts, err := store.Collect[store.PatternCount](s.Context(), s.pool,
		"select pattern, context, users from oxbow.pattern_counts")
	require.NoError(s, err)
	published := map[string]int64{}
	for _, c := range counts {
		published[c.Pattern+" "+c.Context] = c.Users
	}
	return published
}

func (s *sharing) number(sql string) (n float64) {
	s.Helper()
	require.NoError(s, s.pool.QueryRow(s.Context(), sql).Scan(&n))
	return n
}

const aRelease = 61 * 24 * time.Hour

// Only what enough users share is published, with noise and without texts; withdrawal counts at the next release.
func TestPatternReleases(t *testing.T) {
	t.Parallel()
	s := newSharing(t)
	s.people("a", 200, true, "group:run", "own words of a person")
	s.people("b", 12, true, "group:cook")
	s.people("c", 200, false, "group:read")
	first := s.release(0)
	require.Len(t, first, 1)
	require.InDelta(t, 200, first["group:run work"], 40)
	require.Equal(t, first, s.release(time.Hour), "the next release is not due")
	require.InDelta(t, 1, s.number("select sum(epsilon) from oxbow.pattern_releases"), 1e-9)

	s.exec("update oxbow.users set share_patterns = false where user_id <= 'a2'") // 112 of the 200
	s.exec("select oxbow.erase_user('a' || n) from generate_series(20, 29) n")
	left := s.number("select count(*) from oxbow.users where share_patterns and user_id like 'a%'")
	require.InDelta(t, left, s.release(aRelease)["group:run work"], 40)

	s.exec("update oxbow.users set share_patterns = false")
	require.Empty(t, s.release(aRelease))
	s.exec(`update oxbow.settings set value = '{"enabled": false}' where key = 'patterns'`)
	require.Empty(t, s.release(aRelease))
	require.InDelta(t, 3, s.number("select count(*) from oxbow.pattern_releases"), 0, "off: nothing is spent")
}

// Switching the setting off withdraws the latest release at once.
func TestPatternsSwitchedOff(t *testing.T) {
	t.Parallel()
	s := newSharing(t)
	s.people("a", 200, true, "group:run")
	require.Len(t, s.release(0), 1)
	s.exec("delete from oxbow.settings where key = 'patterns'")
	require.Empty(t, s.release(time.Minute))
}

// Without budget there is no release: the last one stays, and so does the account.
func TestPatternBudget(t *testing.T) {
	t.Parallel()
	s := newSharing(t)
	s.exec("select oxbow.set_policy('pattern_budget', 2)")
	s.people("a", 200, true, "group:run")
	s.release(0)
	second := s.release(aRelease)
	s.people("b", 300, true, "group:cook")
	require.Equal(t, second, s.release(aRelease))
	require.Contains(t, s.log.String(), "budget is exhausted")
	require.InDelta(t, 2, s.number("select sum(epsilon) from oxbow.pattern_releases"), 1e-9)
	require.Len(t, s.release(366*24*time.Hour), 2, "a year later the first releases no longer count")
}

// A user with many traits counts for pattern_per_user of them, the surest.
func TestPatternContribution(t *testing.T) {
	t.Parallel()
	s := newSharing(t)
	s.people("a", 1, true, "group:run", "group:cook", "group:read", "group:sail")
	s.exec("update oxbow.memories set trait_confidence = 0.4 where trait_key = 'group:cook'")
	counts, err := store.CountPatterns(t.Context(), s.pool,
		[]string{"group:run", "group:cook", "group:read", "group:sail"}, patternContexts, 3)
	require.NoError(t, err)
	require.Len(t, counts, 4*len(patternContexts), "zeros too")
	var total int64
	for _, c := range counts {
		total += c.Users
		require.False(t, c.Pattern == "group:cook" && c.Users > 0)
	}
	require.EqualValues(t, 3, total)
}

// One user more changes the probability of no outcome of a release by more than a factor of exp(ε): here, whether a
// pattern is published.
func TestPatternMembership(t *testing.T) {
	t.Parallel()
	const releases, epsilon = 20_000, 1.0
	w := &patternWorker{noise: privacy.Source{Random: rand.NewChaCha8([32]byte{9})}}
	b := store.PatternBudget{Epsilon: epsilon, UsersMin: 20, PerUser: 3}
	published := func(users int64) (share float64) {
		for range releases {
			noisy, err := w.release(b, []store.PatternCount{{Pattern: "p", Context: "work", Users: users}})
			require.NoError(t, err)
			share += float64(len(noisy)) / releases
		}
		return share
	}
	for _, users := range []int64{28, 32, 36} {
		with, without := published(users+1), published(users)
		error := 4 * math.Sqrt(1/(with*releases)+1/(without*releases))
		require.Less(t, math.Abs(math.Log(with/without)), epsilon/3+error,
			fmt.Sprintf("%d users: published in %.3f and %.3f", users, with, without))
		require.Positive(t, without)
	}
}
