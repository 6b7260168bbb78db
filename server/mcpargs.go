package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/jsonl"
	"github.com/oxbow-memory/oxbow/store"
)

// aliases are other names of arguments that models use. An alias counts only for a tool that has the argument and has
// no argument of the alias's name.
var aliases = map[string][]string{
	"query":       {"q", "text", "question", "search", "topic"},
	"topic":       {"query", "q", "text", "question", "subject"},
	"content":     {"text", "memory", "fact", "message", "data"},
	"id":          {"memory_id", "operation_id", "uuid"},
	"limit":       {"top_k", "k", "n", "count", "max_results", "page_size"},
	"max_tokens":  {"token_budget", "budget", "tokens"},
	"memory_type": {"type", "kind"},
	"types":       {"type", "memory_type", "memory_types"},
	"stages":      {"stage"},
	"valid_at":    {"when", "date", "at", "timestamp"},
	"valid_as_of": {"as_of", "at"},
	"as_of":       {"valid_as_of", "at"},
	"reason":      {"why", "comment"},
	"cursor":      {"next_cursor", "page", "page_token"},
}

// decodeArguments decodes the arguments of a tool, and returns the id among them. It is lenient about names, and about
// numbers, lists and times given as text, and strict about everything else.
func decodeArguments[I any](schema *huma.Schema, user string, raw json.RawMessage) (in I, id string, err error) {
	known, err := knownArguments(schema, user, raw)
	if err != nil {
		return in, "", err
	}
	id, _ = known["id"].(string)
	if err := validate(schema, known); err != nil {
		return in, id, err
	}
	plain, err := json.Marshal(known)
	if err != nil {
		return in, id, err
	}
	return in, id, json.Unmarshal(plain, &in)
}

// knownArguments returns the arguments by their own names. The user is not an argument: user_id may only repeat the
// caller's.
func knownArguments(schema *huma.Schema, user string, raw json.RawMessage) (map[string]any, error) {
	given, err := objectOf(raw)
	if err != nil {
		return nil, err
	}
	known, from := map[string]any{}, map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(given)) { // sorted, so that an error does not depend on chance
		value := given[name]
		if value == nil || snake(name) == "user_id" && value == user {
			continue
		}
		argument, err := argumentNamed(schema, name)
		if err != nil {
			return nil, err
		}
		if from[argument] != "" {
			return nil, store.Invalid(argument, value, "is given twice, as "+from[argument]+" and as "+name)
		}
		from[argument] = name
		if known[argument], err = lenient(schema.Properties[argument], argument, value); err != nil {
			return nil, err
		}
	}
	return known, nil
}

// objectOf decodes an object, or a string that contains one. Nothing counts as an object without members.
func objectOf(raw json.RawMessage) (map[string]any, error) {
	var encoded string
	if json.Unmarshal(raw, &encoded) == nil {
		raw = json.RawMessage(encoded)
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, nil
	}
	if err := jsonl.Check(raw); err != nil {
		return nil, store.Invalid("arguments", nil, err.Error())
	}
	var object map[string]any
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, store.Invalid("arguments", string(raw), "must be a JSON object")
	}
	return object, nil
}

// maxNamed is the length, in bytes, to which an error shortens the name of an unknown argument.
const maxNamed = 64

// argumentNamed returns the argument that a name stands for.
func argumentNamed(schema *huma.Schema, name string) (string, error) {
	plain := snake(name)
	if schema.Properties[plain] != nil {
		return plain, nil
	}
	if plain == "user_id" {
		return "", store.Invalid(name, nil, "must be left out: the credential names the user")
	}
	names := slices.Sorted(maps.Keys(schema.Properties))
	for _, argument := range names {
		if slices.Contains(aliases[argument], plain) {
			return argument, nil
		}
	}
	return "", store.Invalid(strings.ToValidUTF8(name[:min(len(name), maxNamed)], ""), nil,
		"is not an argument of this tool, which has "+strings.Join(names, ", "))
}

