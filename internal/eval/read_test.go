package eval

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"

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
		require.Equal(t, 3, set.Memories)
		require.Equal(t, 1, set.Unanswerable)
		require.Len(t, set.Questions, 3)
		require.Equal(t, []string{"1", "9"}, set.Questions[0].Gold, "each once")
		require.Equal(t, "single", set.Questions[0].Category)
		require.Equal(t, "船叫什么？", set.Questions[1].Text)
		require.Len(t, set.Missing, 2, "9 is in no line, and 2 is another user's")
		require.Equal(t, "9", set.Missing[0].ID)
		require.Equal(t, Missing{set.Questions[2].Line, "2"}, set.Missing[1])
	}
}

func TestReadBadLines(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		`{"type":"question","user":"u","question":"q","gold":"1"}`:    `line 2: gold must be a list of ids, got "1"`,
		`{"type":"question","user":"u","question":"q","gold":[1]}`:    `line 2: gold must be a list of ids, got [1]`,
		`{"type":"question","user":"u","question":" ","gold":["1"]}`:  `line 2: question must be a string that is not blank, got " "`,
		`{"type":"question","user":"u","gold":["1"]}`:                 `line 2: question must be a string that is not blank, got none`,
		`{"type":"question","question":"q","gold":["1"]}`:             `line 2: user must be a string that is not empty`,
		`{"type":"question","user":7,"question":"q"}`:                 `line 2: user must be a string, got a JSON number`,
		`{"type":"question","user":"u","question":"q","category":[]}`: `line 2: category must be a string, got []`,
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
