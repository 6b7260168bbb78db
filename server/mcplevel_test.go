package server_test

import (
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/server"
	"github.com/oxbow-memory/oxbow/store"
)

// code is in every text of sensitivity 2.
const code = "kittiwake"

// plantCode plants texts of sensitivity 2 in everything that a memory of a user can be part of, and returns the ids of
// these memories and of what tools change.
func (b *bench) plantCode(t *testing.T, m model, key, user string) (ids []any) {
	t.Helper()
	sql := func(query string, args ...any) string {
		return pgtestOne[string](t, b, query, append([]any{user}, args...)...)
	}
	for _, kind := range []string{"fact", "episodic", "document"} {
		ids = append(ids, sql(`insert into oxbow.memories (user_id, memory_type, content, speaker, topic, source, external_id,
			agent_id, session_id, metadata, modality, reference, sensitivity) values ($1, $2::text, 'The code is kittiwake', 'Bo kittiwake',
			'door kittiwake', 'app kittiwake', 'e kittiwake ' || $2::text, 'a kittiwake', 't', '{"code": "kittiwake"}', 'image', 'https://x/kittiwake', 2)
			returning id::text`, kind))
	}
	// found, part of a group, of answers and of a summary of a topic before it was raised
	raised := must[server.Added](m, "add_memory", object{"content": "Mei, Bo and Tao know that the code is kittiwake",
		"category": "fact", "topic": "door", "metadata": object{"code": code, "entities": []any{object{"name": "Mei"},
			object{"name": "Bo"}, object{"name": "Tao"}}}}).ID.String()
	// a version that was replaced, whose successor is not sensitive, and that was said in messages
	old := must[server.Added](m, "add_memory", object{"content": "The code of the gate is kittiwake", "valid_at": "2024"}).ID.String()
	said := as[page[string]](t, 200, b.do(t, key, http.MethodPost, "/v1/messages", object{"messages": []any{
		object{"session_id": "s", "content": "The code of the gate is kittiwake, remember it"}}})).Items[0]
	b.work(t)
	require.Contains(t, must[memories](m, "search_memories", object{"query": "What is the code?"}).contents(),
		"Mei, Bo and Tao know that the code is kittiwake")
	_, err := store.Propagate(t.Context(), b.pool, 10_000)
	require.NoError(t, err)
	_, err = store.SummarizeCommunities(t.Context(), b.pool, 10_000)
	require.NoError(t, err)
	text, _ := m.call("list_communities", object{})
	require.Contains(t, text, code)
	require.Equal(t, 200, b.do(t, key, http.MethodPost, "/v1/answers", object{"query": "What opens the door?",
		"recalled": []any{raised}, "used": []any{raised}, "session_id": "s"}).status)
	newer := must[server.Added](m, "update_memory", object{"id": old, "content": "The gate opens with a key",
		"valid_at": "2025", "reason": "the code kittiwake is gone"}).ID.String()
	sql(`insert into oxbow.memory_sources (user_id, memory_type, memory_id, message_id, session_id, created_at)
		values ($1, 'fact', $2, $3, 's', now()) returning ''`, newer, said)
	sql(`with m as (update oxbow.memories set sensitivity = 2 where user_id = $1 and id::text = any($2) returning 1)
		select count(*)::text from m`, []string{raised, old})
	sql(`with m as (update oxbow.messages set sensitivity = 2 where user_id = $1 returning 1) select count(*)::text from m`)
	for _, id := range []string{raised, old} { // by id the person sees it
		require.Contains(t, string(b.do(t, key, http.MethodGet, "/v1/memories/"+id, nil).body), code)
	}
	require.Contains(t, string(b.do(t, key, http.MethodGet, "/v1/memories/"+newer+"/history", nil).body), code)
	for tool, arguments := range map[string]object{"add_instruction": {"content": "Be brief"},
		"add_intention": {"content": "Buy tea"}, "add_skill": {"name": "tea", "steps": []any{"boil water"}}} {
		ids = append(ids, must[server.Created](m, tool, arguments).ID.String())
	}
	return append(ids, raised, old, newer)
}

