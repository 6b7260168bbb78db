package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/store"
)

const (
	servers     = 2
	postSource  = "post " // begins the source of memories that were posted; their request's Idempotency-Key follows
	requestTime = 3 * time.Second
)

// api is what the clients of the servers share.
type api struct {
	addresses [servers]string
	http      http.Client

	mu  sync.Mutex
	key string
}

// openAPI chooses the addresses of the servers.
func openAPI() (*api, error) {
	a := &api{http: http.Client{Timeout: requestTime}}
	for i := range a.addresses {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		a.addresses[i] = listener.Addr().String()
		if err := listener.Close(); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// apiKey returns a key for all users. It makes one when it can: the previous version's schema has none.
func (r *run) apiKey(ctx context.Context) (string, error) {
	r.api.mu.Lock()
	defer r.api.mu.Unlock()
	if r.api.key != "" {
		return r.api.key, nil
	}
	conn, err := pgx.Connect(ctx, r.postgres.dsn())
	if err != nil {
		return "", err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, r.api.key, err = store.CreateAPIKey(ctx, conn, store.APIKey{Role: store.RoleApp, Name: "chaos"})
	if err != nil {
		r.api.key = ""
	}
	return r.api.key, err
}

// request sends a request to a server, and returns the status and the body of its answer. A status that no fault explains
// is a violation.
func (r *run) request(ctx context.Context, server int, method, path, once string, body any) (int, []byte, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return 0, nil, err
	}
	url := "http://" + r.api.addresses[server%servers] + "/v1" + path
	q, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(text))
	if err != nil {
		return 0, nil, err
	}
	key, err := r.apiKey(ctx)
	if err != nil {
		return 0, nil, err
	}
	q.Header.Set("Authorization", "Bearer "+key)
	q.Header.Set("Content-Type", "application/json")
	if once != "" {
		q.Header.Set("Idempotency-Key", once)
	}
	answer, err := r.api.http.Do(q)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	found, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, nil, err
	}
	switch answer.StatusCode {
	case http.StatusOK:
	case http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		err = fmt.Errorf("timeout: %s", answer.Status)
	default:
		err = fmt.Errorf("%s %s: %s: %s", method, path, answer.Status, found)
		r.violate(Violation{Check: "status", Where: method + " " + path, Expected: "200, or 503 or 504 during a fault",
			Found: answer.Status + " " + string(found)})
	}
	return answer.StatusCode, found, err
}

// post adds memories over HTTP. It repeats the request, to the other server too, until it is answered, and sometimes
// after that.
func (c *client) post(ctx context.Context, w *write, a Action) (how outcome, err error) {
	w.key = fmt.Sprintf("%s%d-%d", postSource, c.number, w.nth)
	memories := make([]map[string]any, 0, a.Many)
	for i := range a.Many {
		m := c.run.ledger.next(a.User)
		row := &written{mark: m, table: "memories", kind: []string{"fact", "episodic"}[i%2],
			content: memoryText(m, a.Pick+uint32(i)*2654435761)}
		w.rows = append(w.rows, row)
		memories = append(memories, map[string]any{"content": row.content, "memory_type": row.kind, "source": w.key})
	}
	send := func(ctx context.Context, server int) ([]uuid.UUID, error) {
		return c.sendMemories(ctx, server, w, memories)
	}
	server := int(a.Pick>>2) % servers
	var ids []uuid.UUID
	switch a.Pick % 4 {
	case 0: // the client hangs up, and does not learn what became of its request
		impatient, cancel := context.WithTimeout(ctx, time.Duration(1+a.Pick>>8%20)*time.Millisecond)
		ids, err = send(impatient, server)
		cancel()
	case 1: // both servers get it at once
		var answers [servers][]uuid.UUID
		var errs [servers]error
		var both sync.WaitGroup
		for i := range servers {
			both.Go(func() { answers[i], errs[i] = send(ctx, i) })
		}
		both.Wait()
		if errs[0] == nil && errs[1] == nil {
			c.requireSame(w, answers[0], answers[1])
		}
		ids, err = answers[0], errs[0]
	default:
		ids, err = send(ctx, server)
	}
	for err != nil && sleep(ctx, 50*time.Millisecond) {
		server++
		ids, err = send(ctx, server)
	}
	w.outcome = unknown
	if err == nil {
		w.outcome = acked
		for i, row := range w.rows {
			row.id = ids[i]
		}
		if a.Pick>>16%2 == 0 { // an answer that was lost on its way
			if again, err := send(ctx, server+1); err == nil {
				c.requireSame(w, ids, again)
			}
		}
	}
	c.run.ledger.add(w)
	return w.outcome, err
}

