package chaos

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// proxy connects all clients and workers to the server, as a network does. It can cut connections, stall, and lose
// answers, so that a client does not learn whether it committed.
type proxy struct {
	dir      string
	target   string
	listener net.Listener

	mu      sync.Mutex
	pairs   map[*pair]bool
	stalled chan struct{} // while it stalls: closed at the end
}

type pair struct {
	client, server net.Conn
	mu             sync.Mutex
	deaf           bool
}

func startProxy(dir, target string) (*proxy, error) {
	p := &proxy{dir: filepath.Join(dir, "net"), target: target, pairs: map[*pair]bool{}}
	if err := os.Mkdir(p.dir, 0o755); err != nil {
		return nil, err
	}
	var err error
	if p.listener, err = net.Listen("unix", filepath.Join(p.dir, ".s.PGSQL.5432")); err != nil {
		return nil, err
	}
	go p.accept()
	return p, nil
}

func (p *proxy) dsn(role string) string {
	return fmt.Sprintf("postgres://%s@/%s?host=%s&port=5432", role, database, p.dir)
}

func (p *proxy) close() {
	_ = p.listener.Close() // ends accept
	p.cut(1)
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		go p.connect(client)
	}
}

func (p *proxy) connect(client net.Conn) {
	p.wait()
	server, err := net.Dial("unix", p.target)
	if err != nil {
		_ = client.Close() // the client sees a closed connection
		return
	}
	c := &pair{client: client, server: server}
	p.mu.Lock()
	p.pairs[c] = true
	p.mu.Unlock()
	go p.carry(c, server, client, false)
	p.carry(c, client, server, true)
	p.mu.Lock()
	delete(p.pairs, c)
	p.mu.Unlock()
}

// carry copies one direction until either end is closed, and then closes both.
func (p *proxy) carry(c *pair, from, to net.Conn, asked bool) {
	defer c.close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			p.wait()
			if !asked && c.isDeaf() {
				continue
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (c *pair) close() {
	_ = c.client.Close() // closed already, perhaps
	_ = c.server.Close()
}

func (c *pair) isDeaf() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.deaf
}

// wait blocks while the network stalls.
func (p *proxy) wait() {
	p.mu.Lock()
	stalled := p.stalled
	p.mu.Unlock()
	if stalled != nil {
		<-stalled
	}
}

// each calls do with one connection of every "of".
func (p *proxy) each(of int, do func(*pair)) (n int) {
	p.mu.Lock()
	var some []*pair
	i := 0
	for c := range p.pairs {
		if i++; i%of == 0 {
			some = append(some, c)
		}
	}
	p.mu.Unlock()
	for _, c := range some {
		do(c)
	}
	return len(some)
}

func (p *proxy) cut(of int) int { return p.each(of, (*pair).close) }

// deafen loses the answers on some connections for a while, and then closes them.
func (p *proxy) deafen(of int, d time.Duration) int {
	return p.each(of, func(c *pair) {
		c.mu.Lock()
		c.deaf = true
		c.mu.Unlock()
		time.AfterFunc(d, c.close)
	})
}

func (p *proxy) stall(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stalled != nil {
		return
	}
	p.stalled = make(chan struct{})
	time.AfterFunc(d, p.resume)
}

func (p *proxy) resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stalled != nil {
		close(p.stalled)
		p.stalled = nil
	}
}
