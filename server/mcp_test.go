package server_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/traittest"
	"github.com/oxbow-memory/oxbow/server"
	"github.com/oxbow-memory/oxbow/store"
)

// The two generations of the protocol: without and with the handshake.
var generations = []string{"2026-07-28", "2025-11-25"}

// bearer adds a key to requests.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// model is a client of MCP, as a model has it.
type model struct {
	t       *testing.T
	session *mcp.ClientSession
}

func connect(t *testing.T, transport mcp.Transport, generation string) model {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: generation})
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	require.Equal(t, generation, session.InitializeResult().ProtocolVersion)
	return model{t, session}
}

// over connects over HTTP.
func (b *bench) over(t *testing.T, key, path, generation string) model {
	t.Helper()
	return connect(t, &mcp.StreamableClientTransport{Endpoint: b.url + path,
		HTTPClient: &http.Client{Transport: bearer(key)}, DisableStandaloneSSE: true}, generation)
}

// stdio connects over a pair of streams.
func (b *bench) stdio(t *testing.T, user, generation string) model {
	t.Helper()
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- server.RunMCP(context.WithoutCancel(t.Context()), server.Config{DatabaseURL: b.dsn,
			Logger: slog.New(slog.DiscardHandler)}, user, toServer, fromServer)
		_ = fromServer.Close()
	}()
	m := connect(t, &mcp.IOTransport{Reader: toClient, Writer: fromClient}, generation)
	t.Cleanup(func() {
		_ = fromClient.Close() // which ends the server
		require.NoError(t, <-done)
	})
	return m
}

// call calls a tool and returns its answer, and whether it is an error.
func (m model) call(tool string, arguments any) (text string, isError bool) {
	m.t.Helper()
	r, err := m.session.CallTool(m.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	require.NoError(m.t, err)
	require.Len(m.t, r.Content, 1)
	return r.Content[0].(*mcp.TextContent).Text, r.IsError
}

// must calls a tool that succeeds, and decodes the answer.
func must[T any](m model, tool string, arguments any) (out T) {
	m.t.Helper()
	r, err := m.session.CallTool(m.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	require.NoError(m.t, err)
	text := r.Content[0].(*mcp.TextContent).Text
	require.False(m.t, r.IsError, text)
	encoded, err := json.Marshal(r.StructuredContent)
	require.NoError(m.t, err)
	require.NoError(m.t, json.Unmarshal(encoded, &out), text)
	return out
}

// added, memory and memories are what the tests need of answers.
type (
	memory struct {
		ID           uuid.UUID `json:"id"`
		Content      string    `json:"content"`
		Type         string    `json:"memory_type"`
		ValidAt      time.Time `json:"valid_at"`
		InvalidAt    time.Time `json:"invalid_at"`
		ForgottenAt  time.Time `json:"forgotten_at"`
		SupersededBy uuid.UUID `json:"superseded_by"`
		Shortened    bool      `json:"shortened"`
	}
	memories struct {
		Memories []memory `json:"memories"`
		LeftOut  int      `json:"left_out"`
	}
)

func (m memories) contents() (all []string) {
	for _, one := range m.Memories {
		all = append(all, one.Content)
	}
	return all
}

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
	sessions := setup(t, func(c *server.Config) { c.MCPSessions = time.Minute })
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

// Answers keep within max_tokens and say what they leave out.
func TestToolBudgets(t *testing.T) {
	t.Parallel()
	b := setup(t)
	m := b.over(t, b.key(t, store.RolePerson, "ada"), "/mcp", generations[0])
	long := must[server.Added](m, "add_memory", object{"content": strings.Repeat("Ada rows on the lake. ", 400)})
	for i := range 20 {
		must[server.Added](m, "add_memory", object{"content": "Ada rows on lake number " + strconv.Itoa(i) + "."})
	}
	b.work(t)
	found := must[memories](m, "search_memories", object{"q": "lake", "limit": 20, "budget": "300"})
	require.Positive(t, found.LeftOut)
	require.Equal(t, 20, len(found.Memories)+found.LeftOut)
	whole := must[memory](m, "get_memory", object{"id": long.ID, "max_tokens": 10_000})
	require.False(t, whole.Shortened)
	var listed []string
	for cursor := "start"; cursor != ""; {
		arguments := object{"limit": 50, "max_tokens": 300}
		if cursor != "start" {
			arguments["cursor"] = cursor
		}
		page := must[struct {
			memories
			Next string `json:"next_cursor"`
		}](m, "list_memories", arguments)
		listed, cursor = append(listed, page.contents()...), page.Next
	}
	require.Len(t, listed, 21, "what does not fit is on the next page")
	first := must[memories](m, "list_memories", object{"limit": 20, "max_tokens": 300})
	require.Positive(t, first.LeftOut)
	require.Equal(t, 20, len(first.Memories)+first.LeftOut)
	cut := must[memory](m, "get_memory", object{"id": long.ID, "max_tokens": 500})
	require.True(t, cut.Shortened)
	require.True(t, strings.HasPrefix(whole.Content, strings.TrimSuffix(cut.Content, "…")))
}

// An operation that does not fit leaves out its oldest parts and counts them.
func TestOperationBudget(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.key(t, store.RolePerson, "ada")
	id := b.add(t, ada, object{"content": "Ada rows"})
	for range 10 {
		require.Equal(t, 200, b.do(t, ada, http.MethodPost, "/v1/memories/"+id+"/forget",
			object{"reason": strings.Repeat("She said so. ", 10)}).status)
		require.Equal(t, 200, b.do(t, ada, http.MethodPost, "/v1/memories/"+id+"/restore", nil).status)
	}
	m := b.over(t, ada, "/mcp", generations[0])
	type operation struct {
		server.Operation
		LeftOut int `json:"left_out"`
	}
	whole := must[operation](m, "get_operation", object{"id": id, "max_tokens": 100_000})
	require.Zero(t, whole.LeftOut)
	part := must[operation](m, "get_operation", object{"id": id, "max_tokens": 1000})
	require.Positive(t, part.LeftOut)
	require.Equal(t, whole.Changes[part.LeftOut:], part.Changes, "the latest")
	require.NotEmpty(t, part.Jobs)
}

// What a program does over standard input and output is in the user's log.
func TestStdioLog(t *testing.T) {
	t.Parallel()
	b := setup(t)
	must[server.Added](b.stdio(t, "ada", generations[0]), "add_memory", object{"content": "Ada rows"})
	ada := b.key(t, store.RolePerson, "ada")
	require.Eventually(t, func() bool {
		log := as[page[store.Access]](t, 200, b.do(t, ada, http.MethodGet, "/v1/log?limit=1000", nil)).Items
		return slices.ContainsFunc(log, func(a store.Access) bool {
			return a.Operation == "add_memory" && a.Status == 200 && a.Role == store.RolePerson && a.KeyID == uuid.Nil
		})
	}, waitAtMost, tick)
}

func TestResourcesAndPrompts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, generation := range generations {
		m := b.over(t, b.key(t, store.RolePerson, generation), "/mcp", generation)
		read := func(uri string) *mcp.ResourceContents {
			r, err := m.session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
			require.NoError(t, err)
			require.Equal(t, "private", r.CacheScope, "it is one user's")
			return r.Contents[0]
		}
		ask := func(name string, arguments map[string]string) string {
			r, err := m.session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: name, Arguments: arguments})
			require.NoError(t, err)
			return r.Messages[0].Content.(*mcp.TextContent).Text
		}
		require.Equal(t, "Nothing is known about the user yet.", read("oxbow://context").Text)
		a := must[server.Added](m, "add_memory", object{"content": "Ada drinks green tea."})
		b.work(t)
		require.Contains(t, read("oxbow://context").Text, "green tea")
		require.Contains(t, read("oxbow://context/green%20tea").Text, "green tea")
		one := read("oxbow://memories/" + a.ID.String())
		require.Equal(t, "application/json", one.MIMEType)
		require.Contains(t, one.Text, `"content":"Ada drinks green tea."`)
		for _, uri := range []string{"oxbow://memories/" + uuid.NewString(), "oxbow://memories/x", "oxbow://nothing"} {
			_, err := m.session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
			require.Error(t, err, uri)
		}
		used := ask("use_memory", map[string]string{"question": "What shall I drink?"})
		require.Contains(t, used, "Ada drinks green tea.")
		require.Contains(t, used, "My question: What shall I drink?")
		require.Contains(t, ask("remember_this", map[string]string{"text": "I moved to Porto."}), "I moved to Porto.")
	}
}

