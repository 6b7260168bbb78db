package jobs

import (
	"testing"
	"time"

	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// A user's reflections give way to the user's own memories for a minute, and to those of others, which may never end,
// only for a moment.
func TestGivesWay(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	wait := func(user string, n int) {
		_, err := tx.Exec(t.Context(), `
			insert into oxbow.river_job (kind, queue, max_attempts, args)
			select k, k, 25, jsonb_build_object('user_id', $1::text) from generate_series(1, $2::int) i,
				unnest('{embed,extract}'::text[]) k`, user, n)
		require.NoError(t, err)
	}
	wait("flood", 100)
	wait("few", busyJobs/2-1)
	for _, c := range []struct {
		age  time.Duration
		user string
		want bool
	}{
		{time.Second, "ann", true}, {time.Second, "flood", true}, {time.Second, "", true},
		{10 * time.Second, "ann", false}, {10 * time.Second, "few", false}, {10 * time.Second, "flood", true},
		{10 * time.Second, "", false}, {2 * time.Minute, "flood", false},
	} {
		got, err := givesWay(t.Context(), tx, &rivertype.JobRow{CreatedAt: time.Now().Add(-c.age)}, c.user)
		require.NoError(t, err)
		require.Equal(t, c.want, got, "%v", c)
	}
}
