package server_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/server"
	"github.com/oxbow-memory/oxbow/store"
)

// extremes holds JSON at the ends of each type, by type or format.
var extremes = map[string][]string{
	"number": {"5e-324", "-5e-324", "1e-310", "-0", "1e308", "-1e308", "1e400", "-1e400", "1e-400", "NaN"},
	"integer": {"-1", "0", "2147483648", "9223372036854775807", "9223372036854775808",
		"-9223372036854775809", "0.5", "1e300",
		"1e400"},
	"date-time": {`"infinity"`, `"-infinity"`, `"0001-01-01T00:00:00Z"`, `"9999-12-31T23:59:59.999999Z"`,
		`"0000-01-01T00:00:00Z"`, `"9999-12-31T23:59:59-14:00"`, `"294276-12-31T00:00:00Z"`},
	"object": {`{"x": 1e400}`, `{"emotion": {"arousal": 5e-324, "valence": 1e308}}`, `{"emotion": {"arousal": 1e-400}}`},
}

// schema is one of openapi.json.
type schema struct {
	Ref        string `json:"$ref"`
	Type       any    // a name, or several
	Format     string
	Properties map[string]schema
	Items      *schema
}

// api is what the tests read of openapi.json.
type api struct {
	Paths map[string]map[string]struct {
		OperationID string `json:"operationId"`
		Parameters  []struct {
			Name, In string
			Schema   schema
		}
		RequestBody struct {
			Content map[string]struct{ Schema schema }
		} `json:"requestBody"`
	}
	Components struct{ Schemas map[string]schema }
}

// values returns the extremes of a schema, or nil if it is not of numbers, times or any JSON.
func (s schema) values() []string {
	if s.Format == "date-time" {
		return extremes[s.Format]
	}
	text, _ := json.Marshal(s.Type)
	for _, kind := range []string{"number", "integer"} {
		if strings.Contains(string(text), kind) {
			return extremes[kind]
		}
	}
	if strings.Contains(string(text), "object") && len(s.Properties) == 0 || s.Type == nil && s.Ref == "" {
		return extremes["object"]
	}
	return nil
}

// places returns the paths of fields with extremes in a body; "*" is an element of an array.
func (a api) places(s schema) map[string][]string {
	if s.Ref != "" {
		s = a.Components.Schemas[s.Ref[strings.LastIndex(s.Ref, "/")+1:]]
	}
	found := map[string][]string{}
	add := func(name string, inner schema) {
		if values := inner.values(); values != nil {
			found[name] = values
		}
		for path, values := range a.places(inner) {
			found[name+"/"+path] = values
		}
	}
	for name, inner := range s.Properties {
		add(name, inner)
	}
	if s.Items != nil {
		add("*", *s.Items)
	}
	return found
}

// here is replaced by a value, which encoding/json might not accept.
const here = "here goes the value"

// placed returns the body with the place at a path, which it extends if necessary.
func placed(body any, path []string) any {
	if len(path) == 0 {
		return here
	}
	if path[0] == "*" {
		list, _ := body.([]any)
		var first any
		if len(list) > 0 {
			first = list[0]
		}
		return []any{placed(first, path[1:])}
	}
	fields, _ := body.(object)
	fields = maps.Clone(fields)
	if fields == nil {
		fields = object{}
	}
	fields[path[0]] = placed(fields[path[0]], path[1:])
	return fields
}

// Every number, time and object of every operation is refused or stored; no request fails, then or later.
func TestExtremeNumbers(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *server.Config) { c.RequestsPerSecond = 1e6 })
	text, err := server.OpenAPI()
	require.NoError(t, err)
	var document api
	require.NoError(t, json.Unmarshal(text, &document))
	methods, operators := operations(t)
	operator := b.key(t, store.RoleOperator, "")
	sent, owners := 0, map[string]*owned{}
	for _, paths := range document.Paths {
		for _, operation := range paths {
			id := operation.OperationID
			user := "user of " + id
			var o *owned
			send := func(change func(request) request) {
				t.Helper()
				if o == nil {
					o = b.owner(t, user)
				}
				key := o.key
				if slices.Contains(operators, id) {
					key = operator
				}
				r := change(cases[id](o))
				a := b.do(t, key, methods[id], "/v1"+r.path, r.body)
				require.Less(t, a.status, 500, "%s %v: %s", r.path, r.body, a.body)
				sent++
			}
			for _, p := range operation.Parameters {
				for _, value := range p.Schema.values() {
					value = strings.Trim(value, `"`)
					send(func(r request) request {
						if p.In == "path" {
							return request{strings.NewReplacer(o.job, value, o.strategy, value).Replace(r.path), r.body}
						}
						path, query, _ := strings.Cut(r.path, "?")
						fields, err := url.ParseQuery(query)
						require.NoError(t, err)
						fields.Set(p.Name, value)
						return request{path + "?" + fields.Encode(), r.body}
					})
				}
			}
			for _, content := range operation.RequestBody.Content {
				for path, values := range document.places(content.Schema) {
					for _, value := range values {
						send(func(r request) request {
							body := jsonText(t, placed(r.body, strings.Split(path, "/")))
							body = strings.ReplaceAll(body, `"content":"x"`, fmt.Sprintf(`"content":"Boat %d"`, sent)) // not folded
							return request{r.path, strings.Replace(body, `"`+here+`"`, value, 1)}
						})
					}
				}
			}
			if o != nil {
				owners[id] = o
			}
		}
	}
	for range 2 {
		for id, o := range owners {
			for _, later := range []string{"recall", "context", "list-memories", "export", "list-traits", "list-upcoming", "explain"} {
				r := cases[later](o)
				a := b.do(t, o.key, methods[later], "/v1"+r.path, r.body)
				require.Less(t, a.status, 500, "%s after %s: %s", later, id, a.body)
			}
			a := b.do(t, o.key, "POST", "/v1/recall", object{"query": "boat", "limit": 100})
			require.Equal(t, 200, a.status, "recall after %s: %s", id, a.body)
		}
		b.work(t)
	}
	require.Greater(t, sent, 300)
}

// Every number, time and object that a tool takes is refused or stored; no call fails, then or later.
func TestExtremeArguments(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *server.Config) { c.RequestsPerSecond = 1e6 })
	m := b.over(t, b.key(t, store.RolePerson, "ada"), "/mcp", generations[1])
	sent := 0
	for tool, err := range m.session.Tools(t.Context(), nil) {
		require.NoError(t, err)
		var arguments schema
		require.NoError(t, json.Unmarshal([]byte(jsonText(t, tool.InputSchema)), &arguments))
		for path, values := range (api{}).places(arguments) {
			for _, value := range values {
				if !json.Valid([]byte(value)) {
					continue
				}
				a := must[server.Added](m, "add_memory", object{"content": fmt.Sprint("Boat ", sent, " sails.")})
				call := jsonText(t, placed(callsOf(tool, []any{a.ID.String()})[0], strings.Split(path, "/")))
				call = strings.Replace(call, `"`+here+`"`, value, 1)
				text, _ := m.call(tool.Name, json.RawMessage(call))
				require.NotContains(t, text, "unexpected error", "%s %s", tool.Name, call)
				sent++
			}
		}
	}
	require.Greater(t, sent, 100)
	b.work(t)
	for _, tool := range []string{"search_memories", "get_context", "list_memories", "list_traits"} {
		text, isError := m.call(tool, object{})
		if tool == "search_memories" {
			text, isError = m.call(tool, object{"query": "boat"})
		}
		require.False(t, isError, text)
	}
}
