package main

import (
	"bytes"
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

func TestChinese(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]bool{"I play the cello.": false, "我会拉大提琴 (cello)": true} {
		file := filepath.Join(t.TempDir(), "set.jsonl")
		require.NoError(t, os.WriteFile(file, []byte(`{"type":"memory","user":"u","content":"`+content+`"}`+"\n"), 0o644))
		require.Equal(t, want, chinese(file))
	}
}
