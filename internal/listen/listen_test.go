package listen_test

import (
	"bufio"
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/listen"
)

const short = 300 * time.Millisecond

// serve starts a server and returns its address.
func serve(t *testing.T, cfg listen.Config, wrap ...func(net.Listener) net.Listener) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := l.Addr().String()
	for _, w := range wrap {
		l = w(l)
	}
	s := listen.New(cfg)
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		_ = s.Close()
		require.ErrorIs(t, <-done, http.ErrServerClosed)
	})
	return address
}

// dial sends a text and returns the connection.
func dial(t *testing.T, address, text string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(20*time.Second)))
	_, _ = io.WriteString(c, text) // the server may have closed it
	return c
}

// status reads an answer.
func status(t *testing.T, c net.Conn) int {
	t.Helper()
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, r.Body)
	require.NoError(t, err)
	require.NoError(t, r.Body.Close())
	return r.StatusCode
}

// closed waits until the server has closed a connection. The deadline of dial says that it did not.
func closed(t *testing.T, name string, c net.Conn) {
	t.Helper()
	_, err := io.Copy(io.Discard, c)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "%s: still open", name)
}

// A request that does not arrive ends, whatever its handler does with the body.
func TestUnfinishedRequestsEnd(t *testing.T) {
	t.Parallel()
	handlers := map[string]http.HandlerFunc{
		"ignores": func(http.ResponseWriter, *http.Request) {},
		"answers": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 1<<20)) },
		"reads":   func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) },
		"closes":  func(_ http.ResponseWriter, r *http.Request) { _ = r.Body.Close() },
		"panics":  func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	}
	requests := map[string]string{
		"nothing":            "",
		"half a header":      "POST / HTTP/1.1\r\nHost: x\r\nContent-Le",
		"no body":            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n",
		"half a body":        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nxxx",
		"a large one":        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\nxxx",
		"no chunk":           "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
		"half a chunk":       "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
		"expects":            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n",
		"all options":        "OPTIONS * HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n",
		"after another":      "GET / HTTP/1.1\r\nHost: x\r\n\r\nPOST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n",
		"HTTP/1.0":           "POST / HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 1000\r\n\r\n",
		"HTTP/2 without TLS": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	}
	open := map[string]net.Conn{}
	for does, handler := range handlers {
		address := serve(t, listen.Config{Handler: handler, Timeout: short})
		for what, request := range requests {
			open[does+", "+what] = dial(t, address, request)
		}
	}
	for name, c := range open {
		closed(t, name, c)
	}
}

// A client that sends a byte from time to time has no more time than others.
func TestSlowBodyEnds(t *testing.T) {
	t.Parallel()
	read := make(chan error, 1)
	address := serve(t, listen.Config{Timeout: short, Handler: http.HandlerFunc(
		func(_ http.ResponseWriter, r *http.Request) {
			_, err := io.Copy(io.Discard, r.Body)
			read <- err
		})})
	c := dial(t, address, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n")
	go func() {
		for range time.Tick(short / 20) {
			if _, err := io.WriteString(c, "x"); err != nil {
				return
			}
		}
	}()
	require.ErrorIs(t, <-read, os.ErrDeadlineExceeded)
	closed(t, "the connection", c)
}

// A request that has arrived is not ended by the deadline of its arrival, and the connection serves the next one.
func TestArrivedRequestMayTakeLonger(t *testing.T) {
	t.Parallel()
	const timeout = 50 * time.Millisecond
	address := serve(t, listen.Config{Timeout: timeout, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			select {
			case <-r.Context().Done():
				w.WriteHeader(http.StatusInternalServerError)
			case <-time.After(4 * timeout): // what is tested is that nothing happens meanwhile
			}
		})})
	for _, request := range []string{"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx",
		"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n"} {
		c := dial(t, address, request)
		require.Equal(t, http.StatusOK, status(t, c))
		_, err := io.WriteString(c, request)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, status(t, c))
	}
}

// A client that stops sending is answered at once, as one that sends no body is.
func TestEarlyAnswer(t *testing.T) {
	t.Parallel()
	address := serve(t, listen.Config{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
	})})
	c := dial(t, address, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
	require.NoError(t, c.SetDeadline(time.Now().Add(listen.Timeout/2)))
	require.Equal(t, http.StatusUnauthorized, status(t, c))
	closed(t, "the connection", c)
}

// Too large headers and URLs are refused before a handler sees them.
func TestLargeHeader(t *testing.T) {
	t.Parallel()
	address := serve(t, listen.Config{Handler: http.NotFoundHandler()})
	for _, request := range []string{"GET /" + strings.Repeat("x", 100<<10) + " HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 100<<10) + "\r\n\r\n"} {
		require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, status(t, dial(t, address, request)))
	}
}

