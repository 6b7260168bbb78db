// Package connect configures connections to PostgreSQL. All programs of Oxbow connect through it, so that none of them
// waits forever for a server that is gone or hangs, or keeps a connection that has become read-only.
package connect

import (
	"context"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Timeout limits how long connecting may take, set-up included, unless the URL has a connect_timeout.
const Timeout = 5 * time.Second

// deadAfter is how long the other end of a connection may acknowledge nothing before the connection breaks.
const deadAfter = 30 * time.Second

// Pool returns the configuration of a connection pool for the database at url. Connecting, including setUp, is limited
// to 5 seconds unless the URL has a connect_timeout. A statement on a connection whose other end is gone fails within
// 30 seconds. A connection that turns out to be read-only is closed, so that the next one may reach a primary. The
// application_name is name unless the URL has one.
func Pool(url, name string, setUp ...func(context.Context, *pgx.Conn) error) (*pgxpool.Config, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	conn := cfg.ConnConfig
	if conn.RuntimeParams["application_name"] == "" {
		conn.RuntimeParams["application_name"] = name
	}
	if conn.ConnectTimeout == 0 && !strings.Contains(url, "connect_timeout") {
		conn.ConnectTimeout = Timeout
	}
	dialer := net.Dialer{Timeout: conn.ConnectTimeout, Control: limitSilence, KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: deadAfter / 2, Interval: deadAfter / 6, Count: 3}}
	conn.DialFunc = dialer.DialContext
	cfg.PingTimeout = conn.ConnectTimeout
	cfg.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		if conn.ConnectTimeout > 0 {
			within, cancel := context.WithTimeout(ctx, conn.ConnectTimeout)
			defer cancel()
			ctx = within
		}
		for _, f := range setUp {
			if err := f(ctx, c); err != nil {
				return err
			}
		}
		return nil
	}
	replaceReadOnly(cfg)
	return cfg, nil
}

// One returns the configuration of a single connection. It ignores settings of pools, such as pool_max_conns.
func One(url, name string) (*pgx.ConnConfig, error) {
	cfg, err := Pool(url, name)
	if err != nil {
		return nil, err
	}
	return cfg.ConnConfig, nil
}

// limitSilence makes the system break a TCP connection whose data is not acknowledged. Otherwise a statement sent to a
// machine that is gone waits for a quarter of an hour.
func limitSilence(network, _ string, socket syscall.RawConn) (err error) {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	if failed := socket.Control(func(fd uintptr) { err = setUserTimeout(fd, deadAfter) }); failed != nil {
		return failed
	}
	return err
}
