package jobs

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The docs list each kind with its queue and period, and say how long its completed jobs are kept.
func TestKinds(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/jobs.md")
	require.NoError(t, err)
	brief := Names(func(k *Kind) bool { return k.Retention < MaxRetention })
	require.Contains(t, strings.Join(strings.Fields(string(page)), " "),
		"Completed jobs are deleted after "+inWords(MaxRetention)+", those of `"+
			strings.Join(brief, "`, `")+"` after "+inWords(busyRetention)+".")
	rows := map[string][]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| `([a-z]+)` \\| ([^|]+) \\|").FindAllStringSubmatch(
		string(page), -1) {
		rows[m[1]] = m[2:]
	}
	for _, k := range Kinds() {
		require.Contains(t, []time.Duration{busyRetention, MaxRetention}, k.Retention, k.Name)
		require.Contains(t, rows, k.Name)
		require.Equal(t, k.Queue, rows[k.Name][0], k.Name)
		if k.Periodic() {
			require.Equal(t, k.Period(), rows[k.Name][1], k.Name)
		}
		require.NotEmpty(t, k.Does, k.Name)
		if k.Name == "flush_activity" { // with less, uses could be reported faster than they are added up
			require.GreaterOrEqual(t, k.Timeout(Config{}), k.Every*4/5)
		}
		require.Equal(t, !k.Periodic(), k.OfUser, "%s: a job that is not about one user comes with the clock", k.Name)
		delete(rows, k.Name)
	}
	require.Empty(t, rows, "kinds that do not exist")
	require.True(t, KindOf("sweep").Periodic())
	require.False(t, KindOf("embed").Periodic())
	require.False(t, KindOf("unknown").Periodic())
}
