// Package eval reads files in the evaluation format and computes recall measures. It does not use a
// database.
//
// A file is JSON Lines, optionally compressed with gzip. It holds memories in the import format,
// questions, and points, which are facts that extraction should find:
//
//	{"type":"question","user":U,"question":Q,"gold":[ID,…],"category":C}
//	{"type":"point","user":U,"id":ID,"session":S,"content":TEXT}
//
// gold lists the memories that answer the question by their ids in the file, which are scoped to
// the user; it is empty if nothing is known about the question. gold_sessions lists sessions instead or
// as well, and unwanted the memories that must not be found. With at, the question is asked at that
// time, and with metadata only of memories that contain it.
package eval

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"
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
	// Questions are in file order.
	Questions []Question
	// Points are the facts to extract, in file order.
	Points []Point
	// Missing lists the ids in questions that match no memory or session of the question's user in the
	// file. They count as not found.
	Missing []Missing
}

// Question is a question and the memories that answer it.
type Question struct {
	Line     int
	User     string
	Text     string
	Gold     []string        // memories, each once
	Sessions []string        // gold sessions, each once
	Unwanted []string        // nil: all memories except the gold ones
	At       time.Time       // zero: now
	Metadata json.RawMessage // nil: any
	Category string          // "" if the file gives none
}

// Nothing reports whether nothing is known about the question.
func (q Question) Nothing() bool { return len(q.Gold)+len(q.Sessions) == 0 }

// Point is a fact that extraction should find.
type Point struct {
	Line    int
	User    string
	ID      string // "" if the file gives none
	Session string // "": of any
	Text    string
}

// Missing is an id of a question that matches no memory, or no session.
type Missing struct {
	Line int
	Is   string // gold id, gold session or unwanted id
	ID   string
}

// line holds the fields of a line that Read needs.
type line struct {
	Type       string          `json:"type"`
	User       string          `json:"user"`
	UserID     string          `json:"user_id"`
	ID         json.RawMessage `json:"id"`
	ExternalID json.RawMessage `json:"external_id"`
	Session    json.RawMessage `json:"session"`
	SessionID  json.RawMessage `json:"session_id"`
	Content    json.RawMessage `json:"content"`
	Question   json.RawMessage `json:"question"`
	Gold       json.RawMessage `json:"gold"`
	Sessions   json.RawMessage `json:"gold_sessions"`
	Unwanted   json.RawMessage `json:"unwanted"`
	At         json.RawMessage `json:"at"`
	Metadata   json.RawMessage `json:"metadata"`
	Category   json.RawMessage `json:"category"`
}

// Read reads an evaluation file. An error names the line, the field and the value.
func Read(r io.Reader) (*Set, error) {
	lines, err := jsonl.NewReader(r)
	if err != nil {
		return nil, err
	}
	set := &Set{}
	ids, sessions := map[[2]string]bool{}, map[[2]string]bool{} // of the memories, with their user
	users := map[string]bool{}
	for lines.Next() {
		if len(lines.Line) == 0 {
			continue
		}
		l, err := parse(lines.Line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", lines.Number, err)
		}
		switch l.Type {
		case "question":
			q, err := l.question()
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", lines.Number, err)
			}
			q.Line = lines.Number
			set.Questions = append(set.Questions, q)
		case "point":
			p, err := l.point()
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", lines.Number, err)
			}
			p.Line = lines.Number
			set.Points = append(set.Points, p)
		case "", "memory":
			set.Memories++
			l.note(ids, l.ID, l.ExternalID)
			l.note(sessions, l.Session, l.SessionID)
		default:
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
		for _, named := range []struct {
			is    string
			ids   []string
			known map[[2]string]bool
		}{{"gold id", q.Gold, ids}, {"gold session", q.Sessions, sessions}, {"unwanted id", q.Unwanted, ids}} {
			for _, id := range named.ids {
				if !named.known[[2]string{q.User, id}] {
					set.Missing = append(set.Missing, Missing{q.Line, named.is, id})
				}
			}
		}
	}
	return set, nil
}

// note adds the ids of a memory that are strings. The import refuses others.
func (l line) note(known map[[2]string]bool, ids ...json.RawMessage) {
	for _, raw := range ids {
		var id string
		if json.Unmarshal(raw, &id) == nil {
			known[[2]string{l.User, id}] = true
		}
	}
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
	var err error
	if q.Text, err = text("question", l.Question); err != nil {
		return q, err
	}
	if l.Gold == nil && l.Sessions == nil {
		return q, errors.New("gold or gold_sessions must be given, empty if nothing is known about the question")
	}
	var bad [3]error
	q.Gold, bad[0] = once("gold", l.Gold)
	q.Sessions, bad[1] = once("gold_sessions", l.Sessions)
	q.Unwanted, bad[2] = once("unwanted", l.Unwanted)
	if err := cmp.Or(bad[:]...); err != nil {
		return q, err
	}
	if l.At != nil && json.Unmarshal(l.At, &q.At) != nil {
		return q, fmt.Errorf("at must be a time as in RFC 3339, got %s", value(l.At))
	}
	if q.Metadata = l.Metadata; q.Metadata != nil && json.Unmarshal(q.Metadata, &map[string]any{}) != nil {
		return q, fmt.Errorf("metadata must be an object, got %s", value(l.Metadata))
	}
	if l.Category != nil && json.Unmarshal(l.Category, &q.Category) != nil {
		return q, fmt.Errorf("category must be a string, got %s", value(l.Category))
	}
	return q, nil
}

func (l line) point() (Point, error) {
	p := Point{User: l.User}
	if p.User == "" {
		return p, errors.New(`user must be a string that is not empty, got ""`)
	}
	if l.ID != nil && json.Unmarshal(l.ID, &p.ID) != nil {
		return p, fmt.Errorf("id must be a string, got %s", value(l.ID))
	}
	if l.Session != nil && json.Unmarshal(l.Session, &p.Session) != nil {
		return p, fmt.Errorf("session must be a string, got %s", value(l.Session))
	}
	var err error
	p.Text, err = text("content", l.Content)
	return p, err
}

func text(name string, raw json.RawMessage) (s string, err error) {
	if json.Unmarshal(raw, &s) != nil || len(bytes.TrimSpace([]byte(s))) == 0 {
		return "", fmt.Errorf("%s must be a string that is not blank, got %s", name, value(raw))
	}
	return s, nil
}

// once returns a list of ids without repetitions.
func once(name string, raw json.RawMessage) (ids []string, err error) {
	if raw != nil && json.Unmarshal(raw, &ids) != nil {
		return nil, fmt.Errorf("%s must be a list of ids, got %s", name, value(raw))
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(ids, func(id string) bool {
		twice := seen[id]
		seen[id] = true
		return twice
	}), nil
}

func value(raw json.RawMessage) string {
	if raw == nil {
		return "none"
	}
	return oneline.Shorten(string(raw), 60)
}

func quoted(text []byte) string { return strconv.Quote(oneline.Shorten(string(text), 60)) }
