// Package eval reads files in the evaluation format and computes recall measures. It does not use a
// database.
//
// A file is JSON Lines, optionally compressed with gzip. It holds memories in the import format,
// and questions:
//
//	{"type":"question","user":U,"question":Q,"gold":[ID,…],"category":C}
//
// gold lists the memories that answer the question by their ids in the file, which are scoped to
// the user.
package eval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow/internal/jsonl"
	"github.com/oxbow-memory/oxbow/internal/oneline"
)

// Set holds the questions of a file. The import reads the memories.
type Set struct {
	// Users are the users of the memories and questions, in file order.
	Users []string
	// Memories is the number of memory lines.
	Memories int
	// Questions are the questions with at least one gold memory, in file order.
	Questions []Question
	// Unanswerable counts the questions without gold memories, which cannot be measured.
	Unanswerable int
	// Missing lists the gold ids that match no memory of the question's user in the file. They
	// count as not found.
	Missing []Missing
}

// Question is a question and the memories that answer it.
type Question struct {
	Line     int
	User     string
	Text     string
	Gold     []string // each once
	Category string   // "" if the file gives none
}

// Missing is a gold id of a question that matches no memory.
type Missing struct {
	Line int
	ID   string
}

// line holds the fields of a line that Read needs.
type line struct {
	Type       string          `json:"type"`
	User       string          `json:"user"`
	UserID     string          `json:"user_id"`
	ID         json.RawMessage `json:"id"`
	ExternalID json.RawMessage `json:"external_id"`
	Question   json.RawMessage `json:"question"`
	Gold       json.RawMessage `json:"gold"`
	Category   json.RawMessage `json:"category"`
}

// Read reads an evaluation file. An error names the line, the field and the value.
func Read(r io.Reader) (*Set, error) {
	lines, err := jsonl.NewReader(r)
	if err != nil {
		return nil, err
	}
	set := &Set{}
	ids := map[[2]string]bool{} // of the memories, with their user
	users := map[string]bool{}
	for lines.Next() {
		if len(lines.Line) == 0 {
			continue
		}
		l, err := parse(lines.Line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", lines.Number, err)
		}
		if l.Type == "question" {
			q, err := l.question()
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", lines.Number, err)
			}
			if q.Line = lines.Number; len(q.Gold) == 0 {
				set.Unanswerable++
				continue
			}
			set.Questions = append(set.Questions, q)
		} else if l.Type == "" || l.Type == "memory" {
			set.Memories++
			for _, raw := range []json.RawMessage{l.ID, l.ExternalID} {
				var id string
				if json.Unmarshal(raw, &id) == nil { // the import refuses an id of another type
					ids[[2]string{l.User, id}] = true
				}
			}
		} else {
			continue
		}
		if !users[l.User] {
			users[l.User] = true
			set.Users = append(set.Users, l.User)
		}
	}
	if lines.Err != nil {
		return nil, lines.Err
	}
	for _, q := range set.Questions {
		for _, id := range q.Gold {
			if !ids[[2]string{q.User, id}] {
				set.Missing = append(set.Missing, Missing{q.Line, id})
			}
		}
	}
	return set, nil
}

func parse(text []byte) (line, error) {
	var l line
	if !utf8.Valid(text) {
		return l, errors.New("must be valid UTF-8")
	}
	if err := json.Unmarshal(text, &l); err != nil {
		if mistyped, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && mistyped.Field != "" {
			return l, fmt.Errorf("%s must be a string, got a JSON %s", mistyped.Field, mistyped.Value)
		}
		return l, fmt.Errorf("must be a JSON object (%w), got %s", err, quoted(text))
	}
	if l.User == "" {
		l.User = l.UserID
	}
	return l, nil
}

func (l line) question() (Question, error) {
	q := Question{User: l.User}
	if q.User == "" {
		return q, errors.New(`user must be a string that is not empty, got ""`)
	}
	if json.Unmarshal(l.Question, &q.Text) != nil || len(bytes.TrimSpace([]byte(q.Text))) == 0 {
		return q, fmt.Errorf("question must be a string that is not blank, got %s", value(l.Question))
	}
	if l.Gold != nil && json.Unmarshal(l.Gold, &q.Gold) != nil {
		return q, fmt.Errorf("gold must be a list of ids, got %s", value(l.Gold))
	}
	if l.Category != nil && json.Unmarshal(l.Category, &q.Category) != nil {
		return q, fmt.Errorf("category must be a string, got %s", value(l.Category))
	}
	seen := map[string]bool{}
	q.Gold = slices.DeleteFunc(q.Gold, func(id string) bool {
		twice := seen[id]
		seen[id] = true
		return twice
	})
	return q, nil
}

func value(raw json.RawMessage) string {
	if raw == nil {
		return "none"
	}
	return oneline.Shorten(string(raw), 60)
}

func quoted(text []byte) string { return strconv.Quote(oneline.Shorten(string(text), 60)) }
