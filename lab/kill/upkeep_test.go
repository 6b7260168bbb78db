package kill

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
)

// However often the worker is killed while it counts uses and sensory texts and repairs what lost jobs left undone, each
// use and each text counts once, and nothing stays lost.
func TestKilledUpkeepCountsOnce(t *testing.T) {
	t.Parallel()
	k := newKilling(t)
	k.exec(k.dsn, `
		insert into oxbow.memories (user_id, memory_type, content, created_at)
		select 'person ' || i % 20, 'episodic', 'Saw heron number ' || i, now() - interval '1 hour'
		  from generate_series(1, 100) i;
		delete from oxbow.river_job;
		select oxbow.touch(m.user_id, array[m.id], n % 2 = 0) from oxbow.memories m, generate_series(1, 11) n;
		insert into oxbow.sensory (user_id, content) select 'person ' || i % 20, 'Opened page ' || i % 60
		  from generate_series(1, 2500) i`) // two batches of each
	// sensory counts no texts while an older transaction is open, such as that of another test.
	require.Eventually(k, func() bool {
		return k.count(k.dsn, `oxbow.sensory where tx >= pg_snapshot_xmin(pg_current_snapshot())`) == 0
	}, commandLimit, 20*time.Millisecond)
	calm, wild := k.clone("calm"), k.clone("wild")
	for _, kind := range []string{"flush_activity", "sensory", "sweep"} {
		k.run(kind, calm, wild)
	}
	lines := k.work(calm, wild, k.upkept, []string{failpoint.SweepStep, failpoint.FlushBatch, failpoint.SensoryBatch})
	require.Len(t, lines, 100+60)
	require.Equal(t, 100, k.count(wild, `oxbow.memories m join oxbow.memory_vectors v on v.user_id = m.user_id
		and v.memory_id = m.id where m.access_count = 11`))
	require.Zero(t, k.count(wild, `oxbow.activity`))
	k.oxbow(wild, "check")
}

// upkept returns what upkeep wrote, except what depends on the clock.
func (k *killing) upkept(dsn string) []string {
	return k.lines(dsn,
		`select jsonb_build_array('memory', m.user_id, m.content, m.access_count, m.strength,
			(select count(*) from oxbow.memory_vectors v where v.user_id = m.user_id and v.memory_id = m.id))
			from oxbow.memories_episodic m`,
		`select jsonb_build_array('sensory', user_id, content, times) from oxbow.sensory_candidates`)
}

// Every failpoint that the program has kills it in a test of this package; that of migrations does in package chaos. A
// test fails if it does not reach its points.
func TestEveryPointKills(t *testing.T) {
	t.Parallel()
	read := func(pattern string) string {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		var all strings.Builder
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			all.Write(text)
		}
		return all.String()
	}
	points := regexp.MustCompile(`(?m)^\t(\w+)\s+= "(\w+\.\w+)"`).FindAllStringSubmatch(
		read("../../internal/failpoint/failpoint.go"), -1)
	require.Greater(t, len(points), len(failpoint.Worker()))
	program, tests := read("../../jobs/*.go")+read("../../internal/*/*.go")+read("../../migrations/*.go"),
		read("*_test.go")+read("../chaos/chaos_test.go")
	for _, p := range points {
		require.Contains(t, program, "failpoint.Reach(failpoint."+p[1]+")")
		require.Regexp(t, `failpoint\.`+p[1]+`\b`, tests)
		if !regexp.MustCompile(`^(Migrate|Import)`).MatchString(p[1]) {
			require.Contains(t, failpoint.Worker(), p[2])
		}
	}
}