// snake returns memory_id for memoryId and Memory-ID.
func snake(name string) string {
	var b strings.Builder
	var last rune
	for _, r := range strings.TrimSpace(name) {
		switch {
		case r == '-' || r == ' ' || r == '.':
			r = '_'
		case unicode.IsUpper(r):
			if unicode.IsLower(last) || unicode.IsDigit(last) {
				b.WriteByte('_')
			}
			last = r
			b.WriteRune(unicode.ToLower(r))
			continue
		}
		last = r
		b.WriteRune(r)
	}
	return b.String()
}

// lenient converts a value to what the schema of an argument wants, if it can. validate checks the result.
func lenient(s *huma.Schema, name string, value any) (any, error) {
	text, isText := value.(string)
	text = strings.TrimSpace(text)
	switch s.Type {
	case huma.TypeInteger, huma.TypeNumber:
		if n, err := strconv.ParseFloat(text, 64); isText && err == nil {
			return n, nil
		}
	case huma.TypeBoolean:
		if b, err := strconv.ParseBool(text); isText && err == nil {
			return b, nil
		}
	case huma.TypeObject:
		var object map[string]any
		if isText && json.Unmarshal([]byte(text), &object) == nil {
			return object, nil
		}
	case huma.TypeArray:
		return lenientList(s, name, value)
	case huma.TypeString:
		if n, ok := value.(float64); ok {
			return strconv.FormatFloat(n, 'f', -1, 64), nil
		}
		if isText {
			return lenientText(s, name, value.(string))
		}
	}
	return value, nil
}

// lenientList accepts a single value, a JSON list as text, and names with commas between them.
func lenientList(s *huma.Schema, name string, value any) (any, error) {
	list, isList := value.([]any)
	if text, isText := value.(string); isText {
		if json.Unmarshal([]byte(text), &list) != nil {
			for part := range strings.SplitSeq(text, ",") {
				list = append(list, part)
			}
		}
	} else if !isList {
		list = []any{value}
	}
	for i := range list {
		var err error
		if list[i], err = lenient(s.Items, name, list[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func lenientText(s *huma.Schema, name, text string) (any, error) {
	trimmed := strings.TrimSpace(text)
	switch {
	case s.Format == "uuid":
		id, err := uuid.Parse(strings.TrimPrefix(trimmed, memoryURI))
		if err != nil {
			return nil, store.Invalid(name, text, "must be a UUID")
		}
		return id.String(), nil
	case s.Format == "date-time":
		t, err := timeOf(trimmed)
		if err != nil {
			return nil, store.Invalid(name, text, "must be a date such as 2024-05-01 or a time such as 2024-05-01T08:30:00Z")
		}
		return t.Format(time.RFC3339Nano), nil
	case len(s.Enum) > 0:
		return strings.ToLower(trimmed), nil
	}
	return text, nil
}

// layouts are the forms of a time. Without an offset it is in UTC.
var layouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateTime, "2006-01-02 15:04",
	time.DateOnly, "2006-01", "2006"}

func timeOf(text string) (t time.Time, err error) {
	for _, layout := range layouts {
		if t, err = time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return t, err
}

// validate checks arguments with their schema, as HTTP does.
func validate(s *huma.Schema, arguments map[string]any) error {
	for _, name := range s.Required {
		if arguments[name] == nil {
			return store.Invalid(name, nil, "must be given")
		}
	}
	var result huma.ValidateResult
	huma.Validate(schemas, s, huma.NewPathBuffer(nil, 0), huma.ModeWriteToServer, arguments, &result)
	if len(result.Errors) == 0 {
		return nil
	}
	if detail, ok := errors.AsType[*huma.ErrorDetail](result.Errors[0]); ok {
		return store.Invalid(detail.Location, detail.Value, "is invalid: "+detail.Message)
	}
	return result.Errors[0]
}
