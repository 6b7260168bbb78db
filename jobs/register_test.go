package jobs

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// The kinds are those of the table in the docs.
func TestKinds(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/jobs.md")
	require.NoError(t, err)
	var told []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| `[a-z]+` \\|").FindAllSubmatch(page, -1) {
		told = append(told, string(m[1]))
	}
	kinds := Kinds()
	slices.Sort(kinds)
	slices.Sort(told)
	require.Equal(t, told, kinds)
	require.True(t, IsPeriodic("sweep"))
	require.False(t, IsPeriodic("embed"))
}
