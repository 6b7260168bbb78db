package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/server"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/worker"
)

// vectorCase is a case of sdk/vectors, which sdk/README.md describes.
type vectorCase struct {
	Name  string
	Steps []vectorStep
}

type vectorStep struct {
	Call, Key     string
	Args          object
	Expect, Error any
	Save          map[string]string
	Until         bool
}

// TestVectors runs sdk/vectors over plain HTTP. The SDKs run the same cases.
func TestVectors(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *server.Config) { c.RequestsPerSecond = 1e6 })
	w, err := worker.New(t.Context(), worker.Config{DatabaseURL: pgtest.As(t, b.dsn, "worker"),
		Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-ended)
		w.Close()
	})
	operations := operationsOf(t)
	app, operator := b.key(t, store.RoleApp, ""), b.key(t, store.RoleOperator, "")
	files, err := filepath.Glob("../sdk/vectors/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var vectors struct{ Cases []vectorCase }
		require.NoError(t, json.Unmarshal(text, &vectors))
		for _, c := range vectors.Cases {
			t.Run(filepath.Base(file)+"/"+c.Name, func(t *testing.T) {
				t.Parallel()
				user := "用户 " + uuid.NewString()
				run := vectorRun{b, operations, map[string]any{"user": user},
					map[string]string{"": app, "app": app, "operator": operator, "wrong": "wrong"}}
				for i, step := range c.Steps {
					if step.Key == "person" && run.keys["person"] == "" {
						run.keys["person"] = b.key(t, store.RolePerson, user)
					}
					run.step(t, i+1, step)
				}
			})
		}
	}
}

// operation is an operation of openapi.json.
type operation struct {
	ID           string `json:"operationId"`
	method, path string
	Parameters   []struct{ Name, In string }
	Body         *struct {
		Content map[string]any
	} `json:"requestBody"`
}

func operationsOf(t *testing.T) map[string]operation {
	t.Helper()
	text, err := os.ReadFile("openapi.json")
	require.NoError(t, err)
	var api struct {
		Paths map[string]map[string]operation
	}
	require.NoError(t, json.Unmarshal(text, &api))
	operations := map[string]operation{}
	for path, methods := range api.Paths {
		for method, o := range methods {
			o.method, o.path = strings.ToUpper(method), path
			operations[o.ID] = o
		}
	}
	return operations
}

type vectorRun struct {
	*bench
	operations map[string]operation
	saved      map[string]any
	keys       map[string]string // by the role that a step names
}

func (r *vectorRun) step(t *testing.T, n int, s vectorStep) {
	t.Helper()
	args, _ := r.resolve(s.Args).(object)
	var got any
	for limit := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		status, answer := r.call(t, s, args)
		got = answer
		if s.Error != nil {
			require.NoError(t, r.match(s.Error, problemOf(status, answer)), "step %d: %s: %v", n, s.Call, answer)
			return
		}
		require.Equal(t, 200, status, "step %d: %s: %v", n, s.Call, answer)
		err := r.match(s.Expect, got)
		if err == nil {
			break
		}
		if !s.Until || time.Now().After(limit) {
			require.NoError(t, err, "step %d: %s: %v", n, s.Call, got)
		}
	}
	for name, path := range s.Save {
		value := got
		for part := range strings.SplitSeq(path, ".") {
			if list, ok := value.([]any); ok {
				i, err := strconv.Atoi(part)
				require.NoError(t, err)
				value = list[i]
			} else {
				value = value.(object)[part]
			}
		}
		require.NotNil(t, value, "step %d: %s has no %s", n, s.Call, path)
		r.saved[name] = value
	}
}

// call makes the request of a step. It reads all pages of a list.
func (r *vectorRun) call(t *testing.T, s vectorStep, args object) (status int, got any) {
	t.Helper()
	o, ok := r.operations[s.Call]
	require.True(t, ok, "no operation %s", s.Call)
	path, query, headers, body := o.path, url.Values{}, []string{}, object{}
	for name, value := range args {
		in := ""
		for _, p := range o.Parameters {
			if p.Name == name || p.Name == "Idempotency-Key" && name == "idempotency_key" {
				in = p.In
			}
		}
		switch text := textOf(value); in {
		case "path":
			path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(text))
		case "query":
			query.Set(name, text)
		case "header":
			headers = append(headers, "Idempotency-Key", text)
		default:
			body[name] = value
		}
	}
	var sent any
	if o.Body != nil {
		sent = body
		if o.Body.Content["application/json"] == nil {
			sent, headers = body["lines"], append(headers, "Content-Type", "application/x-ndjson")
		}
	}
	prefix, key := "/v1/users/"+url.PathEscape(r.saved["user"].(string)), r.keys[s.Key]
	if s.Key == "person" {
		prefix = "/v1"
	}
	items := []any{}
	for {
		a := r.do(t, key, o.method, prefix+path+"?"+query.Encode(), sent, headers...)
		if a.status == 200 && a.header.Get("Content-Type") == "application/x-ndjson" {
			return a.status, linesOf(t, a.body)
		}
		require.NoError(t, json.Unmarshal(a.body, &got), "%s", a.body)
		page, _ := got.(object)
		list, ok := page["items"].([]any)
		if a.status != 200 || !ok {
			return a.status, got
		}
		items = append(items, list...)
		if page["next_cursor"] == nil {
			return a.status, items
		}
		query.Set("cursor", page["next_cursor"].(string))
	}
}

