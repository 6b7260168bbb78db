package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/embedding/embeddingtest"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

const (
	waitAtMost = time.Minute
	tick       = 10 * time.Millisecond
)

// serving is a process that runs "oxbow serve".
type serving struct {
	t   *testing.T
	cmd *exec.Cmd
	url string // of the API
	key string
}

// serve starts a server for Ada, with the login of a server.
func (d on) serve(args ...string) *serving { return d.serveBy([]string{os.Args[0]}, args...) }

// serveBy starts one with a program that runs another.
func (d on) serveBy(program []string, args ...string) *serving {
	d.t.Helper()
	key := strings.TrimSpace(d.ok("keys", "api", "create", "--user", "ada", "--name", "test"))
	cmd := exec.CommandContext(d.t.Context(), program[0], append(append(program[1:],
		"serve", "--addr", "127.0.0.1:0", "--requests-per-second", "10000"), args...)...)
	cmd.Env = append(os.Environ(), "DATABASE_URL="+pgtest.As(d.t, d.dsn, "server"), asProgram+"=1")
	out := &watched{wrote: make(chan struct{}, 1)}
	cmd.Stdout = out
	require.NoError(d.t, cmd.Start())
	return &serving{d.t, cmd, out.after(d.t, "Serving "), key}
}

// again starts a server at the address of one that has ended.
func (s *serving) again(d on) *serving {
	next := d.serve("--addr", hostOf(s))
	next.key = s.key
	return next
}

// end sends a signal and returns the exit code, -1 if the signal ended the process.
func (s *serving) end(sig os.Signal) int {
	s.t.Helper()
	require.NoError(s.t, s.cmd.Process.Signal(sig))
	_ = s.cmd.Wait() // the code says it
	return s.cmd.ProcessState.ExitCode()
}

// ask makes a request. The status is 0 if it was not answered.
func (s *serving) ask(ctx context.Context, method, path, once string, body any) (status int, answer string) {
	s.t.Helper()
	text, err := json.Marshal(body)
	require.NoError(s.t, err)
	r, err := http.NewRequestWithContext(ctx, method, s.url+path, bytes.NewReader(text))
	require.NoError(s.t, err)
	r.Header.Set("Authorization", "Bearer "+s.key)
	r.Header.Set("Content-Type", "application/json")
	if once != "" {
		r.Header.Set("Idempotency-Key", once)
	}
	found, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer found.Body.Close()
	read, err := io.ReadAll(found.Body)
	if err != nil {
		return 0, err.Error()
	}
	return found.StatusCode, string(read)
}

// add adds a memory until it is told that it did.
func (s *serving) add(content string) (answer string) {
	require.Eventually(s.t, func() (added bool) {
		var status int
		status, answer = s.ask(s.t.Context(), http.MethodPost, "/memories", content, map[string]any{"content": content})
		return status == http.StatusOK
	}, waitAtMost, tick)
	return answer
}

// added returns the id in the answer to adding a memory.
func added(t *testing.T, answer string) string {
	t.Helper()
	var a struct{ ID uuid.UUID }
	require.NoError(t, json.Unmarshal([]byte(answer), &a))
	return a.ID.String()
}

// waiting returns the number of statements that wait for a lock.
func (d on) waiting() int {
	return d.number(`select count(*) from pg_stat_activity where datname = current_database()
		and wait_event_type = 'Lock'`)
}

// locked locks all memories until the returned function is called.
func (d on) locked() (unlock func()) {
	d.t.Helper()
	tx, err := d.kept().Begin(d.t.Context())
	require.NoError(d.t, err)
	d.t.Cleanup(func() { _ = tx.Rollback(context.Background()) }) // unless the test ended it
	_, err = tx.Exec(d.t.Context(), `select from oxbow.memories for update`)
	require.NoError(d.t, err)
	return func() { require.NoError(d.t, tx.Commit(d.t.Context())) }
}

