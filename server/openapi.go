package server

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// describeAPI returns the description of the API.
func describeAPI() (*Server, *huma.OpenAPI) {
	s := &Server{cfg: Config{}.withDefaults()}
	s.routes() // the operations use the database only when they are called
	return s, s.api.OpenAPI()
}

// OpenAPI returns openapi.json: the description of the API.
func OpenAPI() ([]byte, error) {
	_, api := describeAPI()
	encoded, err := json.Marshal(api)
	if err != nil {
		return nil, err
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, encoded, "", "  "); err != nil {
		return nil, err
	}
	indented.WriteByte('\n')
	return indented.Bytes(), nil
}

// Limit has the limits of a request of one operation.
type Limit struct {
	Operation string // its id
	Body      int64  // bytes; 0 if it has none
	Time      time.Duration
}

// Limits returns the limits of all operations, in the order of their ids.
func Limits() (limits []Limit) {
	s, api := describeAPI()
	for path, item := range api.Paths {
		for _, o := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
			if o == nil {
				continue
			}
			l := Limit{Operation: o.OperationID, Time: s.timeoutOf(path)}
			if o.RequestBody != nil {
				l.Body = o.MaxBodyBytes
			}
			limits = append(limits, l)
		}
	}
	slices.SortFunc(limits, func(a, b Limit) int { return cmp.Compare(a.Operation, b.Operation) })
	return limits
}
