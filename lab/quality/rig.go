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

// database is a database whose memories are embedded with a model.
type database struct {
	*rig
	by      string // the name of the ranking
	english bool   // the model knows no other language
	dsn     string
	env     []string
	server  *models.Server // nil: the program embeds itself
}

// serve starts the server of a model. It returns nil for local.
func (r *rig) serve(model string) (server *models.Server, stop func()) {
	if model == "local" {
		return nil, func() {}
	}
	server = must.Get(models.Start(r.ctx, model, "127.0.0.1:0", true))
	return server, func() {
		fmt.Fprintf(os.Stderr, "%s: %s\n", server.Model, server.Rate())
		_ = server.Close()
	}
}

// open creates a database whose memories are embedded by a server, or by the program itself if server is nil.
func (r *rig) open(server *models.Server) *database {
	d := &database{rig: r, by: "Oxbow, local-v1", dsn: must.Get(pgtest.Create(r.ctx)), server: server}
	d.env = append(os.Environ(), "DATABASE_URL="+d.dsn, "OXBOW_EMBEDDING_TIMEOUT=10m")
	if d.server != nil {
		d.env, d.by, d.english = append(d.env, d.server.Env()...), "Oxbow, "+d.server.Model, d.server.English
	}
	d.run("migrate", "up")
	if d.server != nil {
		d.run("reembed")
	}
	return d
}

func (d *database) close() { _ = pgtest.Drop(context.WithoutCancel(d.ctx), d.dsn) }

// fits reports whether the model knows the language of a file.
func (d *database) fits(file string) bool { return !d.english || !chinese(file) }

func (d *database) eval(file string) (report eval.Report) {
	fmt.Fprintf(os.Stderr, "%s: %s\n", d.by, filepath.Base(file))
	must.OK(json.Unmarshal(d.run("eval", "--json", file), &report))
	return report
}

// measure evaluates files with a model.
func (r *rig) measure(model string, files []string) (rankings []ranking) {
	server, stop := r.serve(model)
	defer stop()
	d := r.open(server)
	defer d.close()
	r.versions = append(r.versions, d.modelVersions()...)
	for _, file := range files {
		if d.fits(file) {
			rankings = append(rankings, ranking{setName(file), d.by, d.eval(file)})
		}
	}
	return rankings
}

func (d *database) run(args ...string) []byte {
	cmd := exec.CommandContext(d.ctx, d.program, args...)
	var errs bytes.Buffer
	cmd.Env, cmd.Stderr = d.env, &errs
	out, err := cmd.Output()
	if err != nil {
		must.OK(fmt.Errorf("oxbow %s: %w: %s", strings.Join(args, " "), err, &errs))
	}
	return out
}

// modelVersions returns the version of the model, or those of the database if the program embeds itself.
func (d *database) modelVersions() []string {
	if d.server != nil {
		version := d.server.Model + " of " + d.server.Version
		if d.server.QueryPrefix != "" {
			version += fmt.Sprintf(" with the prefixes %q and %q", d.server.QueryPrefix, d.server.PassagePrefix)
		}
		if d.english {
			version += " (English sets only)"
		}
		return []string{version}
	}
	conn := must.Get(pgx.Connect(d.ctx, d.dsn))
	defer func() { _ = conn.Close(d.ctx) }()
	var server, vector string
	must.OK(conn.QueryRow(d.ctx, `select split_part(current_setting('server_version'), ' ', 1), extversion
		from pg_extension where extname = 'vector'`).Scan(&server, &vector))
	return []string{"PostgreSQL " + server, "pgvector " + vector}
}
