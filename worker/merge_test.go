package worker

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

var lunches = []string{"Had lentil soup for lunch at my desk", "Lentil soup for lunch at my desk again",
	"I had the lentil soup at my desk for lunch today", "Ate lentil soup for lunch at my desk, as usual",
	"For lunch, lentil soup at my desk once more", "I also had lentil soup for lunch at my desk"}

var lunchesZh = []string{"午饭在工位吃了扁豆汤", "今天午饭又在工位吃了扁豆汤", "我午饭还是在工位吃的扁豆汤", "午饭照例在工位吃了扁豆汤。", "在工位午饭吃了扁豆汤"}

// Thirteen notes of the same lunch become one memory, in both languages, and other meals stay.
func TestMerge(t *testing.T) {
	for language, l := range map[string]struct {
		notes, others []string
		query, merged string
	}{
		"en": {lunches, []string{"Had tomato soup for lunch at my desk", "Had lentil soup for dinner with Tom"},
			"lentil soup for lunch", "lentil soup for lunch at my desk%(13 times, 2026-11-01 to 2026-11-13)"},
		"zh": {lunchesZh, []string{"午饭在工位吃了番茄汤", "晚饭跟小明吃了扁豆汤"},
			"午饭吃扁豆汤", "%扁豆汤（13次，2026-11-01至2026-11-13）"},
	} {
		t.Run(language, func(t *testing.T) {
			b := setup(t)
			for i := range 13 {
				b.exec(`insert into oxbow.memories (user_id, memory_type, content, valid_at, category) values
					('ann', 'episodic', $1, $2::timestamptz, 'interest')`, l.notes[i%len(l.notes)],
					fmt.Sprintf("2026-11-%02d 12:30Z", i+1))
				if i == 5 { // some come one by one, some together
					b.work()
				}
			}
			for _, o := range l.others {
				b.exec(`insert into oxbow.memories (user_id, memory_type, content) values ('ann', 'episodic', $1)`, o)
			}
			b.work()
			b.work() // what gave way
			require.Equal(t, 1, b.count(`oxbow.memories where source = 'merge' and lower(content) like '%'||$1
				and metadata #>> '{merged,count}' = '13' and mention_count = 13 and category = 'stable_preference'
				and valid_at = '2026-11-01 12:30Z' and expired_at is null`, l.merged), "%v", get[[]string](b,
				`select array_agg(content) from oxbow.memories where expired_at is null`))
			current := `oxbow.memories where memory_type = 'episodic' and expired_at is null and forgotten_at is null`
			require.Equal(t, 1+len(l.others), b.count(current))
			require.Equal(t, 1+len(l.others), b.count(`oxbow.recall('ann', $1) where memory_type = 'episodic'`, l.query))

			b.exec(`select oxbow.unmerge('ann', id) from oxbow.memories where source = 'merge'`)
			b.work()
			require.Equal(t, 13+len(l.others), b.count(current))
		})
	}
}

// Imported memories are not merged until they are repeated.
func TestImportedMemories(t *testing.T) {
	b := setup(t)
	b.exec(`select set_config('oxbow.origin', 'import', false)`)
	for i, note := range lunches {
		b.exec(`insert into oxbow.memories (user_id, memory_type, content, valid_at)
			values ('ann', 'episodic', $1, '2026-11-01 12:30Z'::timestamptz + $2 * interval '1 day')`, note, i)
	}
	b.work()
	require.Equal(t, len(lunches), b.count(`oxbow.memories where expired_at is null and memory_type = 'episodic'`))

	b.exec(`select set_config('oxbow.origin', '', false)`)
	b.exec(`insert into oxbow.memories (user_id, memory_type, content, valid_at)
		values ('ann', 'episodic', $1, '2026-11-13 12:30Z'::timestamptz)`, lunches[0])
	b.work()
	require.Equal(t, 1, b.count(`oxbow.memories where expired_at is null and memory_type = 'episodic'`))
	require.Equal(t, 1, b.count(`oxbow.memories where metadata #>> '{merged,count}' = $1`, fmt.Sprint(1+len(lunches))))
}
