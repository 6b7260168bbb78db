package eval

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestReadLives(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("../../examples/weights.jsonl")
	require.NoError(t, err)
	require.True(t, IsLives(file))
	require.False(t, IsLives([]byte(sample)))
	lives, err := ReadLives(strings.NewReader(string(file)))
	require.NoError(t, err)
	require.Len(t, lives, 60)
	kinds := map[string]int{}
	for _, l := range lives {
		kinds[l.Kind()[3:]]++
	}
	require.Equal(t, map[string]int{"use": 8, "mention": 8, "time": 10, "neg": 10, "cat": 6, "rec": 10, "corr": 4,
		"var": 2, "keep": 2}, kinds)
	require.Equal(t, Ago(50*24*time.Hour), lives[0].Steps[0].Ago)
}

func TestReadLivesRefuses(t *testing.T) {
	t.Parallel()
	life := func(step, check string) string {
		return `{"life":"a-1","steps":[{"ago":"3d","insert":"x","as":"a"}` + step + `],"checks":[{"query":"x"` + check + `}]}`
	}
	_, err := ReadLives(strings.NewReader(life("", "")))
	require.NoError(t, err)
	for text, want := range map[string]string{
		life(`,{"ago":"soon","use":["a"]}`, ""):          `line 1: must be a time such as 90m, 3h or 12d, got "soon"`,
		life(`,{"ago":"-1d","use":["a"]}`, ""):           `must be a time`,
		life(`,{"ago":"1d","use":["b"]}`, ""):            `line 1: step 2: no earlier step has the name "b"`,
		life(`,{"ago":"1d"}`, ""):                        `step 2 must have one of insert`,
		life(`,{"ago":"1d","say":"x","use":["a"]}`, ""):  `and has 2`,
		life(`,{"ago":"1d","correct":"x","of":"c"}`, ""): `no earlier step has the name "c"`,
		life("", `,"order":["z"]`):                       `line 1: check 1: no earlier step has the name "z"`,
		life("", `,"heavier":["a","z"]`):                 `no earlier step has the name "z"`,
		life("", `,"colour":"red"`):                      `unknown field "colour"`,
		`{"life":"a-1","steps":[],"checks":[]}`:          `must have a name and checks`,
		`{"life":3}`:                                     `line 1:`,
	} {
		_, err := ReadLives(strings.NewReader(text))
		require.ErrorContains(t, err, want)
	}
}
