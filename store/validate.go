package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow/internal/secrets"
)

// Limits of the schema, in bytes except for maxDepth.
const (
	maxUserID    = 255
	maxName      = 1024 // session_id, external_id
	maxContent   = 1 << 20
	maxMetadata  = 1 << 20 // as JSON
	maxReference = 2048
	maxDepth     = 200 // nesting of metadata: PostgreSQL's parser recurses
)

// The range of times that both timestamptz and RFC 3339 can express.
var (
	minTime = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	maxTime = time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)
)

// Invalid returns an InvalidError with the value, quoted if it is text, and shortened. A nil value is left out.
func Invalid(field string, value any, rule string) *InvalidError {
	bad := &InvalidError{Index: -1, Field: field, Rule: rule}
	switch v := reflect.ValueOf(value); {
	case value == nil:
	case v.Kind() == reflect.String: // errors are logged
		bad.Value = shorten(strconv.Quote(secrets.Mask(v.String()[:min(v.Len(), maxShown)])), v.Len())
	default:
		text := fmt.Sprint(value)
		bad.Value = shorten(text, len(text))
	}
	return bad
}

// maxShown is how much of a text is searched for secrets before its beginning is shown.
const maxShown = 4096

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
func (m *NewMemory) validate() (json.RawMessage, error) { return m.validateUpTo(maxMetadata) }

// validateUpTo is validate with the largest metadata in bytes, or 0 for any.
func (m *NewMemory) validateUpTo(metadata int) (json.RawMessage, error) {
	encoded, err := m.check(metadata)
	return encoded, withoutSecret(err, m.Sensitivity)
}

// validate is the same for a message.
func (m *NewMessage) validate() (json.RawMessage, error) {
	metadata, err := m.check()
	return metadata, withoutSecret(err, m.Sensitivity)
}

// withoutSecret removes the value of a secret text from an error, because errors are logged.
func withoutSecret(err error, sensitivity int) error {
	if bad, ok := errors.AsType[*InvalidError](err); ok && sensitivity == Secret && bad.Field != "sensitivity" {
		bad.Value = ""
	}
	return err
}

func (m *NewMemory) check(metadata int) (json.RawMessage, error) {
	err := checkTexts(m.UserID, m.Content, Field{"external_id", m.ExternalID}, Field{"session_id", m.SessionID},
		Field{"speaker", m.Speaker}, Field{"agent_id", m.AgentID}, Field{"source", m.Source},
		Field{"category", string(m.Category)}, Field{"topic", m.Topic},
		Field{"reference", m.Reference})
	if err != nil {
		return nil, err
	}
	if m.Type != "" && !slices.Contains(MemoryTypes(), m.Type) {
		return nil, Invalid("memory_type", m.Type, "must be fact, episodic, trait or document")
	}
	if i := m.Importance; i != nil && !(*i >= 0 && *i <= 1) { // also rejects NaN
		return nil, Invalid("importance", *i, "must be between 0 and 1")
	}
	if len(m.Topic) > 255 || m.Topic != "" && strings.TrimSpace(m.Topic) == "" {
		return nil, Invalid("topic", m.Topic, "must not be blank or longer than 255 bytes")
	}
	if err := checkModality(m.Modality, m.Reference); err != nil {
		return nil, err
	}
	if m.Sensitivity == Secret && m.Reference != "" {
		return nil, Invalid("sensitivity", m.Sensitivity,
			"must be below 3 for a memory with a reference, which is not sealed")
	}
	if err := checkSensitivity("memory", m.Sensitivity, m.Speaker != "" || m.Metadata != nil); err != nil {
		return nil, err
	}
	if err := period(m.ValidAt, m.InvalidAt); err != nil {
		return nil, err
	}
	if err := moment("expires_at", m.ExpiresAt); err != nil {
		return nil, err
	}
	return encodeObject("metadata", m.Metadata, metadata)
}