// A killed server loses nothing that it acknowledged, and a request that is repeated to its successor is done once.
func TestServerKilledDuringRequests(t *testing.T) {
	t.Parallel()
	d := on{t, pgtest.Database(t)}
	s := d.serve()
	const clients, each = 4, 60
	var all sync.WaitGroup
	next := make(chan *serving, 1)
	now := func() *serving { s := <-next; next <- s; return s }
	next <- s
	for client := range clients {
		all.Go(func() {
			for n := range each {
				content := fmt.Sprintf("Ada rows to island %d of lake %d", n, client)
				body := map[string]any{"content": content}
				for status := 0; status != http.StatusOK && t.Context().Err() == nil; {
					status, _ = now().ask(t.Context(), http.MethodPost, "/memories", content, body)
				}
			}
		})
	}
	for _, n := range []int{20, 90, 150} {
		require.Eventually(t, func() bool { return d.number(`select count(*) from oxbow.memories`) >= n }, waitAtMost, tick)
		require.Equal(t, -1, s.end(syscall.SIGKILL))
		s = s.again(d)
		<-next
		next <- s
	}
	all.Wait()
	require.Equal(t, clients*each, d.number(`select count(distinct content) from oxbow.memories`))
	require.Equal(t, clients*each, d.number(`select count(*) from oxbow.memories`))
	require.Zero(t, s.end(syscall.SIGTERM))
}

// A server that is told to end answers the requests that run, takes no other, and exits with 0.
func TestServerStopsDuringRequest(t *testing.T) {
	t.Parallel()
	d := on{t, pgtest.Database(t)}
	s := d.serve()
	id := added(t, s.add("Ada rows"))
	unlock := d.locked()
	statuses := make(chan int, 1)
	go func() {
		status, _ := s.ask(t.Context(), http.MethodPost, "/memories/"+id+"/forget", "", map[string]any{"reason": "test"})
		statuses <- status
	}()
	require.Eventually(t, func() bool { return d.waiting() > 0 }, waitAtMost, tick)
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
	require.Eventually(t, func() bool {
		connection, err := net.Dial("tcp", hostOf(s))
		if err == nil {
			_ = connection.Close()
		}
		return err != nil
	}, waitAtMost, tick)
	unlock()
	require.Equal(t, http.StatusOK, <-statuses)
	require.NoError(t, s.cmd.Wait())
	require.Equal(t, 1, d.number(`select count(*) from oxbow.memories where forgotten_at is not null`))
}

// The statement of a client that has gone is cancelled, and nothing of it stays.
func TestClientGone(t *testing.T) {
	t.Parallel()
	d := on{t, pgtest.Database(t)}
	s := d.serve()
	id := added(t, s.add("Ada rows"))
	unlock := d.locked()
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan int, 1)
	go func() {
		status, _ := s.ask(ctx, http.MethodPost, "/memories/"+id+"/forget", "", map[string]any{"reason": "test"})
		left <- status
	}()
	require.Eventually(t, func() bool { return d.waiting() > 0 }, waitAtMost, tick)
	leave()
	require.Zero(t, <-left)
	require.Eventually(t, func() bool { return d.waiting() == 0 }, waitAtMost, tick)
	unlock()
	require.Zero(t, d.number(`select count(*) from oxbow.memories where forgotten_at is not null`))
	status, _ := s.ask(t.Context(), http.MethodPost, "/memories/"+id+"/forget", "", map[string]any{"reason": "test"})
	require.Equal(t, http.StatusOK, status)
	require.Zero(t, s.end(syscall.SIGTERM))
}

// Two servers of a database answer a request with the same key alike, and clients of MCP may talk to either.
func TestTwoServers(t *testing.T) {
	t.Parallel()
	d := on{t, pgtest.Database(t)}
	one := d.serve()
	two := d.serve()
	two.key = one.key
	for n := range 20 {
		content := fmt.Sprintf("Ada rows to island %d", n)
		var answers [2]string
		var both sync.WaitGroup
		for i, s := range []*serving{one, two} {
			both.Go(func() { answers[i] = s.add(content) })
		}
		both.Wait()
		require.Equal(t, answers[0], answers[1])
		require.NotEmpty(t, added(t, answers[0]))
	}
	require.Equal(t, 20, d.number(`select count(*) from oxbow.memories`))

	for _, generation := range []string{"2026-07-28", "2025-11-25"} {
		turns := &alternating{hosts: []string{hostOf(one), hostOf(two)}, key: one.key}
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: "http://" + hostOf(one) + "/mcp",
			HTTPClient: &http.Client{Transport: turns}, DisableStandaloneSSE: true},
			&mcp.ClientSessionOptions{ProtocolVersion: generation})
		require.NoError(t, err)
		for range 4 {
			found, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "list_memories"})
			require.NoError(t, err)
			require.False(t, found.IsError)
		}
		require.NoError(t, session.Close())
		require.Greater(t, turns.requests, 4)
	}
	require.Zero(t, one.end(syscall.SIGTERM))
	require.Zero(t, two.end(syscall.SIGTERM))
}

