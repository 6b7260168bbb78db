package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/oxbow-memory/oxbow/internal/jsonl"
)

// The limits of a problem.
const (
	maxErrors = 20  // that it lists
	maxValue  = 200 // bytes of each text, and of a value that it repeats
)

// shortenProblem keeps an answer from growing with the number and size of the errors in a request.
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
	if err := jsonl.Check(text); err != nil {
		return nil, huma.Error400BadRequest("the body " + err.Error())
	}
	return text, nil
}
