package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/lab/must"
	"github.com/oxbow-memory/oxbow/lab/program"
	"github.com/oxbow-memory/oxbow/store"
)

const (
	slowClients = 1000
	bulkSize    = 1000
)

// caller calls "oxbow serve" with an app's key.
type caller struct {
	b    *bench
	base string // of the paths of users
	host string
	key  string
	http *http.Client
}

// serving compares the HTTP API with SQL and the Go client.
func serving(b *bench) {
	const memories = 1_000
	d := b.database("bench_serve")
	w := newWriter(seed)
	var questions []question
	for n := range 8 {
		user, texts := fmt.Sprint("user-", n), w.texts(memories)
		d.remember(user, texts)
		questions = append(questions, b.questions(w, 16, user, texts)...)
	}
	b.embedAll(d)
	p, c, seconds := b.serve(d)
	defer p.stop()
	b.atMost("seconds until `oxbow serve` answers", 1, seconds)

	one := b.compare("Recall of a user of 1000 memories, 1 client", "ms", b.asking("SQL", d, plainRecall, questions),
		variant{"HTTP", func() float64 {
			times := make([]float64, len(questions))
			for i, q := range questions {
				start := time.Now()
				c.recall(q)
				times[i] = msSince(start)
			}
			return quantile(times, 0.5)
		}})
	b.atMost("recall over HTTP / SQL call, p50, user of 1000 memories", 1.25, one.ratio(1, 0))
	rate := func(ask func(question)) func() float64 {
		return func() float64 {
			const asks = 800
			start := time.Now()
			together(8, func(client int) {
				for n := client; n < asks; n += 8 {
					ask(questions[n%len(questions)])
				}
			})
			return asks / time.Since(start).Seconds()
		}
	}
	many := b.compare("Recall of users of 1000 memories, 8 clients", "requests a second",
		variant{"SQL", rate(func(q question) { b.timed(d, plainRecall, q) })}, variant{"HTTP", rate(c.recall)})
	b.atLeast("recall over HTTP / SQL calls, 8 clients, rate", 0.75, many.ratio(1, 0))
	b.atLeast("recalls a second over HTTP, 8 clients", 300, many.median(1))
	b.adding(d, c)
	b.atMost(fmt.Sprintf("MiB of the server with %d slow clients", slowClients), 300, c.slowly(p, questions))
}

// adding compares adding memories over HTTP with the Go client.
func (b *bench) adding(d database, c caller) {
	client := must.Get(oxbow.New(d, oxbow.WithoutUseReports()))
	texts := newWriter(seed).texts(bulkSize)
	var serial atomic.Int64
	user := func() string { return fmt.Sprint("new-", serial.Add(1)) }
	single := func(add func(user, text string)) func() float64 {
		return func() float64 {
			const rows = 800
			start := time.Now()
			together(8, func(int) {
				name := user()
				for i := range rows / 8 {
					add(name, texts[i])
				}
			})
			return rows / time.Since(start).Seconds()
		}
	}
	r := b.compare("Memories added one by one, 8 clients", "memories a second",
		variant{"Go client", single(func(user, text string) {
			must.Get(client.Remember(b.ctx, oxbow.NewMemory{UserID: user, Content: text}))
		})},
		variant{"HTTP", single(func(user, text string) {
			c.post(user, "/memories", map[string]any{"content": text})
		})})
	b.atLeast("adding one by one over HTTP / Go client", 0.5, r.ratio(1, 0))

	bulk := func(add func(user string)) func() float64 {
		return func() float64 {
			const batches = 10
			start := time.Now()
			for range batches {
				add(user())
			}
			return batches * bulkSize / time.Since(start).Seconds()
		}
	}
	r = b.compare("Memories added 1000 at a time, 1 client", "memories a second",
		variant{"Go client", bulk(func(user string) {
			memories := make([]oxbow.NewMemory, len(texts))
			for i, text := range texts {
				memories[i] = oxbow.NewMemory{UserID: user, Content: text}
			}
			must.Get(client.RememberMany(b.ctx, memories))
		})},
		variant{"HTTP", bulk(func(user string) {
			memories := make([]map[string]any, len(texts))
			for i, text := range texts {
				memories[i] = map[string]any{"content": text}
			}
			c.post(user, "/memories/batch", map[string]any{"memories": memories})
		})})
	b.atLeast("adding 1000 at a time over HTTP / Go client", 0.8, r.ratio(1, 0))
}

// serve starts "oxbow serve" and waits until it answers, which takes the returned number of seconds.
func (b *bench) serve(d database, flags ...string) (process, caller, float64) {
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))
	host := listener.Addr().String()
	must.OK(listener.Close())
	_, key, err := store.CreateAPIKey(b.ctx, d, store.APIKey{Role: store.RoleApp, Name: "bench"})
	must.OK(err)
	must.Get(program.Build(b.ctx)) // not counted below
	begin := time.Now()
	p := b.start(d, append([]string{"serve", "--addr", host, "--requests-per-second", "1000000"}, flags...)...)
	c := caller{b, "http://" + host + "/v1/users/", host, key,
		&http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32, DisableCompression: true}}}
	for {
		if answer, err := c.http.Get("http://" + host + "/v1/health"); err == nil {
			answer.Body.Close()
			break
		}
		b.pause(time.Millisecond)
	}
	return p, c, time.Since(begin).Seconds()
}

func (c caller) recall(q question) {
	if answer := c.post(q.user, "/recall", map[string]any{"query": q.text}); !bytes.Contains(answer, []byte(`"score"`)) {
		must.OK(fmt.Errorf("recall finds nothing for %q of %s: %s", q.text, q.user, answer))
	}
}

func (c caller) post(user, path string, body any) []byte {
	r := must.Get(http.NewRequestWithContext(c.b.ctx, http.MethodPost, c.base+user+path,
		bytes.NewReader(must.Get(json.Marshal(body)))))
	r.Header.Set("Authorization", "Bearer "+c.key)
	r.Header.Set("Content-Type", "application/json")
	answer := must.Get(c.http.Do(r)) //nolint:bodyclose // closed in the next statement
	defer answer.Body.Close()
	text := must.Get(io.ReadAll(answer.Body))
	if answer.StatusCode != http.StatusOK {
		must.OK(fmt.Errorf("POST %s: %s: %s", path, answer.Status, text))
	}
	return text
}

// slowly opens many connections, each with half a request and an answer that is not read, and returns the most memory
// that the server had. They are of all users, each of whom may have some at once.
func (c caller) slowly(p process, questions []question) float64 {
	connections, rest := make([]net.Conn, slowClients), make([][]byte, slowClients)
	for i := range connections {
		q := questions[i*16%len(questions)]
		body := must.Get(json.Marshal(map[string]any{"query": q.text, "limit": 100}))
		head := fmt.Sprintf("POST /v1/users/%s/recall HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"+
			"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n", q.user, c.key, len(body))
		connections[i] = must.Get(net.Dial("tcp", c.host))
		defer connections[i].Close() //nolint:errcheck // the server has answered or is ending
		must.Get(connections[i].Write(append([]byte(head), body[:len(body)-10]...)))
		rest[i] = body[len(body)-10:]
	}
	for i, connection := range connections {
		must.Get(connection.Write(rest[i]))
	}
	first := make([]byte, 1)
	for _, connection := range connections { // the answers are there, and nobody reads the rest
		must.Get(connection.Read(first))
	}
	return float64(p.memory("VmHWM"))
}
