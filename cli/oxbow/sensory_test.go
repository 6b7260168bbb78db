package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
)

func TestSensory(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	r := d.run("sensory", "林")
	require.Zero(t, r.code)
	require.Empty(t, r.out)
	require.Equal(t, "The sensory stream of user \"林\" is empty.\n", strings.TrimPrefix(r.err, "oxbow: "))

	d.exec(`insert into oxbow.users (user_id, timezone) values ('林', 'Asia/Shanghai')`)
	d.exec(`insert into oxbow.sensory (user_id, content, kind, at, metadata) values
		('林', E'打开\n日历', 'page', date_trunc('day', now(), 'UTC') - interval '1 day', '{"n": 1}'),
		('林', 'later', 'input',
		now(), '{}'), ('ada', 'other', 'input', now(), '{}')`)
	d.exec(`insert into oxbow.sensory_candidates (user_id, hash, content, times, first_at, last_at) values
		('林', md5('a')::uuid, '打开日历', 4, '2025-10-01T00:00:00Z', '2025-10-02T00:00:00Z'), ('ada',
		md5('a')::uuid, 'other', 9,
		now(), now())`)
	out := d.ok("sensory", "林")
	yesterday := time.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly)
	require.Regexp(t, `(?s)^at +kind +content\n─+\n\S+ \S+ +input +later\n`+yesterday+` 08:00:00 +page +打开 `+
		`日历\n\nCandidates\n\ntimes +first +last +content\n─+\n +4 +2025-10-01 08:00:00 +2025-10-02 08:00:00 +打开日历$`,
		out)

	found := decoded[struct {
		Latest     []oxbow.SensoryItem
		Candidates []oxbow.SensoryCandidate
	}](t, d.ok("sensory", "林", "--limit", "1", "--json"))
	require.Len(t, found.Latest, 1)
	require.Equal(t, "later", found.Latest[0].Content)
	require.Equal(t, 4, found.Candidates[0].Times)
}
