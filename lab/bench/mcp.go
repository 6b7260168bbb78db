package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/oxbow-memory/oxbow/lab/must"
	"github.com/oxbow-memory/oxbow/lab/program"
)

const (
	idleSessions = 10_000 // without a stream
	openStreams  = 1_000  // sessions with one
)

// sessions measures the memory of a server with many sessions of MCP.
func sessions(b *bench) {
	must.Get(program.Build(b.ctx))
	p, c, _ := b.serve(b.database("bench_mcp"), "--mcp-sessions", "1h")
	defer p.stop()
	streams := make(chan io.Closer, openStreams)
	const clients = 8
	together(clients, func(client int) {
		for n := client; n < idleSessions+openStreams; n += clients {
			user := fmt.Sprint("user-", n)
			session := c.mcp(user, "", `"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", `+
				`"capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}`)
			c.mcp(user, session, `"method": "notifications/initialized"`)
			if n < openStreams {
				answer := must.Get(c.http.Do(c.mcpRequest(http.MethodGet, user, session, ""))) //nolint:bodyclose // closed below
				streams <- answer.Body
			}
		}
	})
	b.atMost(fmt.Sprintf("MiB of the server with %d idle sessions of MCP, and %d with an open stream", idleSessions,
		openStreams), 300, float64(p.memory("VmHWM")))
	close(streams)
	for stream := range streams {
		must.OK(stream.Close())
	}
}

// mcp sends a message of MCP, and returns the session.
func (c caller) mcp(user, session, message string) string {
	//nolint:bodyclose // closed in the next statement
	answer := must.Get(c.http.Do(c.mcpRequest(http.MethodPost, user, session, `{"jsonrpc": "2.0", `+message+"}")))
	defer answer.Body.Close()
	text := must.Get(io.ReadAll(answer.Body))
	if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusAccepted {
		must.OK(fmt.Errorf("MCP: %s: %s", answer.Status, text))
	}
	return answer.Header.Get("Mcp-Session-Id")
}

func (c caller) mcpRequest(method, user, session, body string) *http.Request {
	r := must.Get(http.NewRequestWithContext(c.b.ctx, method, c.base+user+"/mcp", strings.NewReader(body)))
	r.Header.Set("Authorization", "Bearer "+c.key)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	return r
}
