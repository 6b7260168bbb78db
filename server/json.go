package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// The limits of JSON in a request. They bound the memory of what it is decoded to, which may need 50 times as much as
// the text.
const (
	maxDepth  = 100     // levels
	maxValues = 100_000 // values, including those of objects and lists in others
)

// checkJSON returns an error for JSON that is too deep or has too many values. Text that is not JSON may pass.
func checkJSON(text []byte) error {
	depth, values, quoted := 0, 1, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == ',':
			values++
		case c == '{' || c == '[':
			values++
			depth++
		case c == '}' || c == ']':
			depth--
		}
		if depth > maxDepth {
			return fmt.Errorf("the JSON has more than %d levels", maxDepth)
		}
		if values > maxValues {
			return fmt.Errorf("the JSON has more than %d values", maxValues)
		}
	}
	return nil
}

// boundedFormats are formats that refuse what checkJSON does.
func boundedFormats(formats map[string]huma.Format) map[string]huma.Format {
	formats = maps.Clone(formats)
	for name, f := range formats {
		unmarshal := f.Unmarshal
		f.Unmarshal = func(text []byte, v any) error {
			if err := checkJSON(text); err != nil {
				return err
			}
			return unmarshal(text, v)
		}
		formats[name] = f
	}
	return formats
}

// The limits of a problem.
const (
	maxErrors = 20  // that it lists
	maxValue  = 200 // bytes of each text, and of a value that it repeats
)

// shortenProblem lets no answer grow with what is wrong in a request.
func shortenProblem(_ huma.Context, _ string, v any) (any, error) {
	problem, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	if n := len(problem.Errors); n > maxErrors {
		problem.Errors = append(problem.Errors[:maxErrors:maxErrors],
			&huma.ErrorDetail{Message: strconv.Itoa(n-maxErrors) + " more errors"})
	}
	for _, e := range problem.Errors {
		e.Location, e.Message = beginning(e.Location), beginning(e.Message)
		if text, ok := e.Value.(string); ok {
			e.Value = beginning(text)
		} else if text, err := json.Marshal(e.Value); err != nil || len(text) > maxValue {
			e.Value = nil
		}
	}
	return v, nil
}

// beginning returns the beginning of a text.
func beginning(text string) string {
	if len(text) <= maxValue {
		return text
	}
	return strings.ToValidUTF8(text[:maxValue], "") + "…"
}

// readJSON reads a body of at most maxBody bytes, and puts it back.
func readJSON(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, huma.NewError(http.StatusRequestEntityTooLarge, fmt.Sprintf("the body has more than %d bytes", maxBody))
	}
	if err != nil {
		return nil, huma.NewError(http.StatusRequestTimeout, "the body did not arrive")
	}
	r.Body = io.NopCloser(bytes.NewReader(text))
	if err := checkJSON(text); err != nil {
		return nil, huma.Error400BadRequest(err.Error())
	}
	return text, nil
}
