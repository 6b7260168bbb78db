package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/oxbow-memory/oxbow/lab/must"
)

// line is a line of a file for oxbow eval: a memory, a question, or a point. oxbow eval --help describes them.
type line struct {
	Type string `json:"type"`
	User string `json:"user"`

	// of memories and points
	ID       string         `json:"id,omitempty"`
	Session  string         `json:"session,omitempty"`
	Seq      int            `json:"seq,omitempty"` // from 1; 0 would be left out, and the message stored as the latest
	Speaker  string         `json:"speaker,omitempty"`
	Role     string         `json:"role,omitempty"`
	At       *time.Time     `json:"at,omitempty"` // also of questions: when they are asked
	Content  string         `json:"content,omitempty"`
	Metadata map[string]any `json:"metadata,omitempty"` // also of questions: only memories with these members are asked for

	// of questions
	Question     string   `json:"question,omitempty"`
	Gold         []string `json:"gold,omitzero"`
	GoldSessions []string `json:"gold_sessions,omitempty"`
	Unwanted     []string `json:"unwanted,omitempty"`
	Category     string   `json:"category,omitempty"`
}

// tally counts the lines of a file.
type tally struct{ memories, questions, points, users int }

func (t tally) String() string {
	return fmt.Sprintf("%d memories, %d questions and %d points of %d users", t.memories, t.questions, t.points, t.users)
}

func count(lines []line) tally {
	var t tally
	users := map[string]bool{}
	for _, l := range lines {
		switch users[l.User] = true; l.Type {
		case "question":
			t.questions++
		case "point":
			t.points++
		default:
			t.memories++
		}
	}
	t.users = len(users)
	return t
}

func writeLines(name string, lines []line) tally {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	for _, l := range lines {
		must.OK(encoder.Encode(l))
	}
	must.OK(os.WriteFile(name, text.Bytes(), 0o644))
	return count(lines)
}

// unpack copies a file that is in the format already.
func unpack(from, to string) tally {
	file := must.Get(os.Open(from))
	defer func() { must.OK(file.Close()) }()
	in := bufio.NewReader(file)
	var content io.Reader = in
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		content = must.Get(gzip.NewReader(in))
	}
	text := must.Get(io.ReadAll(content))
	must.OK(os.WriteFile(to, text, 0o644))
	var lines []line
	for decoder := json.NewDecoder(bytes.NewReader(text)); decoder.More(); {
		var l line
		must.OK(decoder.Decode(&l))
		lines = append(lines, l)
	}
	return count(lines)
}
