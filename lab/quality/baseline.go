package main

import (
	"encoding/json"
	"os"
	"time"
	"unicode"

	"github.com/oxbow-memory/oxbow/internal/eval"
	"github.com/oxbow-memory/oxbow/internal/jsonl"
	"github.com/oxbow-memory/oxbow/lab/bm25"
	"github.com/oxbow-memory/oxbow/lab/must"
	"github.com/oxbow-memory/oxbow/store"
)

// memory holds what BM25 needs of a memory.
type memory struct {
	Type    string    `json:"type"`
	User    string    `json:"user"`
	ID      string    `json:"id"`
	Session string    `json:"session"`
	Speaker string    `json:"speaker"`
	Content string    `json:"content"`
	At      time.Time `json:"at"`
}

// chinese reports whether most letters of a file's memories are Chinese.
func chinese(file string) bool {
	in := must.Get(os.Open(file))
	defer func() { _ = in.Close() }()
	lines := must.Get(jsonl.NewReader(in))
	var letters, han int
	for lines.Next() {
		var m memory
		must.OK(json.Unmarshal(lines.Line, &m))
		for _, r := range m.Content {
			if unicode.IsLetter(r) {
				letters++
			}
			if unicode.Is(unicode.Han, r) {
				han++
			}
		}
	}
	must.OK(lines.Err)
	return han > letters/2
}

// baseline ranks the memories of a file with BM25.
func baseline(file string) ranking {
	memories := map[string][]memory{} // by user
	in := must.Get(os.Open(file))
	defer func() { _ = in.Close() }()
	lines := must.Get(jsonl.NewReader(in))
	for lines.Next() {
		var m memory
		if must.OK(json.Unmarshal(lines.Line, &m)); m.Type == "" || m.Type == "memory" {
			memories[m.User] = append(memories[m.User], m)
		}
	}
	must.OK(lines.Err)
	indexes := map[string]*bm25.Index{}
	for user, all := range memories {
		texts := make([]string, len(all))
		for i, m := range all {
			texts[i] = store.EmbeddedText(m.Speaker, m.Content)
		}
		indexes[user] = bm25.New(texts)
	}
	var tally eval.Tally
	must.Get(in.Seek(0, 0))
	for _, q := range must.Get(eval.Read(in)).Questions {
		if indexes[q.User] == nil {
			continue
		}
		all, begun := memories[q.User], time.Now()
		hits := indexes[q.User].Search(q.Text, func(i int) bool { return q.At.IsZero() || !all[i].At.After(q.At) })
		took := time.Since(begun)
		var results, sessions [][]string
		seen := map[string]bool{}
		for _, h := range hits {
			m := all[h.Text]
			results = append(results, []string{m.ID})
			if m.Session != "" && !seen[m.Session] {
				seen[m.Session] = true
				sessions = append(sessions, []string{m.Session})
			}
		}
		tally.Add(q.Category, q.Answer(results, sessions, took))
	}
	return ranking{set: setName(file), by: "BM25", report: tally.Report()}
}