func hostOf(s *serving) string {
	return strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/v1")
}

// alternating sends each request to the next host.
type alternating struct {
	hosts    []string
	key      string
	mu       sync.Mutex
	requests int
}

func (a *alternating) RoundTrip(r *http.Request) (*http.Response, error) {
	a.mu.Lock()
	r = r.Clone(r.Context())
	r.URL.Host = a.hosts[a.requests%len(a.hosts)]
	a.requests++
	a.mu.Unlock()
	r.Header.Set("Authorization", "Bearer "+a.key)
	return http.DefaultTransport.RoundTrip(r)
}

// Without a worker memories are still added, and wait for one.
func TestServerWithoutWorker(t *testing.T) {
	t.Parallel()
	d := on{t, pgtest.Database(t)}
	s := d.serve()
	id := added(t, s.add("Ada rows"))
	operation := func() string {
		status, answer := s.ask(t.Context(), http.MethodGet, "/operations/"+id, "", nil)
		require.Equal(t, http.StatusOK, status)
		return answer
	}
	require.Contains(t, operation(), `"state":"pending"`)
	stop := start(t, &watched{wrote: make(chan struct{}, 1)}, "work", "--database-url", pgtest.As(t, d.dsn, "worker"))
	require.Eventually(t, func() bool { return strings.Contains(operation(), `"state":"done"`) }, waitAtMost, tick)
	require.Zero(t, stop())
	require.Zero(t, s.end(syscall.SIGTERM))
}

// While the embedding provider does not answer, recall searches by words and says so.
func TestServerWithSlowProvider(t *testing.T) {
	t.Parallel()
	d := on{t, pgtest.Database(t)}
	provider := embeddingtest.New(t, 1024)
	d.exec(`update oxbow.settings set value = '{"model": "openai:m", "dimension": 1024}' where key = 'embedding'`)
	flags := []string{"--embedding-provider", "openai", "--embedding-model", "m", "--embedding-dimension", "1024",
		"--embedding-url", provider.OpenAIURL()}
	s := d.serve(append(flags, "--embedding-timeout", "200ms")...)
	s.add("Ada rows")
	stop := start(t, &watched{wrote: make(chan struct{}, 1)},
		append([]string{"work", "--database-url", pgtest.As(t, d.dsn, "worker")}, flags...)...)
	found := func() (answer struct {
		Memories []struct{ Content string }
		Degraded string
	}) {
		status, text := s.ask(t.Context(), http.MethodPost, "/recall", "", map[string]any{"query": "Who rows?"})
		require.Equal(t, http.StatusOK, status, text)
		require.NoError(t, json.Unmarshal([]byte(text), &answer))
		return answer
	}
	require.Eventually(t, func() bool { return len(found().Memories) == 1 }, waitAtMost, tick)
	require.Zero(t, stop())
	require.Empty(t, found().Degraded)
	provider.Always(embeddingtest.Hang())
	begun := time.Now()
	degraded := found()
	require.Len(t, degraded.Memories, 1)
	require.Equal(t, "the embedding provider is not available", degraded.Degraded)
	require.Less(t, time.Since(begun), waitAtMost)
	require.Zero(t, s.end(syscall.SIGTERM))
}

// Clients that do not finish their requests use up no files that the server needs to answer others.
func TestServerWithFewFiles(t *testing.T) {
	t.Parallel()
	d := on{t, pgtest.Database(t)}
	d.ok("migrate", "up")
	s := d.serveBy([]string{"sh", "-c", `ulimit -n 128; exec "$0" "$@"`, os.Args[0]})
	for range 300 {
		c, err := net.Dial("tcp", hostOf(s))
		require.NoError(t, err)
		defer c.Close()
		_, _ = io.WriteString(c, "POST /v1/memories HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	const asked = 10
	statuses := make(chan int, asked)
	for range asked {
		go func() {
			status, _ := s.ask(ctx, http.MethodPost, "/recall", "", map[string]any{"query": "x"})
			statuses <- status
		}()
	}
	for range asked {
		require.Equal(t, http.StatusOK, <-statuses)
	}
	require.Zero(t, s.end(syscall.SIGTERM))
}
