package eval

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const sample = `
{"type":"memory","user":"ada","id":"1","session":"s","seq":1,"content":"The boat is called Heron."}
{"user":"林","id":"1","content":"船叫白鹭。"}

{"type":"question","user":"ada","question":"What is the boat called?","gold":["1","9","1"],"category":"single"}
{"type":"memory","user_id":"ada","external_id":"2","content":"It leaks."}
{"type":"question","user":"林","question":"船叫什么？","gold":["1"]}
{"type":"question","user":"林","question":"它漏水吗？","gold":["2"]}
{"type":"question","user":"ada","question":"Nobody knows?","gold":[]}
{"type":"question","user":"ada","question":"When?","gold_sessions":["s"],"unwanted":["2"],"at":"2026-01-02T03:04:05Z","metadata":{"x":1}}
{"type":"memory","user":"ada","session_id":"s","content":"It is old."}
{"type":"question","user":"ada","question":"Why?","gold_sessions":["t"],"unwanted":["3"]}
{"type":"point","user":"ada","id":"p","session":"s","content":"Ada has a boat."}
{"type":"sessions","user_id":"zoe","id":"x"}
`

func TestRead(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	gz := gzip.NewWriter(&packed)
	_, err := gz.Write([]byte(sample))
	require.NoError(t, err)
	require.NoError(t, gz.Close())

	for name, text := range map[string]string{"plain": sample, "gzip": packed.String(), "marked": "\ufeff" +
		sample[1:]} {
		set, err := Read(strings.NewReader(text))
		require.NoError(t, err, name)
		require.Equal(t, []string{"ada", "林"}, set.Users)
		require.Equal(t, 4, set.Memories)
		require.Len(t, set.Questions, 6)
		require.Equal(t, []string{"1", "9"}, set.Questions[0].Gold, "each once")
		require.Equal(t, "single", set.Questions[0].Category)
		require.Equal(t, "船叫什么？", set.Questions[1].Text)
		require.True(t, set.Questions[3].Nothing())
		last := set.Questions[4]
		require.False(t, last.Nothing())
		require.Equal(t, []string{"s"}, last.Sessions)
		require.Equal(t, []string{"2"}, last.Unwanted)
		require.Equal(t, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), last.At)
		require.JSONEq(t, `{"x":1}`, string(last.Metadata))
		require.Equal(t, []Point{{Line: last.Line + 3, User: "ada", ID: "p", Session: "s", Text: "Ada has a boat."}},
			set.Points)
		require.Equal(t, []Missing{{set.Questions[0].Line, "gold id", "9"}, {set.Questions[2].Line, "gold id", "2"},
			{last.Line + 2, "gold session", "t"}, {last.Line + 2, "unwanted id", "3"}}, set.Missing)
	}
}

func TestReadBadLines(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		`{"type":"question","user":"u","question":"q","gold":"1"}`:              `line 2: gold must be a list of ids, got "1"`,
		`{"type":"question","user":"u","question":"q","gold":[1]}`:              `line 2: gold must be a list of ids, got [1]`,
		`{"type":"question","user":"u","question":"q"}`:                         `line 2: gold or gold_sessions must be given`,
		`{"type":"question","user":"u","question":"q","gold":[],"unwanted":{}}`: `line 2: unwanted must be a list of ids, got {}`,
		`{"type":"question","user":"u","question":"q","gold":[],"at":"noon"}`:   `line 2: at must be a time as in RFC 3339, got "noon"`,
		`{"type":"question","user":"u","question":"q","gold":[],"metadata":[]}`: `line 2: metadata must be an object, got []`,
		`{"type":"point","user":"u","content":" "}`:                             `line 2: content must be a string that is not blank, got " "`,
		`{"type":"point","user":"u","content":"c","session":1}`:                 `line 2: session must be a string, got 1`,
		`{"type":"question","user":"u","question":" ","gold":["1"]}`:            `line 2: question must be a string that is not blank, got " "`,
		`{"type":"question","user":"u","gold":["1"]}`:                           `line 2: question must be a string that is not blank, got none`,
		`{"type":"question","question":"q","gold":["1"]}`:                       `line 2: user must be a string that is not empty`,
		`{"type":"question","user":7,"question":"q"}`:                           `line 2: user must be a string, got a JSON number`,
		`{"type":"question","user":"u","question":"q","gold":[],"category":[]}`: `line 2: category must be a string, got []`,
		`{"type":"question",`:       `line 2: must be a JSON object`,
		`[1]`:                       `line 2: must be a JSON object`,
		"{\"type\":\"mem\xffory\"}": `line 2: must be valid UTF-8`,
	} {
		_, err := Read(strings.NewReader("\n" + text + "\n"))
		require.ErrorContains(t, err, says)
	}
	_, err := Read(strings.NewReader("\x1f\x8bnot gzip"))
	require.ErrorContains(t, err, "gzip")
}
