package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow/internal/eval"
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
	sessions  map[[2]string]string // by user and id of the memory
	depth     int                  // memories to ask for
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

// question is a question with the memories, or else the sessions, that answer it.
type question struct {
	User, Question string
	Gold, Sessions []string
	At             time.Time // zero: after all memories
}

// limit is the largest k of recall@k. To find that many sessions, more memories are asked for, as by oxbow eval.
const limit = 10

// users are the numbers of users to measure, by the name of the set; all of other sets. It is a flag.
type users map[string]int

func (u *users) String() string { return "" }

func (u *users) Set(text string) error {
	*u = users{}
	for part := range strings.SplitSeq(text, ",") {
		name, number, _ := strings.Cut(part, "=")
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 {
			return fmt.Errorf("%q is not NAME=NUMBER", part)
		}
		(*u)[name] = n
	}
	return nil
}

func setName(file string) string {
	name, _, _ := strings.Cut(filepath.Base(file), ".")
	return name
}

// readSet reads a file without the questions that have no answer. users limits it to the users with the fewest
// memories.
func readSet(name string, users int) *set {
	file := must.Get(os.Open(name))
	defer func() { must.OK(file.Close()) }()
	s := &set{name: setName(name), sessions: map[[2]string]string{}, depth: limit}
	lines := must.Get(jsonl.NewReader(file))
	size := map[string]int{}
	for lines.Next() {
		var line struct {
			Type, User, Question string
			memory
			Gold     []string
			Sessions []string `json:"gold_sessions"`
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
			s.sessions[[2]string{m.User, m.ID}] = m.Session
			size[m.User]++
		case "question":
			if len(line.Gold)+len(line.Sessions) == 0 {
				continue
			}
			q := question{User: line.User, Question: line.Question, Gold: line.Gold, Sessions: line.Sessions}
			if line.At != "" {
				q.At = must.Get(time.Parse(time.RFC3339, line.At))
			}
			if len(q.Gold) == 0 {
				s.depth = eval.SessionDepth
			}
			s.questions = append(s.questions, q)
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

// step is what to do next: add memories of a user, or ask a question.
type step struct {
	add []memory
	ask *question
}

// steps are all memories, at most size of a user at once, and then the questions. A question that is asked at a time
// comes before the later memories of its user instead: nobody is asked to find what is yet to happen.
func (s *set) steps(size int) (all []step) {
	var atTheEnd []step
	questions := slices.Clone(s.questions)
	slices.SortStableFunc(questions, func(a, b question) int {
		return cmp.Or(cmp.Compare(a.User, b.User), a.At.Compare(b.At))
	})
	for from := 0; from < len(s.memories); {
		to := from + 1
		for to < len(s.memories) && s.memories[to].User == s.memories[from].User {
			to++
		}
		memories := s.memories[from:to]
		from = to
		var due []question
		for i, q := range questions {
			if q.User != memories[0].User {
				continue
			}
			if q.At.IsZero() {
				atTheEnd = append(atTheEnd, step{ask: &questions[i]})
			} else {
				due = append(due, q)
			}
		}
		for i := range due {
			later := slices.IndexFunc(memories, func(m memory) bool { return m.time().After(due[i].At) })
			if later < 0 {
				later = len(memories)
			}
			all = append(all, adding(memories[:later], size)...)
			all = append(all, step{ask: &due[i]})
			memories = memories[later:]
		}
		all = append(all, adding(memories, size)...)
	}
	return append(all, atTheEnd...)
}

func adding(memories []memory, size int) (steps []step) {
	for some := range slices.Chunk(memories, size) {
		steps = append(steps, step{add: some})
	}
	return steps
}

// time is when the memory happened, zero if it is unknown.
func (m memory) time() time.Time {
	if m.At == "" {
		return time.Time{}
	}
	return must.Get(time.Parse(time.RFC3339, m.At))
}
