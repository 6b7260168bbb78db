package worker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// sense runs the job.
func (b *bundle) sense() {
	b.Helper()
	b.exec(`insert into oxbow.river_job (kind, queue, max_attempts, args) values ('sensory', 'default', 1, '{}')`)
	require.NoError(b, b.drain())
	require.Zero(b, b.count(`oxbow.river_job where kind = 'sensory' and state <> 'completed'`))
}

func TestSensoryJob(t *testing.T) {
	b := setup(t)
	b.exec(`update oxbow.settings set value = '{"days": 9}' where key = 'sensory'`)
	b.exec(`insert into oxbow.sensory (user_id, content, at) values ('ann', 'old', now() - interval '8 days')`)
	b.exec(`insert into oxbow.sensory (user_id, content) select 'ann', 'tick' from generate_series(1, 5)`)
	b.sense()
	require.Zero(t, b.count(`oxbow.sensory_default`))
	require.Equal(t, 6, b.count(`oxbow.sensory`))

	// The job may have to wait for transactions of other tests.
	require.Eventually(t, func() bool {
		b.sense()
		return b.count(`oxbow.sensory_candidates where user_id = 'ann' and content = 'tick' and times = 5`) == 1
	}, 5*time.Minute, 10*time.Millisecond)
	require.Equal(t, 1, b.count(`oxbow.sensory_candidates`))

	b.exec(`update oxbow.settings set value = '{"days": 3}' where key = 'sensory'`)
	b.sense()
	require.Equal(t, 5, b.count(`oxbow.sensory`))
	require.Zero(t, b.count(`oxbow.memories`), "the stream is not remembered")
	require.Zero(t, b.count(`oxbow.river_job where kind = 'embed'`))
}

// An oxbow_worker login creates and drops the daily partitions although it does not own the table.
func TestSensoryJobIsNotTheOwners(t *testing.T) {
	b := setup(t)
	b.exec(`insert into oxbow.sensory (user_id, content) values ('ann', 'tick')`)
	tx, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(t.Context())
	_, err = tx.Exec(t.Context(), `set local role oxbow_worker`)
	require.NoError(t, err)
	var made, moved int
	require.NoError(t, tx.QueryRow(t.Context(), `select made, moved from oxbow.sensory_partitions()`).Scan(&made,
		&moved))
	require.Equal(t, []int{6, 1}, []int{made, moved})
}
