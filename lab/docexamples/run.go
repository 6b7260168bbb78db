package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Parts of shell snippets that are replaced: the address of the reader's database in the documents, and the command
// that creates one in the reader's directory.
const (
	placeholder = "postgres://me@localhost/app"
	devCommand  = "bin/oxbow dev"
)

// runner runs the snippets of one document.
type runner struct {
	cfg config
	db  *database
	dir string // for files of the snippets
	url string // of the server
	key string // of an app
}

// serving finds the server's URL in its output.
var serving = regexp.MustCompile(`Serving (\S+)/v1\n`)

// start starts the program with arguments and returns its output, which contains ready.
func (r *runner) start(ctx context.Context, ready string, args ...string) (string, func() error, error) {
	cmd := exec.Command(r.cfg.oxbow, args...)
	cmd.Env = r.env()
	service, err := startService(ctx, cmd, ready)
	if err != nil {
		return "", nil, fmt.Errorf("%s %s: %w", r.cfg.oxbow, args[0], err)
	}
	return service.out.String(), func() error {
		if err := service.stop(); err != nil {
			return fmt.Errorf("%s %s: %w", r.cfg.oxbow, args[0], err)
		}
		return nil
	}, nil
}

func (r *runner) newKey(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, r.cfg.oxbow, "keys", "api", "create", "--role", "app", "--name", "docs")
	cmd.Env = r.env()
	key, err := cmd.Output()
	return strings.TrimSpace(string(key)), err
}

// run runs one snippet and returns its output.
func (r *runner) run(ctx context.Context, s snippet) (string, error) {
	if err := r.db.settle(ctx); err != nil {
		return "", err
	}
	switch s.lang {
	case "sql":
		if s.as != "" {
			return r.sql(ctx, r.db.app, s.text)
		}
		return r.sql(ctx, r.db.owner, s.text)
	case "sh":
		return r.sh(ctx, s)
	case "python":
		return r.program(ctx, "example.py", s.text, func(file string) *exec.Cmd {
			return exec.CommandContext(ctx, r.cfg.python, file)
		})
	case "js":
		return r.program(ctx, "example.js", s.text, func(file string) *exec.Cmd {
			return exec.CommandContext(ctx, r.cfg.node, file)
		})
	case "go":
		if err := r.goModule(); err != nil {
			return "", err
		}
		return r.program(ctx, "main.go", s.text, func(string) *exec.Cmd {
			return exec.CommandContext(ctx, "go", "run", "-mod=mod", ".")
		})
	case "json":
		return r.mcp(ctx, s.text)
	}
	return "", fmt.Errorf("cannot run the language %q", s.lang)
}

// sql runs statements one by one, as psql does. It waits for the worker before each query.
func (r *runner) sql(ctx context.Context, dsn, text string) (string, error) {
	list, err := statements(text)
	if err != nil {
		return "", err
	}
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return "", err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var printed strings.Builder
	for _, statement := range list {
		if isQuery(statement) {
			if err := r.db.settle(ctx); err != nil {
				return printed.String(), err
			}
		}
		results, err := conn.PgConn().Exec(ctx, statement).ReadAll()
		if err != nil {
			return printed.String(), fmt.Errorf("%w, in\n%s", err, statement)
		}
		for _, result := range results {
			for _, row := range result.Rows {
				fmt.Fprintf(&printed, "%s\n", bytes.Join(row, []byte(" | ")))
			}
			fmt.Fprintf(&printed, "%s\n", result.CommandTag)
			if result.CommandTag.Select() && len(result.Rows) == 0 {
				return printed.String(), fmt.Errorf("no rows from\n%s", statement)
			}
		}
	}
	if conn.PgConn().TxStatus() != 'I' {
		return printed.String(), errors.New("the snippet leaves a transaction open")
	}
	return printed.String(), nil
}

// sh runs a script at the root of the repository.
func (r *runner) sh(ctx context.Context, s snippet) (string, error) {
	script := strings.ReplaceAll(s.text, placeholder, "'"+r.db.owner+"'")
	env := r.env()
	if strings.Contains(script, devCommand) {
		script = strings.ReplaceAll(script, devCommand, devCommand+" --data-dir '"+filepath.Join(r.dir, "dev")+"'")
		env = append(env, "DATABASE_URL=") // the last of several counts
	}
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", script)
	cmd.Env = env
	if s.interruptAfter == "" {
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	started, err := startService(ctx, cmd, s.interruptAfter)
	if err != nil {
		return "", err
	}
	err = started.stop()
	return started.out.String(), err
}

// mcp starts the commands of a client's configuration, as the client does. Each must introduce itself.
func (r *runner) mcp(ctx context.Context, text string) (string, error) {
	var config struct {
		Servers map[string]struct {
			Command string
			Args    []string
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		return "", err
	}
	var printed strings.Builder
	for name, server := range config.Servers {
		if filepath.Base(server.Command) != "oxbow" {
			return "", fmt.Errorf("%s is not a server of Oxbow", name)
		}
		cmd := exec.CommandContext(ctx, r.cfg.oxbow, server.Args...)
		cmd.Env = r.env()
		answer, err := introduced(cmd)
		printed.WriteString(answer)
		if err == nil && !strings.Contains(answer, `"serverInfo":{"name":"oxbow"`) {
			err = fmt.Errorf("%s does not introduce itself", name)
		}
		if err != nil {
			return printed.String(), err
		}
	}
	return printed.String(), nil
}

// introduced starts a server of MCP, and returns its answer to the first message of a client.
func introduced(cmd *exec.Cmd) (string, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	_, writeErr := io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":`+
		`"2025-06-18","capabilities":{},"clientInfo":{"name":"docs","version":"1"}}}`+"\n")
	answer, readErr := bufio.NewReader(out).ReadString('\n')
	if err := errors.Join(writeErr, readErr, in.Close(), cmd.Wait()); err != nil {
		return answer, fmt.Errorf("%w\n%s", err, &stderr)
	}
	return answer, nil
}

// program writes a file and runs it. It must print something, since every example ends with a recall.
func (r *runner) program(ctx context.Context, name, text string, command func(file string) *exec.Cmd) (string, error) {
	file := filepath.Join(r.dir, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return "", err
	}
	cmd := command(file)
	cmd.Dir, cmd.Env = r.dir, r.env()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("%w\n%s", err, &stderr)
	}
	if strings.TrimSpace(stdout.String()) == "" {
		return "", errors.New("the program printed nothing")
	}
	return stdout.String(), nil
}

// goModule creates a module that uses this checkout. It has the same requirements in the same versions, so that nothing
// is downloaded.
func (r *runner) goModule() error {
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		return err
	}
	root, err := filepath.Abs(".")
	if err != nil {
		return err
	}
	const ours = "github.com/oxbow-memory/oxbow"
	text := strings.Replace(string(mod), "module "+ours, "module example", 1) +
		fmt.Sprintf("\nrequire %s v0.0.0\n\nreplace %s => %q\n", ours, ours, root)
	sum, err := os.ReadFile("go.sum")
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(r.dir, "go.mod"), []byte(text), 0o600),
		os.WriteFile(filepath.Join(r.dir, "go.sum"), sum, 0o600))
}

// env returns this program's environment without variables that would change the snippet's database.
func (r *runner) env() []string {
	env := []string{"DATABASE_URL=" + r.db.owner, "OXBOW_URL=" + r.url, "OXBOW_API_KEY=" + r.key}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "PG") && !strings.HasPrefix(v, "OXBOW_") && !strings.HasPrefix(v, "DATABASE_URL=") {
			env = append(env, v)
		}
	}
	return env
}
