package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/internal/eval"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/lab/models"
	"github.com/oxbow-memory/oxbow/lab/must"
	"github.com/oxbow-memory/oxbow/lab/program"
)

// rig runs oxbow against databases of its own.
type rig struct {
	ctx      context.Context
	program  string
	versions []string // of what was measured with
}

// ranking is how well a file's memories were ranked.
type ranking struct {
	set, by string
	report  eval.Report
}

func newRig(ctx context.Context) *rig {
	r := &rig{ctx: ctx, program: must.Get(program.Build(ctx))}
	commit, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output()
	if err == nil { // not in a copy without history
		r.versions = append(r.versions, "Oxbow "+strings.TrimSpace(string(commit)))
	}
	return r
}

// measure evaluates files with a model.
func (r *rig) measure(model string, files []string) (rankings []ranking) {
	dsn := must.Get(pgtest.Create(r.ctx))
	defer func() { _ = pgtest.Drop(context.WithoutCancel(r.ctx), dsn) }()
	env := append(os.Environ(), "DATABASE_URL="+dsn, "OXBOW_EMBEDDING_TIMEOUT=10m")
	by, english := "Oxbow, local-v1", false
	if model != "local" {
		server := must.Get(models.Start(r.ctx, model, "127.0.0.1:0", true))
		defer func() {
			fmt.Fprintf(os.Stderr, "%s: %s\n", model, server.Rate())
			_ = server.Close()
		}()
		env, by, english = append(env, server.Env()...), "Oxbow, "+server.Model, server.English
		version := server.Model + " of " + server.Version
		if server.QueryPrefix != "" {
			version += fmt.Sprintf(" with the prefixes %q and %q", server.QueryPrefix, server.PassagePrefix)
		}
		if english {
			version += " (English sets only)"
		}
		r.versions = append(r.versions, version)
	}
	r.run(env, "migrate", "up")
	if model == "local" {
		r.versions = append(r.versions, r.databaseVersions(dsn)...)
	} else {
		r.run(env, "reembed")
	}
	for _, file := range files {
		if english && chinese(file) {
			continue
		}
		fmt.Fprintf(os.Stderr, "%s: %s\n", model, filepath.Base(file))
		got := ranking{set: setName(file), by: by}
		must.OK(json.Unmarshal(r.run(env, "eval", "--json", file), &got.report))
		rankings = append(rankings, got)
	}
	return rankings
}

func (r *rig) run(env []string, args ...string) []byte {
	cmd := exec.CommandContext(r.ctx, r.program, args...)
	var errs bytes.Buffer
	cmd.Env, cmd.Stderr = env, &errs
	out, err := cmd.Output()
	if err != nil {
		must.OK(fmt.Errorf("oxbow %s: %w: %s", strings.Join(args, " "), err, &errs))
	}
	return out
}

func (r *rig) databaseVersions(dsn string) []string {
	conn := must.Get(pgx.Connect(r.ctx, dsn))
	defer conn.Close(r.ctx)
	var server, vector string
	must.OK(conn.QueryRow(r.ctx, `select split_part(current_setting('server_version'), ' ', 1), extversion
		from pg_extension where extname = 'vector'`).Scan(&server, &vector))
	return []string{"PostgreSQL " + server, "pgvector " + vector}
}
