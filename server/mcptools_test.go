package server_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/traittest"
	"github.com/oxbow-memory/oxbow/server"
	"github.com/oxbow-memory/oxbow/store"
)

// words are a person's sentences in one language.
type words struct{ home, moved, question, tea, topic, trait string }

var (
	english = words{"Ada lives in Lisbon.", "Ada lives in Porto.", "Where does Ada live?", "Ada drinks green tea.", "home",
		"Ada is patient."}
	chinese = words{"林住在上海。", "林住在杭州。", "林住在哪里？", "林喝绿茶。", "住", "林很有耐心。"}
)

// toolCase exercises a tool of a user, in a language. It may return what to check after a worker ran.
type toolCase func(t *testing.T, b *bench, m model, user string, w words) (after func())

var toolCases = map[string]toolCase{
	"add_memory": func(t *testing.T, b *bench, m model, user string, w words) func() {
		a := must[server.Added](m, "add_memory", object{"content": w.home, "valid_at": "2024-05-01", "category": "identity"})
		require.NotEqual(t, uuid.Nil, a.OperationID)
		got, err := store.GetMemory(t.Context(), b.pool, user, a.ID)
		require.NoError(t, err)
		require.Equal(t, []any{w.home, "mcp", "2024-05-01"},
			[]any{got.Content, got.Source, got.ValidAt.Format(time.DateOnly)})
		return nil
	},
	"search_memories": func(t *testing.T, _ *bench, m model, _ string, w words) func() {
		must[server.Added](m, "add_memory", object{"text": w.home})
		must[server.Added](m, "add_memory", object{"memory": w.tea})
		return func() {
			for _, name := range []string{"query", "q", "text", "Question"} {
				found := must[memories](m, "search_memories", object{name: w.question, "top_k": "2"})
				require.Equal(t, w.home, found.Memories[0].Content)
			}
		}
	},
	"get_context": func(t *testing.T, _ *bench, m model, _ string, w words) func() {
		must[server.Added](m, "add_memory", object{"content": w.tea})
		return func() {
			text, isError := m.call("get_context", object{"query": w.question, "maxTokens": "500"})
			require.False(t, isError)
			require.Contains(t, text, w.tea)
		}
	},
	"get_memory": func(t *testing.T, _ *bench, m model, _ string, w words) func() {
		a := must[server.Added](m, "add_memory", object{"content": w.home})
		require.Equal(t, w.home, must[memory](m, "get_memory", object{"memory_id": a.ID}).Content)
		return nil
	},
	"update_memory": func(t *testing.T, _ *bench, m model, _ string, w words) func() {
		a := must[server.Added](m, "add_memory", object{"content": w.home, "valid_at": "2020"})
		changed := must[server.Added](m, "update_memory", object{"id": a.ID, "text": w.moved, "valid_at": "2024-05-01"})
		require.Equal(t, w.moved, must[memory](m, "get_memory", object{"id": changed.ID}).Content)
		require.Equal(t, changed.ID, must[memory](m, "get_memory", object{"id": a.ID}).SupersededBy)
		text, isError := m.call("update_memory", object{"id": a.ID, "content": w.tea})
		require.True(t, isError)
		require.Contains(t, text, changed.ID.String(), "the error names the newer version")
		return nil
	},
	"forget_memory": func(t *testing.T, _ *bench, m model, _ string, w words) func() {
		a := must[server.Added](m, "add_memory", object{"content": w.home})
		return func() {
			require.Equal(t, []string{w.home}, must[memories](m, "search_memories", object{"q": w.home}).contents())
			for range 2 { // a repeated call does nothing
				must[object](m, "forget_memory", object{"id": a.ID, "reason": w.question})
			}
			require.False(t, must[memory](m, "get_memory", object{"id": a.ID}).ForgottenAt.IsZero())
			require.Empty(t, must[memories](m, "search_memories", object{"q": w.home}).Memories)
		}
	},
	"list_traits": func(t *testing.T, b *bench, m model, user string, w words) func() {
		id := traittest.Trait{UserID: user, Content: w.trait,
			Events: []traittest.Event{traittest.Created(traittest.Day(4, 1), 0.9)}}.Insert(t, b.pool)
		type traits struct{ Traits []memory }
		stages := "trend, candidate, emerging,established,core,dissolved"
		require.Equal(t, []memory{{ID: id, Content: w.trait}}, must[traits](m, "list_traits", object{"stages": stages}).Traits)
		return nil
	},
	"list_memories": func(t *testing.T, _ *bench, m model, _ string, w words) func() {
		for _, text := range []string{w.home, w.tea} {
			must[server.Added](m, "add_memory", object{"content": text})
		}
		type page struct {
			memories
			Next string `json:"next_cursor"`
		}
		first := must[page](m, "list_memories", object{"type": "fact", "n": 1})
		rest := must[page](m, "list_memories", object{"cursor": first.Next})
		require.Equal(t, []string{w.tea, w.home}, append(first.contents(), rest.contents()...))
		require.Empty(t, rest.Next)
		return nil
	},
	"get_operation": func(t *testing.T, _ *bench, m model, _ string, w words) func() {
		a := must[server.Added](m, "add_memory", object{"content": w.home})
		require.Equal(t, "pending", must[object](m, "get_operation", object{"operation_id": a.OperationID})["state"])
		return func() {
			require.Equal(t, "done", must[object](m, "get_operation", object{"id": a.OperationID})["state"])
		}
	},
	"give_feedback": func(t *testing.T, b *bench, m model, user string, w words) func() {
		a := must[server.Added](m, "add_memory", object{"content": w.home})
		must[server.Created](m, "give_feedback", object{"kind": "wrong", "ids": []any{a.ID}, "query": w.question})
		return func() {
			require.NotContains(t, must[memories](m, "search_memories", object{"q": w.question}).contents(), w.home)
			text, isError := m.call("give_feedback", object{"kind": "wrong", "ids": []any{uuid.New()}})
			require.True(t, isError)
			require.Contains(t, text, "has no memory")
		}
	},
	"add_instruction": func(t *testing.T, _ *bench, m model, _ string, w words) func() {
		must[server.Created](m, "add_instruction", object{"text": w.topic, "aspect": "tone"})
		text, isError := m.call("get_context", object{})
		require.False(t, isError)
		require.Contains(t, text, w.topic)
		return nil
	},
	"end_instruction": func(t *testing.T, _ *bench, m model, _ string, w words) func() {
		made := must[server.Created](m, "add_instruction", object{"content": w.topic})
		for _, did := range []bool{true, false} {
			require.Equal(t, server.Changed{Changed: did}, must[server.Changed](m, "end_instruction", object{"id": made.ID}))
		}
		text, _ := m.call("get_context", object{})
		require.NotContains(t, text, w.topic)
		return nil
	},
	"add_intention": func(t *testing.T, _ *bench, m model, _ string, w words) func() {
		must[server.Created](m, "add_intention", object{"content": w.tea, "kind": "reminder", "due_at": "2035-05-20T09:00:00+02:00"})
		text, isError := m.call("add_intention", object{"content": w.home, "recurrence": "FREQ=DAILY"})
		require.True(t, isError)
		require.Contains(t, text, "due_at")
		return nil
	},
	"list_upcoming": func(t *testing.T, _ *bench, m model, _ string, w words) func() {
		must[server.Created](m, "add_instruction", object{"content": w.topic})
		must[server.Created](m, "add_intention", object{"content": w.tea, "due_at": "2035-05-20T09:00:00+02:00"})
		must[server.Created](m, "add_intention", object{"content": w.home, "due_at": "2036-05-20"})
		type list struct{ Items []memory }
		found := must[list](m, "list_upcoming", object{"until": "2036"})
		require.Equal(t, []string{w.topic, w.tea}, memories{Memories: found.Items}.contents())
		require.Len(t, must[list](m, "list_upcoming", object{}).Items, 3)
		return nil
	},
	"close_intention": func(t *testing.T, _ *bench, m model, _ string, w words) func() {
		for _, outcome := range []string{"done", "dropped"} {
			made := must[server.Created](m, "add_intention", object{"content": w.tea})
			require.True(t, must[server.Changed](m, "close_intention", object{"id": made.ID, "outcome": outcome}).Changed)
		}
		return nil
	},
	"predict": func(t *testing.T, _ *bench, m model, _ string, w words) func() {
		must[server.Created](m, "add_intention", object{"content": w.tea, "due_at": time.Now().Add(2 * time.Hour)})
		must[server.Created](m, "add_intention", object{"content": w.home, "due_at": time.Now().Add(30 * time.Hour)})
		type predictions struct{ Predictions []memory }
		require.Equal(t, []string{w.tea}, memories{Memories: must[predictions](m, "predict", object{}).Predictions}.contents())
		require.Len(t, must[predictions](m, "predict", object{"until": time.Now().Add(40 * time.Hour)}).Predictions, 2)
		text, isError := m.call("predict", object{"until": "2001"})
		require.True(t, isError)
		require.Contains(t, text, "until")
		return nil
	},
	"list_communities": func(t *testing.T, b *bench, m model, user string, w words) func() {
		must[server.Added](m, "add_memory", object{"content": w.trait, "metadata": object{"entities": []any{
			object{"name": "Mei"}, object{"name": "Bo"}, object{"name": "Tao"}}}})
		return func() {
			_, err := store.Propagate(t.Context(), b.pool, 10_000)
			require.NoError(t, err)
			_, err = store.SummarizeCommunities(t.Context(), b.pool, 10_000)
			require.NoError(t, err)
			type groups struct{ Communities []memory }
			found := must[groups](m, "list_communities", object{"q": "How is Bo?"}).Communities
			require.Equal(t, []string{"Bo, Mei, Tao:\n" + w.trait}, memories{Memories: found}.contents())
			require.Empty(t, must[groups](m, "list_communities", object{"query": w.tea}).Communities)
			text, _ := m.call("get_context", object{"query": "Mei", "include": []any{"communities"}})
			require.Contains(t, text, "Bo")
		}
	},
	"list_skills": func(t *testing.T, _ *bench, m model, _ string, w words) func() {
		must[server.Created](m, "add_skill", object{"name": w.topic, "situation": w.tea, "steps": []any{w.home, w.moved},
			"preconditions": []any{w.trait}})
		type skills struct{ Skills []memory }
		require.Equal(t, []string{w.topic + ": " + w.tea + "\nRequires: " + w.trait + "\n1. " + w.home + "\n2. " + w.moved},
			memories{Memories: must[skills](m, "list_skills", object{"situation": w.tea}).Skills}.contents())
		return nil
	},
	"add_skill": func(t *testing.T, _ *bench, m model, _ string, w words) func() {
		text, isError := m.call("add_skill", object{"name": w.topic, "steps": []any{}})
		require.True(t, isError)
		require.Contains(t, text, "steps")
		must[server.Created](m, "add_skill", object{"name": w.topic, "steps": []any{w.home}})
		must[server.Created](m, "add_skill", object{"name": w.topic, "steps": []any{w.moved}, "reason": w.question})
		type skills struct{ Skills []memory }
		require.Equal(t, []string{w.topic + "\n1. " + w.moved},
			memories{Memories: must[skills](m, "list_skills", object{}).Skills}.contents(), "the next version")
		return nil
	},
	"report_outcome": func(t *testing.T, _ *bench, m model, _ string, w words) func() {
		made := must[server.Created](m, "add_skill", object{"name": w.topic, "steps": []any{w.home}})
		for _, success := range []bool{true, false, true} {
			must[server.Done](m, "report_outcome", object{"id": made.ID, "success": success})
		}
		type skills struct {
			Skills []struct{ Successes, Failures int }
		}
		found := must[skills](m, "list_skills", object{}).Skills[0]
		require.Equal(t, []int{2, 1}, []int{found.Successes, found.Failures})
		return nil
	},
	"explain": func(t *testing.T, _ *bench, m model, _ string, w words) func() {
		a := must[server.Added](m, "add_memory", object{"content": w.home})
		said := must[struct {
			Sentences []struct{ Aspect, Sentence string }
		}](m, "explain", object{"id": a.ID}).Sentences
		require.Equal(t, "origin", said[0].Aspect)
		require.NotEmpty(t, said[0].Sentence)
		return nil
	},
	"timeline": func(t *testing.T, _ *bench, m model, _ string, w words) func() {
		a := must[server.Added](m, "add_memory", object{"content": w.home, "valid_at": "2020"})
		must[server.Added](m, "update_memory", object{"id": a.ID, "content": w.moved, "valid_at": "2024-05-01"})
		return func() {
			found := must[memories](m, "timeline", object{"subject": w.question, "types": []string{"fact"}})
			require.Equal(t, []string{w.home, w.moved}, found.contents())
			require.Equal(t, found.Memories[1].ID, found.Memories[0].SupersededBy)
		}
	},
}