// sendMemories sends memories once and returns their ids.
func (c *client) sendMemories(ctx context.Context, server int, w *write, memories []map[string]any) ([]uuid.UUID, error) {
	type added struct{ ID uuid.UUID }
	path := "/users/" + userName(w.user) + "/memories"
	if len(memories) == 1 {
		var one added
		_, text, err := c.run.request(ctx, server, http.MethodPost, path, w.key, memories[0])
		if err == nil {
			err = json.Unmarshal(text, &one)
		}
		return []uuid.UUID{one.ID}, err
	}
	var many struct{ Items []added }
	_, text, err := c.run.request(ctx, server, http.MethodPost, path+"/batch", w.key, map[string]any{"memories": memories})
	if err == nil {
		err = json.Unmarshal(text, &many)
	}
	if err == nil && len(many.Items) != len(memories) {
		err = fmt.Errorf("%d ids for %d memories", len(many.Items), len(memories))
		c.run.violate(Violation{Check: "status", Where: path, Expected: "an id for each memory", Found: err.Error()})
	}
	var ids []uuid.UUID
	for _, item := range many.Items {
		ids = append(ids, item.ID)
	}
	return ids, err
}

func (c *client) requireSame(w *write, first, again []uuid.UUID) {
	if !slices.Equal(first, again) {
		c.run.violate(Violation{Check: "doubled", User: userName(w.user), Where: w.key,
			Expected: fmt.Sprint("the first answer again: ", first), Found: fmt.Sprint(again)})
	}
}

// ask recalls over HTTP, and checks whose memories it gets.
func (c *client) ask(ctx context.Context, a Action) (outcome, error) {
	_, text, err := c.run.request(ctx, int(a.Pick>>2), http.MethodPost, "/users/"+userName(a.User)+"/recall", "",
		map[string]any{"query": questions[int(a.Pick)%len(questions)], "limit": 20})
	if err != nil {
		return failed, err
	}
	c.requireOwn(a, []string{string(text)})
	return acked, nil
}

// posted checks that no request is done twice.
func (k *checker) posted() (looked int) {
	counts := map[[3]string]string{}
	k.each(`select user_id, source, content, count(*) from oxbow.memories where source like '`+postSource+`%'
		group by 1, 2, 3`, func(c []string) { counts[[3]string{c[0], c[1], c[2]}] = c[3] })
	for _, w := range k.ledger.writes {
		if w.key == "" {
			continue
		}
		for _, row := range w.rows {
			looked++
			if n := counts[[3]string{userName(w.user), w.key, row.content}]; n != "" && n != "1" {
				k.violate("doubled", userName(w.user), w.key, "memories", "each request once", n+" times: "+row.content)
			}
		}
	}
	return looked
}

// requireServers waits until both servers answer again, without being started again.
func (r *run) requireServers(ctx context.Context) {
	for server := range servers {
		var err error
		for begun := time.Now(); time.Since(begun) < 30*time.Second; {
			if _, _, err = r.request(ctx, server, http.MethodGet, "/health", "", nil); err == nil {
				break
			}
			if !sleep(ctx, 100*time.Millisecond) {
				return
			}
		}
		if err != nil {
			r.violate(Violation{Check: "server recovers", Where: r.api.addresses[server],
				Expected: "200 within 30 s after the faults", Found: strings.TrimSpace(err.Error())})
		}
	}
}

// endServers ends the servers, which must end in time.
func (r *run) endServers() {
	if stuck := r.servers.end(30 * time.Second); len(stuck) > 0 {
		r.violate(Violation{Check: "servers stop", Where: fmt.Sprintf("slots %v", stuck),
			Expected: "a server ends within its --stop-timeout of 5 s", Found: "it runs after 30 s"})
	}
}
