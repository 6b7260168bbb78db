package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of the schema, in bytes except for maxDepth.
const (
	maxUserID  = 255
	maxName    = 1024 // session_id, external_id
	maxContent = 1 << 20
	maxDepth   = 200 // nesting of metadata: PostgreSQL's parser recurses
)

// The range of times that both timestamptz and RFC 3339 can express.
var (
	minTime = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	maxTime = time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)
)

// Invalid returns an InvalidError with the value quoted and shortened.
func Invalid(field, value, rule string) *InvalidError {
	return &InvalidError{Index: -1, Field: field, Value: shorten(strconv.Quote(value), len(value)), Rule: rule}
}

// shorten cuts shown to at most 70 bytes if it has more than 80. size is the length of the value
// without quotes.
func shorten(shown string, size int) string {
	if len(shown) <= 80 {
		return shown
	}
	cut := 70
	for !utf8.RuneStart(shown[cut]) {
		cut--
	}
	return fmt.Sprintf("%s… (%d bytes)", shown[:cut], size)
}

// ValidateUserID returns an *InvalidError unless id has 1 to 255 bytes of valid text.
func ValidateUserID(id string) error {
	if len(id) < 1 || len(id) > maxUserID {
		return Invalid("user_id", id, "must have 1 to 255 bytes")
	}
	return text("user_id", id)
}

// text returns an *InvalidError if PostgreSQL cannot store value as text.
func text(field, value string) error {
	if !utf8.ValidString(value) {
		return Invalid(field, value, "must be valid UTF-8")
	}
	if strings.ContainsRune(value, 0) {
		return Invalid(field, value, "must not contain a NUL character")
	}
	return nil
}

// validate returns an error for anything that the database would reject. Otherwise it returns the
// memory's metadata as JSON.
func (m *NewMemory) validate() (json.RawMessage, error) {
	metadata, err := m.check()
	if bad, ok := errors.AsType[*InvalidError](err); ok && m.Sensitivity == Secret && bad.Field != "sensitivity" {
		bad.Value = "" // errors are logged
	}
	return metadata, err
}

func (m *NewMemory) check() (json.RawMessage, error) {
	if err := ValidateUserID(m.UserID); err != nil {
		return nil, err
	}
	if strings.TrimSpace(m.Content) == "" {
		return nil, Invalid("content", m.Content, "must not be blank")
	}
	if len(m.Content) > maxContent {
		return nil, Invalid("content", m.Content, "must not be longer than 1 MiB")
	}
	for _, t := range []struct{ field, value string }{
		{"content", m.Content}, {"external_id", m.ExternalID}, {"session_id", m.SessionID}, {"speaker", m.Speaker},
		{"agent_id", m.AgentID}, {"source", m.Source}, {"category", m.Category},
	} {
		if err := text(t.field, t.value); err != nil {
			return nil, err
		}
		if slices.Contains([]string{"external_id", "session_id", "speaker"}, t.field) && len(t.value) > maxName {
			return nil, Invalid(t.field, t.value, "must have at most 1024 bytes")
		}
	}
	if m.Type != "" && !slices.Contains(MemoryTypes(), m.Type) {
		return nil, Invalid("memory_type", string(m.Type), "must be fact, episodic, trait or document")
	}
	if i := m.Importance; i != nil && !(*i >= 0 && *i <= 1) { // also rejects NaN
		return nil, &InvalidError{Index: -1, Field: "importance", Value: strconv.FormatFloat(*i, 'g', -1, 64),
			Rule: "must be between 0 and 1"}
	}
	if m.Sensitivity < 0 || m.Sensitivity > Secret {
		return nil, Invalid("sensitivity", strconv.Itoa(m.Sensitivity), "must be 0, 1, 2 or 3")
	}
	if m.Sensitivity == Secret && (m.Speaker != "" || m.Metadata != nil) {
		return nil, &InvalidError{Index: -1, Field: "sensitivity", Value: "3",
			Rule: "must be below 3 for a memory with speaker or metadata, which are not sealed"}
	}
	if err := period(m.ValidAt, m.InvalidAt); err != nil {
		return nil, err
	}
	return ValidateMetadata(m.Metadata)
}

func period(validAt, invalidAt time.Time) error {
	for _, t := range []struct {
		field string
		at    time.Time
	}{{"valid_at", validAt}, {"invalid_at", invalidAt}} {
		if err := moment(t.field, t.at); err != nil {
			return err
		}
	}
	if !validAt.IsZero() && !invalidAt.IsZero() && invalidAt.Before(validAt) {
		return Invalid("invalid_at", invalidAt.Format(time.RFC3339Nano),
			"must not be before valid_at ("+validAt.Format(time.RFC3339Nano)+")")
	}
	return nil
}

func moment(field string, at time.Time) error {
	if !at.IsZero() && (at.Before(minTime) || at.After(maxTime)) {
		return Invalid(field, at.Format(time.RFC3339), "must be in the years 1 to 9999")
	}
	return nil
}

// ValidateMetadata encodes v as a JSON object that PostgreSQL accepts. It returns nil if v is nil
// or encodes to null.
func ValidateMetadata(v any) (json.RawMessage, error) {
	const field = "metadata"
	if raw, ok := v.(json.RawMessage); v == nil || ok && raw == nil {
		return nil, nil
	}
	encoded, err := json.Marshal(v)
	if err != nil {
		return nil, Invalid(field, fmt.Sprintf("%v", v), "must be a JSON object: "+err.Error())
	}
	// Decoding and encoding again removes broken UTF-16 escapes and duplicate keys.
	dec := json.NewDecoder(bytes.NewReader(encoded))
	dec.UseNumber()
	var decoded any
	if err := dec.Decode(&decoded); err != nil {
		return nil, Invalid(field, string(encoded), "must be a JSON object: "+err.Error())
	}
	if decoded == nil {
		return nil, nil
	}
	if _, ok := decoded.(map[string]any); !ok {
		return nil, Invalid(field, string(encoded), "must be a JSON object")
	}
	if rule := storable(decoded, 0); rule != "" {
		return nil, Invalid(field, string(encoded), rule)
	}
	return json.Marshal(decoded)
}

// storable returns the rule that a decoded JSON value breaks, or "" if jsonb accepts it.
func storable(v any, depth int) string {
	if depth > maxDepth {
		return fmt.Sprintf("must not be nested deeper than %d", maxDepth)
	}
	switch v := v.(type) {
	case string:
		if strings.ContainsRune(v, 0) {
			return "must not contain a NUL character"
		}
	case json.Number:
		if f, err := v.Float64(); err != nil || math.IsInf(f, 0) {
			return "must not contain a number beyond 1e308"
		}
	case []any:
		for _, element := range v {
			if rule := storable(element, depth+1); rule != "" {
				return rule
			}
		}
	case map[string]any:
		for key, value := range v {
			if strings.ContainsRune(key, 0) {
				return "must not contain a NUL character"
			}
			if rule := storable(value, depth+1); rule != "" {
				return rule
			}
		}
	}
	return ""
}