func textOf(value any) string {
	if list, ok := value.([]any); ok {
		texts := make([]string, len(list))
		for i, v := range list {
			texts[i] = textOf(v)
		}
		return strings.Join(texts, ",")
	}
	if number, ok := value.(float64); ok {
		return strconv.FormatFloat(number, 'f', -1, 64)
	}
	return fmt.Sprint(value)
}

func linesOf(t *testing.T, text []byte) []any {
	t.Helper()
	lines := []any{}
	for line := range bytes.Lines(text) {
		var value any
		require.NoError(t, json.Unmarshal(line, &value))
		lines = append(lines, value)
	}
	return lines
}

// problemOf returns an error as an SDK reports it.
func problemOf(status int, answer any) object {
	problem, _ := answer.(object)
	e := object{"status": float64(status), "detail": problem["detail"]}
	if errs, _ := problem["errors"].([]any); len(errs) > 0 {
		first := errs[0].(object)
		field, _ := first["location"].(string)
		for _, in := range []string{"body.", "query.", "path.", "header."} {
			field = strings.TrimPrefix(field, in)
		}
		e["field"], e["rule"], e["value"] = field, first["message"], first["value"]
	}
	return e
}

// resolve replaces the variables in a value.
func (r *vectorRun) resolve(value any) any {
	switch value := value.(type) {
	case string:
		if saved, ok := r.saved[strings.TrimPrefix(value, "$")]; ok && strings.HasPrefix(value, "$") {
			return saved
		}
	case []any:
		list := make([]any, len(value))
		for i, v := range value {
			list[i] = r.resolve(v)
		}
		return list
	case object:
		o := object{}
		for name, v := range value {
			o[name] = r.resolve(v)
		}
		return o
	}
	return value
}

var uuidText = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// match reports why a value does not match what is expected.
func (r *vectorRun) match(expected, got any) error {
	switch expected := r.resolve(expected).(type) {
	case nil:
		return nil
	case object:
		if conditional(expected) {
			return r.condition(expected, got)
		}
		o, ok := got.(object)
		if !ok {
			return fmt.Errorf("expected an object, got %v", got)
		}
		for name, value := range expected {
			given, exists := o[name]
			if want, ok := value.(object); ok && want["$absent"] == true {
				if exists {
					return fmt.Errorf("%s: expected none, got %v", name, given)
				}
			} else if !exists {
				return fmt.Errorf("%s is missing", name)
			} else if err := r.match(value, given); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(expected) {
			return fmt.Errorf("expected %d items, got %v", len(expected), got)
		}
		for i := range expected {
			if err := r.match(expected[i], list[i]); err != nil {
				return fmt.Errorf("[%d]: %w", i, err)
			}
		}
		return nil
	default:
		if !reflect.DeepEqual(expected, got) {
			return fmt.Errorf("expected %v, got %v", expected, got)
		}
		return nil
	}
}

func conditional(o object) bool {
	for name := range o {
		if strings.HasPrefix(name, "$") {
			return true
		}
	}
	return false
}

// condition reports why a value does not meet a condition.
func (r *vectorRun) condition(c object, got any) error {
	text, _ := got.(string)
	list, _ := got.([]any)
	holds := func(items any) int {
		return slices.IndexFunc(items.([]any), func(e any) bool {
			return slices.IndexFunc(list, func(v any) bool { return r.match(e, v) == nil }) >= 0
		})
	}
	for name, want := range c {
		ok := false
		switch name {
		case "$uuid":
			ok = uuidText.MatchString(text)
		case "$time":
			_, err := time.Parse(time.RFC3339Nano, text)
			ok = err == nil
		case "$includes":
			ok = !slices.ContainsFunc(want.([]any), func(e any) bool { return holds([]any{e}) < 0 })
		case "$excludes":
			ok = list != nil && holds(want) < 0
		case "$length":
			ok = want == float64(len(list)+len([]rune(text)))
		case "$contains":
			ok = strings.Contains(text, want.(string))
		case "$from", "$to":
			number, is := got.(float64)
			ok = is && (name == "$from" && number >= want.(float64) || name == "$to" && number <= want.(float64))
		case "$same":
			a, errA := time.Parse(time.RFC3339Nano, text)
			b, errB := time.Parse(time.RFC3339Nano, want.(string))
			ok = errors.Join(errA, errB) == nil && a.Equal(b)
		}
		if !ok {
			return fmt.Errorf("%s %v does not hold for %v", name, want, got)
		}
	}
	return nil
}
