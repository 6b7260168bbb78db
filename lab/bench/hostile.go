package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/lab/must"
	"github.com/oxbow-memory/oxbow/store"
)

const (
	goodUsers    = 50
	goodMemories = 1_000
	hostileUser  = "mallory"
	strangeHost  = "127.0.0.2" // of connections without a credential
)

// besideHostile measures well-behaved users of "oxbow serve" alone, and next to an attacker who does everything that
// once harmed others, for -size minutes (5) each: with a key of its own, and as another user of the same application's
// key. The programs connect as the documented logins.
func besideHostile(b *bench) {
	d := b.database("bench_hostile")
	d.exec(`create role bench_worker login in role oxbow_worker;
		create role bench_server login in role oxbow_app, oxbow_operator`)
	w := newWriter(seed)
	var users []*goodUser
	for n := range goodUsers {
		name, texts := fmt.Sprint("good-", n), w.texts(goodMemories)
		d.remember(name, texts)
		users = append(users, &goodUser{name: name, questions: b.questions(w, 32, name, texts), texts: w.texts(400)})
	}
	b.embedAll(d)
	work := b.start(d.as("bench_worker"), "work")
	defer work.stop()
	p, c, _ := b.serve(d.as("bench_server"), "--requests-per-second", "100") // the default
	defer p.stop()
	other := c
	_, key, err := store.CreateAPIKey(b.ctx, d, store.APIKey{Role: store.RoleApp, Name: "hostile"})
	must.OK(err)
	other.key = key

	length := time.Duration(b.sized(5)) * time.Minute
	b.table("50 users, one request a second each", "ms p50", "p99", "failed", "requests", "server MiB", "backend MiB")
	alone := b.requests(c, users, length, p)
	for _, who := range []struct {
		name string
		c    caller
	}{{"a key of their own", other}, {"the same key", c}} {
		h := &attacker{bench: b, c: who.c}
		h.c.http = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32}} // others keep their connections
		stop := h.begin()
		beside := b.requests(c, users, length, p)
		stop()
		fmt.Fprintf(b.out, "hostile, with %s: %s\n", who.name, h.summary())
		b.atMost("p99 of good users beside a hostile one / alone, with "+who.name, 2, beside.p99/alone.p99)
		b.atMost("failed requests of good users beside a hostile one, with "+who.name, 0, float64(beside.failed))
		b.atMost("MiB of the server beside a hostile user", 400, beside.server)
		b.atMost("MiB of a backend beside a hostile user", 200, beside.backend)
		b.atMost("connections of a hostile user that are open two minutes later", 0, float64(h.open()))
	}
}

// as returns the database as another login sees it.
func (d database) as(login string) database {
	d.dsn = strings.Replace(d.dsn, "postgres://"+must.Get(pgx.ParseConfig(d.dsn)).User+"@", "postgres://"+login+"@", 1)
	return d
}

// goodUser is a user whose requests are measured.
type goodUser struct {
	name      string
	questions []question
	texts     []string
	added     int
}

type measured struct{ p99, server, backend, failed float64 }

// requests makes a request a second for each user, half of them recalls, at random moments.
func (b *bench) requests(c caller, users []*goodUser, length time.Duration, p process) measured {
	var mu sync.Mutex
	var times []float64
	var failed int
	end := time.Now().Add(length)
	done := make(chan struct{})
	var backend float64
	var sampled sync.WaitGroup
	sampled.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(time.Second):
				backend = max(backend, largestBackend(b.server.Dir()))
			}
		}
	})
	together(len(users), func(n int) {
		random := rand.New(rand.NewPCG(seed, uint64(n)))
		for next := time.Now(); next.Before(end); next = next.Add(time.Second) {
			b.pause(time.Until(next.Add(time.Duration(random.Float64() * 0.9 * float64(time.Second)))))
			start := time.Now()
			status, answer := users[n].request(c, random)
			mu.Lock()
			times = append(times, msSince(start))
			if status != http.StatusOK {
				failed++
				fmt.Fprintf(b.out, "%s: status %d: %.200s\n", users[n].name, status, answer)
			}
			mu.Unlock()
		}
	})
	close(done)
	sampled.Wait()
	m := measured{quantile(times, 0.99), float64(p.memory("VmHWM")), backend, float64(failed)}
	b.row(quantile(times, 0.5), m.p99, failed, len(times), m.server, m.backend)
	return m
}

