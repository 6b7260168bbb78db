package listen

import (
	"container/list"
	"context"
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/time/rate"
)

// Trust marks the connection of a request as one that has sent a valid credential.
func Trust(ctx context.Context) {
	if c, ok := ctx.Value(clientKey{}).(*client); ok && !c.trusted.Swap(true) {
		c.all.trust(c)
	}
}

// New connections of a remote address whose clients show no valid credential are served at this rate after a burst;
// others wait, but no longer than strangerWait. A flood of them would take time from everyone. An address from which a
// valid credential came lately is friendly: others there must not wait for strangers.
const (
	strangersPerSecond = 50
	strangersBurst     = 100
	strangerWait       = headerTimeout / 2
	friendly           = time.Minute
)

type clientKey struct{}

// client is a connection.
type client struct {
	net.Conn
	from    netip.Prefix // not valid for a proxy
	all     *clients
	place   *list.Element
	wait    time.Duration // before the first byte is read
	gone    chan struct{}
	trusted atomic.Bool
	idle    atomic.Bool
}

// Read reads after the wait.
func (c *client) Read(p []byte) (int, error) {
	if c.wait > 0 {
		select {
		case <-time.After(c.wait):
		case <-c.gone:
		}
		c.wait = 0
	}
	return c.Conn.Read(p)
}

func (c *client) Close() error {
	c.all.remove(c)
	return c.Conn.Close()
}

// origin is one remote address.
type origin struct {
	open      int
	strangers float64 // connections without a valid credential, less those that time has forgiven
	at        time.Time
	trusted   time.Time // when a connection last showed a valid credential
}

// now forgives strangers for the time that has passed.
func (o *origin) now() *origin {
	now := time.Now()
	o.strangers, o.at = max(0, o.strangers-strangersPerSecond*now.Sub(o.at).Seconds()), now
	return o
}

// CloseWrite lets http.Server answer a client whose request it does not read to the end.
func (c *client) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// clients are the open connections.
type clients struct {
	max, perAddress int
	proxy           func(netip.Addr) bool
	log             *slog.Logger
	full, failing   rate.Sometimes // for the log

	mu   sync.Mutex
	open list.List // of *client, the oldest first
	each map[netip.Prefix]*origin
}

// warnEvery is how often a problem that repeats is logged.
const warnEvery = 10 * time.Second

func newClients(cfg Config) *clients {
	c := &clients{max: cfg.MaxClients, perAddress: cfg.MaxPerAddress, proxy: cfg.Proxy, log: cfg.Logger,
		full: rate.Sometimes{Interval: warnEvery}, failing: rate.Sometimes{Interval: warnEvery},
		each: map[netip.Prefix]*origin{}}
	if c.max == 0 {
		c.max = 100
	}
	if c.perAddress == 0 {
		c.perAddress = c.max
	}
	return c
}

// Network returns the network to which a remote address counts: the address itself or, for IPv6, its /64 network, all
// of which one host may own.
func Network(address netip.Addr) netip.Prefix {
	address = address.Unmap().WithZone("")
	network, _ := address.Prefix(min(address.BitLen(), 64))
	return network
}

// add adds a connection and returns it, or nil if there is no place for it. In that case the new connection is closed;
// otherwise another one may be closed to make room.
func (l *clients) add(connection net.Conn) *client {
	c := &client{Conn: connection, all: l, gone: make(chan struct{})}
	if remote, err := netip.ParseAddrPort(connection.RemoteAddr().String()); err == nil &&
		(l.proxy == nil || !l.proxy(remote.Addr().Unmap())) {
		c.from = Network(remote.Addr())
	}
	l.mu.Lock()
	from := l.origin(c.from)
	var other *client
	fits := true
	switch {
	case c.from.IsValid() && from.open >= l.perAddress:
		other = l.worst(func(o *client) bool { return o.from == c.from })
		fits = other != nil
	case l.open.Len() >= l.max:
		other = l.worst(nil)
		fits = other != nil
	}
	if other != nil {
		l.removeLocked(other)
	}
	if fits {
		c.place = l.open.PushBack(c)
		from.open++
		if c.from.IsValid() && time.Since(from.trusted) > friendly {
			c.wait = time.Duration((from.strangers - strangersBurst) / strangersPerSecond * float64(time.Second))
			from.strangers = min(from.strangers+1, strangersBurst+strangersPerSecond*strangerWait.Seconds())
		}
	}
	l.mu.Unlock()
	if fits && other == nil {
		return c
	}
	l.full.Do(func() {
		l.log.Warn("there are too many connections: closed one", "new", connection.RemoteAddr().String())
	})
	if !fits {
		_ = connection.Close()
		return nil
	}
	_ = other.Conn.Close()
	return c
}

// worst returns the connection to close first of those in among, or of all if among is nil: the oldest without a
// credential or, if all have one, the oldest idle one. It returns nil if all are busy.
func (l *clients) worst(among func(*client) bool) (idle *client) {
	for e := l.open.Front(); e != nil; e = e.Next() {
		c := e.Value.(*client)
		switch {
		case among != nil && !among(c):
		case !c.trusted.Load():
			return c
		case idle == nil && c.idle.Load():
			idle = c
		}
	}
	return idle
}

func (l *clients) remove(c *client) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.removeLocked(c)
}

func (l *clients) removeLocked(c *client) {
	if c.place == nil {
		return
	}
	l.open.Remove(c.place)
	c.place = nil
	close(c.gone)
	l.each[c.from].open--
}

// trust forgives a connection.
func (l *clients) trust(c *client) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.place != nil {
		from := l.each[c.from]
		from.strangers, from.trusted = from.strangers-1, time.Now()
	}
}

// origin returns what is known about a remote address. It is called with the clients locked.
func (l *clients) origin(from netip.Prefix) *origin {
	if l.each[from] == nil {
		if len(l.each) >= 2*l.max { // most of them have no connection
			maps.DeleteFunc(l.each, func(_ netip.Prefix, o *origin) bool { return o.open == 0 && o.now().strangers == 0 })
		}
		l.each[from] = &origin{}
	}
	return l.each[from].now()
}

// limited accepts connections within the limits.
type limited struct {
	net.Listener
	clients *clients
}

func (l *limited) Accept() (net.Conn, error) {
	for {
		connection, err := l.Listener.Accept()
		if err != nil {
			l.failed(err)
			return nil, err // http.Server waits and tries again, if that can help
		}
		if c := l.clients.add(connection); c != nil {
			return c, nil
		}
	}
}

// failed logs an error. Without a free file descriptor it ends a connection, so that the next can be accepted.
func (l *limited) failed(err error) {
	if errors.Is(err, net.ErrClosed) {
		return
	}
	l.clients.failing.Do(func() { l.clients.log.Warn("cannot accept a connection", "error", err) })
	if !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) {
		return
	}
	l.clients.mu.Lock()
	worst := l.clients.worst(nil)
	l.clients.mu.Unlock()
	if worst != nil {
		_ = worst.Close()
	}
}
