package jsonl

import (
	"bytes"
	"compress/gzip"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func packed(t *testing.T, text string) *bytes.Reader {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := io.WriteString(w, text)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return bytes.NewReader(out.Bytes())
}

// read reads all lines, and returns their number.
func read(t *testing.T, r io.Reader, limits Limits) (n int, err error) {
	t.Helper()
	lines, err := NewLimited(r, limits)
	require.NoError(t, err)
	for lines.Next() {
		n++
	}
	return n, lines.Err
}

func TestLimits(t *testing.T) {
	t.Parallel()
	const line = `{"content": "x"}` + "\n"
	bomb := strings.Repeat(line, 4<<20/len(line)*16) // 64 MiB
	for name, c := range map[string]struct {
		file   io.Reader
		limits Limits
		says   string
	}{
		"plain":      {strings.NewReader(bomb), Limits{}, ""},
		"bomb":       {packed(t, bomb), Limits{}, "it unpacks to more than 50 times its size"},
		"small bomb": {packed(t, bomb[:8<<20]), Limits{}, ""},
		"bytes":      {strings.NewReader(bomb), Limits{Bytes: 1 << 20}, "the file is too large"},
		"packed":     {packed(t, bomb), Limits{Bytes: 1 << 20}, "the file is too large"},
		"line":       {strings.NewReader("\n" + strings.Repeat("x", 3<<20)), Limits{Line: 2 << 20}, "line 2 is longer than 2 MiB"},
		"packed line": {packed(t, strings.Repeat("x", 3<<20)), Limits{Line: 2 << 20},
			"line 1 is longer than 2 MiB"},
	} {
		n, err := read(t, c.file, c.limits)
		if c.says == "" {
			require.NoError(t, err, name)
			require.Greater(t, n, 1000, name)
			continue
		}
		require.ErrorContains(t, err, c.says, name)
	}
	_, err := read(t, packed(t, bomb), Limits{Bytes: 1 << 20})
	require.ErrorIs(t, err, ErrTooLarge)
}

// Texts compress to a third or a tenth of their size.
func TestLinesOfMemoriesAreNoBomb(t *testing.T) {
	t.Parallel()
	var file strings.Builder
	for i := range 200_000 {
		file.WriteString(`{"type":"memory","user_id":"ada","memory_type":"episodic","content":"On day `)
		file.WriteString(strings.Repeat(string(rune('a'+i%26)), 3+i%17))
		file.WriteString(` Heron sailed to Lund.","metadata":{"role":"user"},"importance":0.5}` + "\n")
	}
	n, err := read(t, packed(t, file.String()), Limits{})
	require.NoError(t, err)
	require.Equal(t, 200_000, n)
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		`{"a": "{[{[,,,,", "b": ["\"", "\\"]}`: "",
		strings.Repeat("[", 1000):              "",
		strings.Repeat("[", 1001):              "is nested deeper than 1000",
		strings.Repeat(`"[",`, 100_000):        "",
		strings.Repeat(`{},`, 50_001):          "has more than 100000 values",
		`"`:                                    "", `"\`: "", "": "",
	} {
		if err := Check([]byte(text)); says != "" {
			require.ErrorContains(t, err, says)
		} else {
			require.NoError(t, err, "%.20s", text)
		}
	}
}

func TestCheckNeedsNoMemory(t *testing.T) {
	text := []byte(strings.Repeat(`"[",`, 100_000))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	require.NoError(t, Check(text))
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
}
