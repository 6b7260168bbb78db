package chaos

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// hostileUser belongs to no client; what is stored about it is erased before the checks.
const hostileUser = "mallory"

// hostile sends to a server what harmed other users once. Connections without a credential stay open afterwards:
// closing them is up to the server.
func (r *run) hostile(ctx context.Context, f Fault) error {
	address := r.api.addresses[f.Slot%servers]
	ctx, cancel := context.WithTimeout(ctx, f.For)
	defer cancel()
	key, err := r.apiKey(ctx)
	if err != nil {
		return err
	}
	post := func(path string, body io.Reader) {
		q, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/v1/users/"+hostileUser+path, body)
		if err != nil {
			return
		}
		q.Header.Set("Authorization", "Bearer "+key)
		q.Header.Set("Content-Type", "application/json")
		if path == "/import" {
			q.Header.Set("Content-Type", "application/x-ndjson")
		}
		if answer, err := http.DefaultClient.Do(q); err == nil {
			_, _ = io.Copy(io.Discard, answer.Body)
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusInternalServerError {
				r.violate(Violation{Check: "status", Where: path, User: hostileUser, Expected: "no 500", Found: answer.Status})
			}
		}
	}
	var many strings.Builder
	for i := range 200 {
		fmt.Fprintf(&many, `{"content": "Memory %d of somebody hostile."},`, i)
	}
	document := func(content string) io.Reader {
		return strings.NewReader(fmt.Sprintf(`{"path": "x.md", "content": %q}`, content))
	}
	var all sync.WaitGroup
	for _, act := range []func(){
		func() { post("/documents", document("# "+strings.Repeat("y", 1_000_000)+"\n\nbody")) },
		func() {
			post("/documents", document(strings.Repeat("# "+strings.Repeat("y", 500)+"\n\nbody\n\n", 200)))
		},
		func() { post("/import", bytes.NewReader(bomb)) },
		func() { post("/import", slow{ctx}) },
		func() { post("/import", slow{ctx}) },
		func() { post("/memories", strings.NewReader(`{"content": "a tiny one", "importance": 5e-324}`)) },
		func() {
			post("/memories/batch", strings.NewReader(`{"memories": [`+strings.TrimSuffix(many.String(), ",")+`]}`))
		},
		func() { post("/erase", strings.NewReader(`{"user_id": "`+hostileUser+`"}`)) },
	} {
		all.Go(act)
	}
	for range 40 {
		if conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address); err == nil {
			_, _ = fmt.Fprintf(conn, "POST /v1/recall HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
			r.mu.Lock()
			r.held = append(r.held, conn)
			r.mu.Unlock()
		}
	}
	all.Wait()
	return nil
}

// bomb is 64 MiB of one line, compressed.
var bomb = sync.OnceValue(func() []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = io.WriteString(w, `{"memory_type": "fact", "content": "x", "metadata": {"x": "`)
	for range 64 {
		_, _ = w.Write(bytes.Repeat([]byte("a"), 1<<20))
	}
	_, _ = io.WriteString(w, `"}}`)
	_ = w.Close() // into memory
	return out.Bytes()
})()

// slow is a body of which a byte comes every half second.
type slow struct{ context.Context }

func (s slow) Read(p []byte) (int, error) {
	if !sleep(s.Context, 500*time.Millisecond) {
		return 0, s.Err()
	}
	p[0] = '{'
	return 1, nil
}

// endHostile requires that the servers close what hostile clients left open, and erases their user.
func (r *run) endHostile(ctx context.Context) error {
	end := time.Now().Add(2 * time.Minute)
	for _, conn := range r.held {
		_ = conn.SetReadDeadline(end)
		if _, err := io.Copy(io.Discard, conn); err != nil && os.IsTimeout(err) {
			r.violate(Violation{Check: "connections end", Where: conn.RemoteAddr().String(),
				Expected: "a request without its body ends", Found: "it is open after two minutes"})
		}
		_ = conn.Close()
	}
	conn, err := pgx.Connect(ctx, r.postgres.dsn())
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, `select oxbow.erase_user($1)`, hostileUser)
	return err
}
