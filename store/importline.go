package store

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

// fields holds the members of a line's object. Each is read once, by name, and done rejects members
// that were not read. err keeps the first error.
type fields struct {
	raw  map[string]json.RawMessage
	read map[string]bool
	err  error
}

func parseFields(line []byte) (*fields, error) {
	if !utf8.Valid(line) {
		at := 0
		for at < len(line) {
			r, size := utf8.DecodeRune(line[at:])
			if r == utf8.RuneError && size == 1 {
				break
			}
			at += size
		}
		return nil, &InvalidError{Index: -1, Value: fmt.Sprintf("%q at byte %d", line[at:at+1], at+1),
			Rule: "must be valid UTF-8"}
	}
	f := &fields{read: map[string]bool{}}
	if err := json.Unmarshal(line, &f.raw); err != nil || f.raw == nil {
		rule := "must be a JSON object"
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			rule = fmt.Sprintf("must be a JSON object (%s after %d bytes)", syntax.Error(), syntax.Offset)
		}
		bad := Invalid("", string(line), rule)
		return nil, bad
	}
	return f, nil
}

// get decodes a member into v. It returns false if the member is missing, null or invalid.
func (f *fields) get(name, rule string, v any) (ok bool) {
	raw, there := f.raw[name]
	f.read[name] = true
	if !there || f.err != nil || string(raw) == "null" {
		return false
	}
	if err := json.Unmarshal(raw, v); err != nil {
		f.fail(name, rule)
		return false
	}
	return true
}

func (f *fields) fail(name, rule string) {
	if f.err == nil {
		bad := Invalid(name, string(f.raw[name]), rule)
		bad.Value = shorten(string(f.raw[name]), len(f.raw[name]))
		f.err = bad
	}
}

func (f *fields) string(name string) (s string) {
	f.get(name, "must be a string", &s)
	if err := text(name, s); err != nil && f.err == nil {
		f.err = err
	}
	return s
}

// either reads a member that has two names.
func (f *fields) either(name, column string) string {
	if s := f.string(name); s != "" {
		f.read[column] = f.raw[column] == nil // if both are present, done rejects the second
		return s
	}
	return f.string(column)
}

func (f *fields) integer(name string) *int64 {
	var n int64
	if !f.get(name, "must be a whole number of at most 64 bits", &n) {
		return nil
	}
	if (name == "version" || name == "mention_count" || name == "access_count" || name == "reviews" || name == "trait_reinforcement_count" ||
		name == "trait_contradiction_count") && (n < 0 || n > math.MaxInt32) {
		f.fail(name, "must be between 0 and "+strconv.Itoa(math.MaxInt32))
	}
	if name == "sensitivity" && (n < 0 || n > Secret) {
		f.fail(name, "must be 0, 1, 2 or 3")
	}
	return &n
}

// bytes reads a bytea in PostgreSQL's hexadecimal format.
func (f *fields) bytes(name string) []byte {
	const rule = "must be hexadecimal digits after \\x"
	text := f.string(name)
	if text == "" {
		return nil
	}
	digits, ok := strings.CutPrefix(text, `\x`)
	b, err := hex.DecodeString(digits)
	if !ok || err != nil {
		f.fail(name, rule)
	}
	return b
}

func (f *fields) number(name string) *float64 {
	var n float64
	if !f.get(name, "must be a number", &n) {
		return nil
	}
	return &n
}

func (f *fields) boolean(name string) (b bool) {
	f.get(name, "must be true or false", &b)
	return b
}

func (f *fields) time(name string) (t time.Time) {
	const rule = "must be a time like 2025-10-12T08:00:00Z, in the years 1 to 9999"
	if f.get(name, rule, &t) && (t.Before(minTime) || t.After(maxTime)) {
		f.fail(name, rule)
	}
	return t
}

// times reads an array of times, some of which may be null.
func (f *fields) times(name string) (times []*time.Time) {
	const rule = "must be an array of times like 2025-10-12T08:00:00Z, in the years 1 to 9999"
	f.get(name, rule, &times)
	for _, t := range times {
		if t != nil && (t.Before(minTime) || t.After(maxTime)) {
			f.fail(name, rule)
		}
	}
	return times
}

func (f *fields) uuid(name string) (id uuid.UUID) {
	f.get(name, "must be a UUID", &id)
	return id
}

// object reads a JSON object without decoding it.
func (f *fields) object(name string) json.RawMessage {
	var members map[string]json.RawMessage
	if !f.get(name, "must be a JSON object", &members) {
		return nil
	}
	raw, err := encodeObject(name, members, 0)
	if bad, ok := errors.AsType[*InvalidError](err); ok {
		f.fail(name, bad.Rule)
	}
	return raw
}

// mentions reads the mentions of a memory, as JSON, or null.
func (f *fields) mentions() any {
	var mentions []struct {
		At       time.Time `json:"at"`
		Frequent bool      `json:"frequent"`
	}
	if !f.get("mentions", `must be an array of {"at": time, "frequent": boolean}`, &mentions) || len(mentions) == 0 {
		return nil
	}
	raw, _ := json.Marshal(mentions) // encoding what was decoded cannot fail
	return json.RawMessage(raw)
}

// metadata reads the member metadata and adds the role of a conversation turn to it.
func (f *fields) metadata() any {
	metadata := map[string]json.RawMessage{}
	f.get("metadata", "must be a JSON object", &metadata)
	if role := f.string("role"); role != "" && metadata["role"] == nil {
		encoded, _ := json.Marshal(role) // encoding a string cannot fail
		metadata["role"] = encoded
	}
	if len(metadata) == 0 {
		return nil
	}
	return metadata
}

// record returns a whole line of an export as JSON for its table.
func (f *fields) record(rename func(string) string) (json.RawMessage, error) {
	userID := f.string("user_id")
	if f.err != nil {
		return nil, f.err
	}
	if rename != nil {
		userID = rename(userID)
	}
	if err := ValidateUserID(userID); err != nil {
		return nil, err
	}
	delete(f.raw, "type")
	if value, ok := f.raw[typeColumn]; ok {
		delete(f.raw, typeColumn)
		f.raw["type"] = value
	}
	f.raw["user_id"], _ = json.Marshal(userID)
	record, err := encodeObject("metadata", f.raw, 0)
	if bad, ok := errors.AsType[*InvalidError](err); ok {
		bad.Field = ""
	}
	return record, err
}

// done returns the first error. A member that was not read is an error, because the import would
// lose it.
func (f *fields) done() error {
	if f.err != nil {
		return f.err
	}
	for name := range f.raw {
		if !f.read[name] {
			return Invalid(name, string(f.raw[name]),
				"is not a field of a memory: put the application's own data into metadata")
		}
	}
	return nil
}