func (m *NewMessage) check() (json.RawMessage, error) {
	err := checkTexts(m.UserID, m.Content, Field{"session_id", m.SessionID}, Field{"speaker", m.Speaker})
	if err != nil {
		return nil, err
	}
	if m.SessionID == "" {
		return nil, Invalid("session_id", "", "must have 1 to 1024 bytes")
	}
	if !slices.Contains([]string{"", "user", "assistant", "system", "tool"}, m.Role) {
		return nil, Invalid("role", m.Role, "must be user, assistant, system or tool")
	}
	if err := checkSensitivity("message", m.Sensitivity, m.Speaker != "" || len(m.Metadata) > 0); err != nil {
		return nil, err
	}
	if err := moment("created_at", m.At); err != nil {
		return nil, err
	}
	return ValidateMetadata(m.Metadata)
}

// Field is a text and the name of its column or argument.
type Field struct{ Name, Value string }

// checkTexts checks the texts of a memory or a message.
func checkTexts(userID, content string, others ...Field) error {
	if err := ValidateUserID(userID); err != nil {
		return err
	}
	if strings.TrimSpace(content) == "" {
		return Invalid("content", content, "must not be blank")
	}
	if len(content) > maxContent {
		return Invalid("content", content, "must not be longer than 1 MiB")
	}
	for _, f := range append(others, Field{"content", content}) {
		if err := text(f.Name, f.Value); err != nil {
			return err
		}
		if slices.Contains([]string{"external_id", "session_id", "speaker"}, f.Name) && len(f.Value) > maxName {
			return Invalid(f.Name, f.Value, "must have at most 1024 bytes")
		}
	}
	return nil
}

// checkModality checks the kind of a memory and the place of what its content describes.
func checkModality(modality Modality, reference string) error {
	switch {
	case modality != "" && !slices.Contains(Modalities(), modality):
		return Invalid("modality", modality, "must be text, image, audio, video, code or file")
	case reference == "" && !slices.Contains([]Modality{"", ModalityText, ModalityCode}, modality):
		return Invalid("reference", nil, fmt.Sprintf("must say where the %s is: a URI or a path", modality))
	case reference != "" && strings.TrimSpace(reference) == "" || len(reference) > maxReference:
		return Invalid("reference", reference, "must not be blank or longer than 2048 bytes")
	}
	return nil
}

// checkSensitivity checks the level of a memory or a message. open is true if it has values that are not sealed.
func checkSensitivity(kind string, level int, open bool) error {
	if level < 0 || level > Secret {
		return Invalid("sensitivity", level, "must be 0, 1, 2 or 3")
	}
	if level == Secret && open {
		return Invalid("sensitivity", level,
			"must be below 3 for a "+kind+" with speaker or metadata, which are not sealed")
	}
	return nil
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

// expiry validates when a memory expires, if it does.
func expiry(expiresAt, createdAt time.Time) error {
	if !expiresAt.IsZero() && !expiresAt.After(createdAt) {
		return Invalid("expires_at", expiresAt.Format(time.RFC3339Nano),
			"must be after created_at, which is now by default")
	}
	return nil
}

func moment(field string, at time.Time) error {
	if !at.IsZero() && (at.Before(minTime) || at.After(maxTime)) {
		return Invalid(field, at.Format(time.RFC3339), "must be in the years 1 to 9999")
	}
	return nil
}

// ValidateMetadata encodes v as a JSON object of at most 1 MiB that PostgreSQL accepts. It returns nil if v is nil
// or encodes to null.
func ValidateMetadata(v any) (json.RawMessage, error) {
	return encodeObject("metadata", v, maxMetadata)
}

// encodeObject encodes v as a JSON object that PostgreSQL accepts, of at most a number of bytes unless it is 0.
func encodeObject(field string, v any, most int) (json.RawMessage, error) {
	if raw, ok := v.(json.RawMessage); v == nil || ok && raw == nil {
		return nil, nil
	}
	encoded, err := json.Marshal(v)
	if err != nil {
		return nil, Invalid(field, fmt.Sprintf("%v", v), "must be a JSON object: "+err.Error())
	}
	if most > 0 && len(encoded) > most {
		return nil, Invalid(field, nil, fmt.Sprintf("must have at most %d MiB as JSON", most>>20))
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