// Every tool has a case, and works in both languages, over both transports, with and without sessions, and with both
// generations of the protocol.
func TestTools(t *testing.T) {
	t.Parallel()
	single := setup(t)
	sessions := setup(t, func(c *server.Config) { c.MCPSessions = time.Hour })
	ways := map[string]struct {
		bench *bench
		open  func(b *bench, user, generation string) model
	}{
		"person": {single, func(b *bench, user, generation string) model {
			return b.over(t, b.key(t, store.RolePerson, user), "/mcp", generation)
		}},
		"app": {single, func(b *bench, user, generation string) model {
			return b.over(t, b.key(t, store.RoleApp, ""), "/v1/users/"+user+"/mcp", generation)
		}},
		"session": {sessions, func(b *bench, user, generation string) model {
			return b.over(t, b.key(t, store.RolePerson, user), "/v1/mcp", generation)
		}},
		"stdio": {single, func(b *bench, user, generation string) model { return b.stdio(t, user, generation) }},
	}
	var after []func()
	for name, way := range ways {
		for _, generation := range generations {
			tools := toolNames(way.open(way.bench, name, generation))
			require.ElementsMatch(t, slices.Collect(maps.Keys(toolCases)), tools, "a tool without a case")
			for _, tool := range tools {
				for language, w := range map[string]words{"en": english, "zh": chinese} {
					user := strings.Join([]string{name, generation, tool, language}, ".")
					if f := toolCases[tool](t, way.bench, way.open(way.bench, user, generation), user, w); f != nil {
						after = append(after, f)
					}
				}
			}
		}
	}
	single.work(t)
	sessions.work(t)
	for _, f := range after {
		f()
	}
}

func toolNames(m model) (names []string) {
	for tool, err := range m.session.Tools(m.t.Context(), nil) {
		require.NoError(m.t, err)
		names = append(names, tool.Name)
	}
	return names
}
