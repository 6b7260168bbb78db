package main

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/oxbow-memory/oxbow/internal/jsonl"
	"github.com/oxbow-memory/oxbow/lab/must"
)

// set holds what a file asks. Its memories and questions are sorted by user.
type set struct {
	name      string
	users     int
	of        int // users in the file
	memories  []memory
	questions []question
}

// memory is a memory as adapters get it.
type memory struct {
	User    string `json:"-"`
	ID      string `json:"id"`
	Session string `json:"session"`
	Speaker string `json:"speaker"`
	At      string `json:"at"`
	Content string `json:"content"`
	Text    string `json:"text"` // what is embedded: the content, after the speaker and a colon
}

type question struct {
	User, Question string
	Gold           []string
}

// readSet reads a file without the questions that have no answer. users limits it to the users with the fewest
// memories.
func readSet(name string, users int) *set {
	file := must.Get(os.Open(name))
	defer file.Close()
	base, _, _ := strings.Cut(filepath.Base(name), ".")
	s := &set{name: base}
	lines := must.Get(jsonl.NewReader(file))
	size := map[string]int{}
	for lines.Next() {
		var line struct {
			Type, User, Question string
			memory
			Gold []string
		}
		if len(lines.Line) == 0 {
			continue
		}
		must.OK(json.Unmarshal(lines.Line, &line))
		switch line.Type {
		case "", "memory":
			m := line.memory
			m.User, m.Text = line.User, m.Content
			if m.Speaker != "" {
				m.Text = m.Speaker + ": " + m.Content
			}
			s.memories = append(s.memories, m)
			size[m.User]++
		case "question":
			if len(line.Gold) > 0 {
				s.questions = append(s.questions, question{line.User, line.Question, line.Gold})
			}
		}
	}
	must.OK(lines.Err)

	var names []string
	for user := range size {
		names = append(names, user)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(size[a], size[b]), cmp.Compare(a, b)) })
	s.of = len(names)
	if users > 0 && users < len(names) {
		names = names[:users]
	}
	s.users = len(names)
	chosen := map[string]bool{}
	for _, user := range names {
		chosen[user] = true
	}
	s.memories = slices.DeleteFunc(s.memories, func(m memory) bool { return !chosen[m.User] })
	s.questions = slices.DeleteFunc(s.questions, func(q question) bool { return !chosen[q.User] })
	slices.SortStableFunc(s.memories, func(a, b memory) int { return cmp.Compare(a.User, b.User) })
	slices.SortStableFunc(s.questions, func(a, b question) int { return cmp.Compare(a.User, b.User) })
	return s
}

// batches are the memories in the order of the file, at most size of one user at once.
func (s *set) batches(size int) (all [][]memory) {
	for from := 0; from < len(s.memories); {
		to := from + 1
		for to < len(s.memories) && to-from < size && s.memories[to].User == s.memories[from].User {
			to++
		}
		all = append(all, s.memories[from:to])
		from = to
	}
	return all
}