func (u *goodUser) request(c caller, random *rand.Rand) (status int, answer []byte) {
	q := u.questions[random.IntN(len(u.questions))]
	switch random.IntN(6) {
	case 0, 1, 2:
		return c.send(http.MethodPost, u.name, "/recall", map[string]any{"query": q.text})
	case 3:
		u.added++
		return c.send(http.MethodPost, u.name, "/memories", map[string]any{"content": u.texts[u.added%len(u.texts)]})
	case 4:
		return c.send(http.MethodPost, u.name, "/context", map[string]any{"query": q.text})
	default:
		return c.send(http.MethodGet, u.name, "/memories", nil)
	}
}

// send makes a request. The status is 0 if there was no answer.
func (c caller) send(method, user, path string, body any) (status int, answer []byte) {
	var text io.Reader
	switch body := body.(type) {
	case nil:
	case io.Reader:
		text = body
	case json.RawMessage:
		text = bytes.NewReader(body)
	default:
		text = bytes.NewReader(must.Get(json.Marshal(body)))
	}
	ctx, cancel := context.WithTimeout(c.b.ctx, 2*time.Minute)
	defer cancel()
	r := must.Get(http.NewRequestWithContext(ctx, method, c.base+user+path, text))
	r.Header.Set("Authorization", "Bearer "+c.key)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	response, err := c.http.Do(r)
	if err != nil {
		return 0, []byte(err.Error())
	}
	defer response.Body.Close()
	answer, _ = io.ReadAll(response.Body)
	return response.StatusCode, answer
}

// largestBackend returns the MiB of the largest server process of a cluster, without shared memory.
func largestBackend(dir string) (most float64) {
	postmaster, err := os.ReadFile(filepath.Join(dir, "data", "postmaster.pid"))
	if err != nil {
		must.OK(err)
	}
	parent, _, _ := strings.Cut(string(postmaster), "\n")
	statuses := must.Get(filepath.Glob("/proc/[0-9]*/status"))
	for _, status := range statuses {
		if field(status, "PPid") == parent {
			var kib float64
			_, _ = fmt.Sscan(field(status, "RssAnon"), &kib)
			most = max(most, kib/1024)
		}
	}
	return most
}

// attacker does everything that harms others, all at once.
type attacker struct {
	*bench
	c caller

	mu       sync.Mutex
	statuses map[string]map[int]int // by act
	held     []net.Conn
	closed   atomic.Int64
}

// begin starts the acts. stop ends them.
func (h *attacker) begin() (stop func()) {
	h.statuses = map[string]map[int]int{}
	ctx, cancel := context.WithCancel(h.ctx)
	b := *h.bench
	b.ctx, h.bench = ctx, &b
	h.c.b = &b
	var acts sync.WaitGroup
	loop := func(clients int, every time.Duration, name string, act func() int) {
		for range clients {
			acts.Go(func() {
				for ctx.Err() == nil {
					status := act()
					h.mu.Lock()
					if h.statuses[name] == nil {
						h.statuses[name] = map[int]int{}
					}
					h.statuses[name][status]++
					h.mu.Unlock()
					select {
					case <-ctx.Done():
					case <-time.After(every):
					}
				}
			})
		}
	}
	json := func(method, path string, body any) func() int {
		encoded := json.RawMessage(must.Get(json.Marshal(body))) // once; the attacker shares the machine
		return func() int { status, _ := h.c.send(method, hostileUser, path, encoded); return status }
	}
	line := func(metadata string) string {
		return fmt.Sprintf(`{"memory_type": "fact", "content": "x %s", "metadata": {"x": %q}}`+"\n", uuid.NewString(), metadata)
	}
	bomb := gzipped(900<<20, `{"memory_type": "fact", "content": "x", "metadata": {"x": "`, `"}}`)
	thousand := make([]map[string]any, 1000)
	for i := range thousand {
		thousand[i] = map[string]any{"content": fmt.Sprint("a memory among many, number ", i)}
	}
	loop(2, time.Second, "documents with a huge heading", json(http.MethodPost, "/documents",
		map[string]any{"path": "x.md", "content": "# " + strings.Repeat("y", 3_000_000) + "\n\nbody"}))
	loop(2, time.Second, "documents with long headings", json(http.MethodPost, "/documents",
		map[string]any{"path": "y.md", "content": headings(100_000)}))
	loop(1, time.Second, "pages with a huge heading", json(http.MethodPost, "/documents",
		map[string]any{"path": "z.html", "content": "<h1>" + strings.Repeat("y ", 4_000_000) + "</h1><p>body"}))
	loop(10, time.Second, "imports of a byte every five seconds", func() int {
		return h.transfer(http.MethodPost, "/import", &trickle{ctx, []byte(line("x")), 5 * time.Second})
	})
	loop(4, time.Second, "exports that are not read", func() int {
		return h.transfer(http.MethodGet, "/export", nil)
	})
	loop(1, 5*time.Second, "bombs", func() int { return h.transfer(http.MethodPost, "/import", bytes.NewReader(bomb)) })
	loop(2, 100*time.Millisecond, "a thousand memories", json(http.MethodPost, "/memories/batch",
		map[string]any{"memories": thousand}))
	loop(1, 2*time.Second, "erasures", json(http.MethodPost, "/erase", map[string]any{"user_id": hostileUser}))
	loop(1, time.Second, "tiny numbers", json(http.MethodPost, "/memories",
		map[string]any{"content": "a tiny one", "importance": 5e-324}))
	loop(8, 0, "recalls", json(http.MethodPost, "/recall", map[string]any{"query": strings.Repeat("everything ", 2000), "limit": 100}))
	loop(300, 0, "requests without a body", h.silent)
	loop(4, 10*time.Millisecond, "forged tokens", func() int { return h.with("eyJhbGciOiJSUzI1NiIsImtpZCI6I"+uuid.NewString()+".e30.e30", "") })
	loop(4, 10*time.Millisecond, "unknown cookies", func() int { return h.with("", uuid.NewString()) })
	return func() { cancel(); acts.Wait() }
}