// With too many connections, those without a credential end, the oldest first. Those with one end only if idle.
func TestTooManyClients(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	address := serve(t, listen.Config{MaxClients: 3, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/stranger" {
				listen.Trust(r.Context())
			}
			_, _ = w.Write([]byte("x"))
			_ = http.NewResponseController(w).Flush()
			if r.URL.Path == "/busy" {
				<-release
			}
		})})
	defer close(release)
	ask := func(path string) (c net.Conn) {
		require.Eventually(t, func() bool { // a connection becomes idle a moment after its answer
			c = dial(t, address, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n")
			_, err := io.ReadFull(c, make([]byte, 12))
			return err == nil
		}, 20*time.Second, time.Millisecond)
		return c
	}
	first, known, second := ask("/stranger"), ask("/known"), ask("/stranger")
	third := ask("/stranger")
	closed(t, "first", first)
	busy := ask("/busy")
	closed(t, "second", second)
	other := ask("/busy")
	closed(t, "third", third)
	last := ask("/busy")
	closed(t, "known", known)
	c := dial(t, address, "")
	closed(t, "the connection", c)
	for _, c := range []net.Conn{busy, other, last} {
		require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Millisecond)))
		_, err := io.Copy(io.Discard, c)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded, "it is still open")
	}
}

// An address has a share. It does not apply to proxies.
func TestSharePerAddress(t *testing.T) {
	t.Parallel()
	cfg := listen.Config{MaxClients: 3, MaxPerAddress: 1, Handler: http.NotFoundHandler()}
	request := "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
	address := serve(t, cfg)
	first := dial(t, address, request)
	require.Equal(t, 404, status(t, first))
	require.Equal(t, 404, status(t, dial(t, address, request)))
	closed(t, "first", first)

	cfg.Proxy = func(a netip.Addr) bool { return a.IsLoopback() }
	address = serve(t, cfg)
	for _, c := range []net.Conn{dial(t, address, request), dial(t, address, request), dial(t, address, request)} {
		require.Equal(t, 404, status(t, c))
		_, err := io.WriteString(c, request)
		require.NoError(t, err)
		require.Equal(t, 404, status(t, c))
	}
}

func TestNetwork(t *testing.T) {
	t.Parallel()
	for text, network := range map[string]string{"192.0.2.1": "192.0.2.1/32", "::ffff:192.0.2.1": "192.0.2.1/32",
		"2001:db8::1": "2001:db8::/64", "fe80::1%eth0": "fe80::/64"} {
		require.Equal(t, network, listen.Network(netip.MustParseAddr(text)).String())
	}
}

// failing fails to accept once.
type failing struct {
	net.Listener
	once sync.Once
}

func (f *failing) Accept() (_ net.Conn, err error) {
	f.once.Do(func() { err = &net.OpError{Op: "accept", Err: syscall.EMFILE} })
	if err != nil {
		return nil, err
	}
	return f.Listener.Accept()
}

// text is a buffer for several goroutines.
type text struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *text) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

// Operators see that connections cannot be accepted. The server goes on.
func TestAcceptErrors(t *testing.T) {
	t.Parallel()
	var log text
	address := serve(t, listen.Config{Handler: http.NotFoundHandler(), Logger: slog.New(slog.NewTextHandler(&log, nil))},
		func(l net.Listener) net.Listener { return &failing{Listener: l} })
	require.Equal(t, 404, status(t, dial(t, address, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")))
	require.Contains(t, log.String(), "level=WARN")
	require.Contains(t, log.String(), "too many open files")
}

// No other package makes a server, so that each has limits.
func TestServersAreThisPackages(t *testing.T) {
	t.Parallel()
	var found []string
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if d.IsDir() && d.Name() == "lab" { // it is not part of the program
			return fs.SkipDir
		}
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if ok && fmt.Sprint(s.X) == "http" && (s.Sel.Name == "Server" || strings.HasPrefix(s.Sel.Name, "ListenAndServe") ||
				s.Sel.Name == "Serve") {
				found = append(found, filepath.ToSlash(path))
			}
			return true
		})
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, []string{"../../internal/listen/listen.go"}, found)
}

// Many new connections of one address take turns, unless their clients have shown a credential.
func TestStrangersTakeTurns(t *testing.T) {
	t.Parallel()
	const many = 600
	flood := func(handler http.HandlerFunc) time.Duration {
		address := serve(t, listen.Config{Handler: handler, MaxClients: 2 * many})
		begun := time.Now()
		for range many / 6 {
			var each sync.WaitGroup
			for range 6 {
				each.Go(func() { closed(t, "flood", dial(t, address, "GET / HTTP/1.0\r\n\r\n")) })
			}
			each.Wait()
		}
		return time.Since(begun)
	}
	const turns = (many - 100) / 50 * time.Second
	require.GreaterOrEqual(t, flood(func(http.ResponseWriter, *http.Request) {}), turns-time.Second)
	require.Less(t, flood(func(_ http.ResponseWriter, r *http.Request) { listen.Trust(r.Context()) }), turns)
}
