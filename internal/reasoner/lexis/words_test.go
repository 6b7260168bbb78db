package lexis

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func read(text string) (*Words, error) {
	return Read(fstest.MapFS{"a.txt": {Data: []byte(text)}})
}

func TestWords(t *testing.T) {
	t.Parallel()
	w, err := read("# what this is\n[fruit.en]\napple\npear tree\n\n# more\n[colour]\nred = warm\n")
	require.NoError(t, err)
	require.Equal(t, []string{"pear tree", "apple"}, w.List("fruit.en"))
	require.Equal(t, []string{"colour"}, w.Unused())
	require.Equal(t, map[string]string{"red": "warm"}, w.Map("colour"))
	require.Equal(t, map[string]bool{"apple": true, "pear tree": true}, w.Set("fruit.en"))
	require.Empty(t, w.Unused())
	require.PanicsWithValue(t, "no list of words is named wine", func() { w.List("wine") })
	require.Panics(t, func() { w.Map("fruit.en") })
}

func TestWordsThatAreWrong(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"apple\n":                    `a.txt:1: "apple" stands before the first list`,
		"[fruit]\npear\napple\n":     `a.txt:3: "apple" comes before "pear": sort list fruit`,
		"[fruit]\napple\napple\n":    `a.txt:3: "apple" is in list fruit twice`,
		"[fruit]\n\n apple\n":        `a.txt:3: " apple" begins or ends with a space`,
		"[fruit]\n[fruit]\n":         `a.txt:2: list fruit exists already`,
		"[fruit]\nb\na\n[x]\nz\nz\n": "a.txt:3: \"a\" comes before \"b\": sort list fruit\na.txt:6: \"z\" is in list x twice",
	} {
		_, err := read(text)
		require.EqualError(t, err, want)
	}
}
