package movein

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow/internal/jsonl"
)

// object is a row of a table or an object of a file. Members are taken out as they are read.
type object map[string]json.RawMessage

// take removes a member and returns it, or nil if it is missing or null.
func (o object) take(name string) json.RawMessage {
	raw := o[name]
	delete(o, name)
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// text takes the first of the members that is a text or a number.
func (o object) text(names ...string) string {
	for _, name := range names {
		raw := o.take(name)
		if raw == nil {
			continue
		}
		if s, ok := plain(raw); ok {
			if s != "" {
				return s
			}
			continue
		}
		o[name] = raw
	}
	return ""
}

// inner takes a member that is an object, or returns an empty one.
func (o object) inner(name string) object {
	var inner object
	if raw := o.take(name); raw != nil && json.Unmarshal(raw, &inner) != nil {
		o[name] = raw
	}
	if inner == nil {
		inner = object{}
	}
	return inner
}

// list takes a member that is an array of objects.
func (o object) list(name string) (list []object) {
	if raw := o.take(name); raw != nil && json.Unmarshal(raw, &list) != nil {
		o[name] = raw
		return nil
	}
	return list
}

func (o object) has(name string) bool { raw, ok := o[name]; return ok && string(raw) != "null" }

func (o object) names() []string { return slices.Sorted(maps.Keys(o)) }

// plain returns a JSON string or number as text.
func plain(raw json.RawMessage) (string, bool) {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s, true
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil {
		return n.String(), true
	}
	return "", false
}

// layouts are the formats of times in exports and in PostgreSQL's JSON. Java, and so Neo4j, leaves out seconds that
// are zero. A time without a zone is read as UTC.
var layouts = []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05.999999999",
	"2006-01-02T15:04", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999Z07",
	"2006-01-02 15:04:05.999999999 -0700", "2006-01-02 15:04:05.999999999", time.DateOnly}

var (
	errTime  = errors.New("is not a time")
	errYears = errors.New("is outside the years 1 to 9999")
)

// parseTime reads a text, or a number of seconds or milliseconds since 1970.
func parseTime(raw json.RawMessage) (time.Time, error) {
	text, ok := plain(raw)
	if !ok {
		return time.Time{}, errTime
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		if math.Abs(n) >= 1e11 { // seconds would be the year 5138
			n /= 1000
		}
		if math.IsNaN(n) || math.Abs(n) > 253402300799 {
			return time.Time{}, errYears
		}
		whole, part := math.Modf(n)
		return time.Unix(int64(whole), int64(math.Round(part*1e6))*1000).UTC(), nil
	}
	text, _, _ = strings.Cut(strings.TrimSpace(text), "[") // 2025-03-10T09:00+01:00[Europe/Oslo]
	for _, layout := range layouts {
		at, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		if at.Year() < 1 || at.Year() > 9999 {
			return time.Time{}, errYears
		}
		return at, nil
	}
	return time.Time{}, errTime
}

// plainReader unpacks gzip and drops a byte order mark.
func plainReader(r io.Reader) (io.Reader, error) {
	plain, err := jsonl.Unpack(r)
	if err != nil {
		return nil, err
	}
	buffered := bufio.NewReaderSize(plain, 1<<16)
	if mark, _ := buffered.Peek(3); string(mark) == "\ufeff" {
		_, _ = buffered.Discard(3) // they are buffered
	}
	return buffered, nil
}

// objects calls f for each object of a JSON or JSON Lines file, one at a time: those of a top-level array, those of the
// named lists of a top-level object, and otherwise the top-level objects themselves, for which list is "".
func objects(r io.Reader, lists []string, f func(list string, o object) error) error {
	in, err := plainReader(r)
	if err != nil {
		return err
	}
	s := &stream{dec: json.NewDecoder(in), f: f}
	for {
		t, err := s.dec.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		switch {
		case err != nil:
		case t == json.Delim('['):
			var others []json.RawMessage
			if others, err = s.list(""); err == nil && others != nil {
				err = fmt.Errorf("expected an array of objects, found %.40s in it", others[0])
			}
		case t == json.Delim('{'):
			err = s.object(lists)
		default:
			err = fmt.Errorf("expected an object or an array, found %v", t)
		}
		if err != nil {
			return s.explain(err)
		}
	}
}

// stream reads a JSON file.
type stream struct {
	dec  *json.Decoder
	f    func(list string, o object) error
	read int64
}

// place says how far the file has been read.
func (s *stream) place() string {
	if s.read == 0 {
		return "no object"
	}
	return fmt.Sprintf("object %d", s.read)
}

// explain adds where the file is broken. An error of f is returned as it is.
func (s *stream) explain(err error) error {
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("the file is cut off after %s: %w", s.place(), io.ErrUnexpectedEOF)
	case errors.As(err, &syntax):
		return fmt.Errorf("not JSON at byte %d, after %s: %w", syntax.Offset, s.place(), err)
	}
	return err
}

// list reads the array that has begun. If its elements are not objects, it returns them.
func (s *stream) list(name string) (others []json.RawMessage, err error) {
	for s.dec.More() {
		var raw json.RawMessage
		if err := s.dec.Decode(&raw); err != nil {
			return nil, err
		}
		var o object
		if json.Unmarshal(raw, &o) != nil || o == nil {
			others = append(others, raw)
			continue
		}
		s.read++
		if err := s.f(name, o); err != nil {
			return nil, err
		}
	}
	_, err = s.dec.Token()
	return others, err
}

// object reads the object that has begun.
func (s *stream) object(lists []string) error {
	o := object{}
	before := s.read
	for s.dec.More() {
		t, err := s.dec.Token()
		if err != nil {
			return err
		}
		name, _ := t.(string)
		if !slices.Contains(lists, name) {
			var raw json.RawMessage
			if err := s.dec.Decode(&raw); err != nil {
				return err
			}
			o[name] = raw
			continue
		}
		if t, err = s.dec.Token(); err != nil {
			return err
		}
		switch t {
		case json.Delim('['):
			others, err := s.list(name)
			if err != nil {
				return err
			}
			if others != nil {
				o[name], _ = json.Marshal(others) // encoding what was decoded cannot fail
			}
		case json.Delim('{'):
			return fmt.Errorf("%s: expected an array, found an object", name)
		}
	}
	if _, err := s.dec.Token(); err != nil {
		return err
	}
	if s.read > before || len(o) == 0 {
		return nil
	}
	s.read++
	return s.f("", o)
}
