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

	"github.com/oxbow-memory/oxbow/internal/pgtest"
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
		done <- server.RunMCP(context.WithoutCancel(t.Context()), server.Config{DatabaseURL: pgtest.As(t, b.dsn, "server"),
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