func (h *attacker) summary() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return string(must.Get(json.Marshal(h.statuses)))
}

// headings is Markdown of many sections with long headings.
func headings(bytes int) string {
	var text strings.Builder
	for n := 0; text.Len() < bytes; n++ {
		fmt.Fprintf(&text, "%s %s\n\nword %d\n\n", strings.Repeat("#", 1+n%6), strings.Repeat("heading ", 100), n)
	}
	return text.String()
}

// gzipped compresses a text with a middle of that many equal bytes.
func gzipped(middle int, before, after string) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	must.Get(io.WriteString(w, before))
	block := bytes.Repeat([]byte("a"), 1<<20)
	for range middle >> 20 {
		must.Get(w.Write(block))
	}
	must.Get(io.WriteString(w, after))
	must.OK(w.Close())
	return out.Bytes()
}

// trickle is a body that comes a byte at a time.
type trickle struct {
	ctx   context.Context
	text  []byte
	every time.Duration
}

func (t *trickle) Read(p []byte) (int, error) {
	if len(t.text) == 0 {
		return 0, io.EOF
	}
	p[0], t.text = t.text[0], t.text[1:]
	select {
	case <-t.ctx.Done():
		return 1, t.ctx.Err()
	case <-time.After(t.every):
		return 1, nil
	}
}

// transfer sends a body as JSON Lines, and reads the answer at a few bytes a second.
func (h *attacker) transfer(method, path string, body io.Reader) int {
	r := must.Get(http.NewRequestWithContext(h.ctx, method, h.c.base+hostileUser+path, body))
	r.Header.Set("Authorization", "Bearer "+h.c.key)
	r.Header.Set("Content-Type", "application/x-ndjson")
	response, err := h.c.http.Do(r)
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	slow := make([]byte, 16)
	for h.ctx.Err() == nil {
		if _, err := response.Body.Read(slow); err != nil {
			break
		}
		select {
		case <-h.ctx.Done():
		case <-time.After(time.Second):
		}
	}
	return response.StatusCode
}

// silent opens a connection, announces a body, and sends none. It returns when the server closes the connection.
func (h *attacker) silent() int {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(strangeHost)}, Timeout: 10 * time.Second}
	conn, err := dialer.DialContext(h.ctx, "tcp", h.c.host)
	if err != nil {
		return 0
	}
	h.mu.Lock()
	h.held = append(h.held, conn)
	h.mu.Unlock()
	paths := []string{"/", "/v1/memories", "/v1/recall", "/v1/import", "/v1/documents", "/mcp", "/nothing", "/v1/health"}
	if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n",
		paths[rand.IntN(len(paths))]); err != nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, conn) // until the server ends it
	h.closed.Add(1)
	return 1
}

// with makes a request with a credential.
func (h *attacker) with(token, cookie string) int {
	path := "/v1/memories"
	if cookie != "" {
		path = "/"
	}
	r := must.Get(http.NewRequestWithContext(h.ctx, http.MethodGet, "http://"+h.c.host+path, nil))
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if cookie != "" {
		r.AddCookie(&http.Cookie{Name: "oxbow-session", Value: cookie})
	}
	response, err := h.c.http.Do(r)
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	return response.StatusCode
}

// open waits for two minutes at most until the server has closed the connections that hostile holds, and returns how
// many it has not.
func (h *attacker) open() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	left := 0
	end := time.Now().Add(2 * time.Minute)
	for _, conn := range h.held {
		_ = conn.SetReadDeadline(end)
		if _, err := io.Copy(io.Discard, conn); err != nil && os.IsTimeout(err) {
			left++
		}
		_ = conn.Close()
	}
	return left
}