var toolsTable = regexp.MustCompile(`(?s)<!-- tools -->\n(.*?)<!-- end of tools -->`)

// docs/mcp.md lists the tools as they are.
func TestToolsTable(t *testing.T) {
	t.Parallel()
	b := setup(t)
	m := b.over(t, b.key(t, store.RolePerson, "ada"), "/mcp", generations[0])
	table := "| tool | arguments | changes | what it does |\n|---|---|---|---|\n"
	for tool, err := range m.session.Tools(t.Context(), nil) {
		require.NoError(t, err)
		require.NotNil(t, tool.OutputSchema)
		require.False(t, *tool.Annotations.OpenWorldHint)
		schema := tool.InputSchema.(map[string]any)
		required, _ := schema["required"].([]any)
		var names []string
		for _, name := range required {
			names = append(names, "**`"+name.(string)+"`**")
		}
		for _, name := range slices.Sorted(maps.Keys(schema["properties"].(map[string]any))) {
			if !slices.Contains(required, any(name)) {
				names = append(names, "`"+name+"`")
			}
		}
		changes := "nothing"
		switch {
		case *tool.Annotations.DestructiveHint:
			changes = "hides or ends"
		case !tool.Annotations.ReadOnlyHint:
			changes = "adds"
		}
		table += "| `" + tool.Name + "` | " + strings.Join(names, ", ") + " | " + changes + " | " + tool.Description + " |\n"
	}
	page, err := os.ReadFile("../docs/mcp.md")
	require.NoError(t, err)
	require.Equal(t, table, string(toolsTable.FindSubmatch(page)[1]))
}
