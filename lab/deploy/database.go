package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"os/exec"
	"path/filepath"

	"github.com/oxbow-memory/oxbow/internal/localpg"
	"github.com/oxbow-memory/oxbow/lab/must"
)

// database is a PostgreSQL that listens on a port of this machine, which a program in an empty root can reach, and has
// the database and the logins of deploy/logins.sql. It asks for no passwords.
type database struct {
	server   *localpg.Server
	socket   string
	listener net.Listener
}

// newDatabase starts PostgreSQL and runs deploy/logins.sql with the passwords in env.
func newDatabase(ctx context.Context, dir string, env []string) *database {
	d := &database{
		server: must.Get(localpg.Start(ctx, localpg.Config{DataDir: dir, Database: "admin",
			Settings: map[string]string{"fsync": "off", "shared_buffers": "64MB"}})),
		listener: must.Get(net.Listen("tcp", "127.0.0.1:0")),
	}
	dsn := must.Get(url.Parse(d.server.DSN("admin"))).Query()
	d.socket = filepath.Join(dsn.Get("host"), ".s.PGSQL."+dsn.Get("port"))
	go d.accept()
	d.psql(ctx, nil, "admin", "--command", "create database oxbow template template0")
	d.psql(ctx, env, "oxbow", "--file", "deploy/logins.sql")
	return d
}

func (d *database) psql(ctx context.Context, env []string, name string, args ...string) {
	cmd := exec.CommandContext(ctx, filepath.Join(d.server.BinDir(), "psql"),
		append([]string{"--no-psqlrc", "--quiet", d.server.DSN(name)}, args...)...)
	cmd.Env = env
	out, err := cmd.CombinedOutput()
	must.OK(wrap("psql: "+string(out), err))
}

// address is the host and port of the server.
func (d *database) address() string { return d.listener.Addr().String() }

// url is the URL for a login.
func (d *database) url(login string) string {
	return fmt.Sprintf("postgres://%s@%s/oxbow", login, d.address())
}

// accept connects each client to the server's socket.
func (d *database) accept() {
	for {
		client, err := d.listener.Accept()
		if err != nil {
			return // closed
		}
		server, err := net.Dial("unix", d.socket)
		if err != nil {
			_ = client.Close()
			continue
		}
		for _, pair := range [][2]net.Conn{{client, server}, {server, client}} {
			go func() {
				_, _ = io.Copy(pair[0], pair[1])
				_ = pair[0].Close()
			}()
		}
	}
}

func (d *database) close(ctx context.Context) error {
	_ = d.listener.Close()
	return d.server.Stop(ctx)
}