// valuesOf returns values for an argument of a tool, by its schema.
func valuesOf(name string, schema object, ids []any) []any {
	switch kind, _ := schema["type"].(string); {
	case schema["enum"] != nil:
		return schema["enum"].([]any)
	case schema["format"] == "uuid":
		return ids
	case schema["format"] == "date-time":
		return []any{"2035-05-20T09:00:00+02:00"}
	case name == "ids":
		return []any{ids}
	case kind == "array":
		items := schema["items"].(object)
		if items["enum"] != nil {
			return []any{items["enum"]}
		}
		return []any{[]any{"code"}}
	case kind == "integer":
		return []any{schema["maximum"]}
	case kind == "boolean":
		return []any{true}
	case kind == "object":
		return []any{object{}}
	case kind == "number":
		return []any{0.5}
	case name == "session_id":
		return []any{"s", "t"}
	case name == "cursor", name == "recurrence", name == "condition":
		return nil
	}
	return []any{"the code of the door"}
}

// callsOf returns calls of a tool: with the required arguments alone, and with each of the others as well.
func callsOf(tool *mcp.Tool, ids []any) (calls []object) {
	schema := tool.InputSchema.(map[string]any)
	properties := schema["properties"].(object)
	required, _ := schema["required"].([]any)
	calls = []object{{}}
	with := func(base []object, name string) (more []object) {
		for _, c := range base {
			for _, value := range valuesOf(name, properties[name].(object), ids) {
				c = maps.Clone(c)
				c[name] = value
				more = append(more, c)
			}
		}
		return more
	}
	for _, name := range required {
		calls = with(calls, name.(string))
	}
	for name := range properties {
		if !slices.Contains(required, any(name)) {
			calls = append(calls, with(calls[:min(len(calls), len(ids))], name)...)
		}
	}
	return calls
}

// No tool, resource or prompt shows a model a text of sensitivity 2, with any arguments. A new tool is called by its
// schema.
func TestSensitiveTextsAreNotForModels(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *server.Config) { c.RequestsPerSecond = 1e6 })
	key := b.key(t, store.RolePerson, "ada")
	m := b.over(t, key, "/mcp", generations[0])
	ids := b.plantCode(t, m, key, "ada")
	var reading, adding, ending []*mcp.Tool // in this order, so that there is something to show
	for tool, err := range m.session.Tools(t.Context(), nil) {
		require.NoError(t, err)
		switch {
		case tool.Annotations.ReadOnlyHint:
			reading = append(reading, tool)
		case *tool.Annotations.DestructiveHint:
			ending = append(ending, tool)
		default:
			adding = append(adding, tool)
		}
	}
	for _, tool := range slices.Concat(reading, adding, ending) {
		succeeded := 0
		for _, arguments := range callsOf(tool, ids) {
			r, err := m.session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool.Name, Arguments: arguments})
			require.NoError(t, err)
			require.NotContains(t, jsonText(t, r), code, "%s %v", tool.Name, arguments)
			if !r.IsError {
				succeeded++
			}
		}
		require.Positive(t, succeeded, "no call of %s succeeded", tool.Name)
	}
	uris := []string{"oxbow://context", "oxbow://context/the%20code%20of%20the%20door"}
	for _, id := range ids {
		uris = append(uris, "oxbow://memories/"+id.(string))
	}
	templates, err := m.session.ListResourceTemplates(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, templates.ResourceTemplates, 2, "a resource without a case")
	for _, uri := range uris {
		if r, err := m.session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri}); err != nil {
			require.NotContains(t, err.Error(), code)
		} else {
			require.NotContains(t, jsonText(t, r), code, uri)
		}
	}
	prompts, err := m.session.ListPrompts(t.Context(), nil)
	require.NoError(t, err)
	for _, p := range prompts.Prompts {
		r, err := m.session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: p.Name,
			Arguments: map[string]string{"question": "What is the code?", "text": "x"}})
		require.NoError(t, err)
		require.NotContains(t, jsonText(t, r), code, p.Name)
	}
	text, isError := m.call("get_memory", object{"id": ids[0]})
	require.True(t, isError)
	require.Contains(t, text, "sensitivity 2")
}
