package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestQualityOfASmallFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "small.jsonl")
	require.NoError(t, os.WriteFile(file, []byte(`
{"type":"memory","user":"ann","id":"1","session":"a","content":"I play the cello."}
{"type":"memory","user":"ann","id":"2","session":"b","content":"It rains."}
{"type":"question","user":"ann","question":"Who plays the cello?","gold":["1"],"gold_sessions":["a"]}
`[1:]), 0o644))
	r := newRig(t.Context())
	rankings := append([]ranking{baseline(file)}, r.measure("local", []string{file})...)
	var page bytes.Buffer
	r.write(&page, "local", []string{file}, rankings)
	for _, row := range []string{"small | 1 | BM25", "small, sessions | 1 | BM25", "small | 1 | Oxbow, local-v1"} {
		require.Contains(t, page.String(), "\n| "+row+" | 1.000 | 1.000 |")
	}
}

func TestRecallWithoutAPart(t *testing.T) {
	t.Parallel()
	lines := `
{"type":"memory","user":"ann","id":"cello","session":"a","seq":1,"content":"I play the cello."}
{"type":"memory","user":"ann","id":"six","session":"a","seq":2,"content":"Since I was six."}
{"type":"memory","user":"ann","id":"soup","content":"Lentil soup.","at":"2024-05-03T12:00:00Z"}
{"type":"question","user":"ann","question":"Who plays the cello?","gold":["six"]}
{"type":"question","user":"ann","question":"What did Ann plan on 3 May 2024?","gold":["soup"]}
`[1:]
	for i := range 12 { // more than a question has results
		lines += fmt.Sprintf(`{"type":"memory","user":"ann","id":"%d","content":"Ann plays and plans, at table %d."}`+"\n", i, i)
	}
	file := filepath.Join(t.TempDir(), "small.jsonl")
	require.NoError(t, os.WriteFile(file, []byte(lines), 0o644))
	r := newRig(t.Context())
	for _, p := range parts {
		want := map[string]string{"nothing": "1.000", "dates": "0.500", "neighbours": "0.500"}[p.name]
		if want != "" {
			row, _ := r.without(p, nil, []string{file})
			require.Equal(t, []string{want}, row, p.name)
		}
	}
}

func TestCopiesByUser(t *testing.T) {
	t.Parallel()
	files := []string{filepath.Join(t.TempDir(), "small.jsonl"), filepath.Join(t.TempDir(), "small.jsonl")}
	for i, file := range files {
		require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, `{"type":"question","user":"%d"}`, i), 0o644))
	}
	names, copies := copiesByUser(files, t.TempDir())
	require.Equal(t, []string{"small", "small"}, names)
	for i, file := range copies {
		require.FileExists(t, files[i], "the next model reads it again")
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.JSONEq(t, fmt.Sprintf(`{"type":"question","user":"%d","category":"%d"}`, i, i), string(text))
	}
}

func TestNeeded(t *testing.T) {
	t.Parallel()
	whole := map[string]float64{"ann": 0.5, "bob": 0.5, "cid": 0.5}
	without := map[string]float64{"ann": 0.1, "bob": 0.6, "cid": 0.7}
	require.Equal(t, 2, needed(whole, without), "without ann, the others would leave it out")
}

func TestChinese(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]bool{"I play the cello.": false, "我会拉大提琴 (cello)": true} {
		file := filepath.Join(t.TempDir(), "set.jsonl")
		require.NoError(t, os.WriteFile(file, []byte(`{"type":"memory","user":"u","content":"`+content+`"}`+"\n"), 0o644))
		require.Equal(t, want, chinese(file))
	}
}
