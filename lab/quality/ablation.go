package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/internal/jsonl"
	"github.com/oxbow-memory/oxbow/lab/models"
	"github.com/oxbow-memory/oxbow/lab/must"
)

// part is a part of recall, and the statement that switches it off.
type part struct{ name, off string }

// parts begins with nothing, with which the others are compared.
var parts = []part{
	{"nothing", ""},
	{"words", weightless("text")},
	{"vectors", weightless("vector")},
	{"entities", weightless("entity")},
	{"dates", `
		create or replace function oxbow.query_dates(query text, out terms text[], out rest text)
		  language sql immutable as $$ select '{}'::text[], query $$;
		create or replace function oxbow.query_times(query text, today date, out terms text[], out rest text)
		  language sql immutable as $$ select '{}'::text[], query $$`},
	{"neighbours", `
		create or replace function oxbow.recall_neighbours(_user_id text, _type text, _session_id text, _seq bigint,
		  _at timestamptz, _filter oxbow.recall_filter) returns table (id uuid, share double precision)
		  language sql stable as $$ select null::uuid, null::double precision where false $$`},
	{"recency", zero("recall_recency")},
	{"speaker", zero("recall_speaker")},
	{"importance", zero("recall_importance")},
	{"weight", zero("recall_weight")},
	{"variety", zero("recall_variety")},
}

func weightless(channel string) string {
	return fmt.Sprintf(`insert into oxbow.settings (key, value) values ('recall', '{"%s": 0}')`, channel)
}

// zero changes a policy for the past too, because some questions are asked then.
func zero(policy string) string {
	return "alter table oxbow.recall_rules disable trigger user; update oxbow.recall_rules set " + policy + " = 0"
}

// ablate evaluates files without each part of recall in turn, and writes a table of recall@10. It also decides for each
// user, by the mean recall@10 of all other users of all files, whether the part should go.
func (r *rig) ablate(w io.Writer, model string, files []string) {
	dir := must.Get(os.MkdirTemp("", "quality"))
	defer func() { _ = os.RemoveAll(dir) }()
	names, copies := copiesByUser(files, dir)
	fmt.Fprintf(w, "Model %s:\n\n| without | %s | needed by the others of |\n|%s\n", model, strings.Join(names, " | "),
		strings.Repeat("---|", len(files)+2))
	server, stop := r.serve(model)
	defer stop()
	whole := map[string]float64{}
	for _, p := range parts {
		row, users := r.without(p, server, copies)
		if p.off == "" {
			whole = users
			fmt.Fprintf(w, "| %s | %s | |\n", p.name, strings.Join(row, " | "))
			continue
		}
		fmt.Fprintf(w, "| %s | %s | %d of %d users |\n", p.name, strings.Join(row, " | "), needed(whole, users), len(users))
	}
}

// without returns recall@10 without a part of recall, for each file and for each of its users.
func (r *rig) without(p part, server *models.Server, files []string) (row []string, users map[string]float64) {
	d := r.open(server)
	defer d.close()
	conn := must.Get(pgx.Connect(d.ctx, d.dsn))
	_ = must.Get(conn.Exec(d.ctx, p.off))
	must.OK(conn.Close(d.ctx))
	users = map[string]float64{}
	for _, file := range files {
		if !d.fits(file) {
			row = append(row, "")
			continue
		}
		report := d.eval(file)
		scores := report.Scores
		if scores.All.N == 0 {
			scores = *report.Sessions
		}
		row = append(row, fmt.Sprintf("%.3f", scores.All.Recall10))
		for user, score := range scores.Categories {
			users[file+user] = score.Recall10
		}
	}
	return row, users
}

// needed counts the users without whom the sum of the others is lower without a part than with all.
func needed(whole, without map[string]float64) (n int) {
	sum := 0.0
	for user := range whole {
		sum += whole[user] - without[user]
	}
	for user := range whole {
		if sum-(whole[user]-without[user]) > 0 {
			n++
		}
	}
	return n
}

// copiesByUser copies files into a directory, and returns the names of the sets and of the copies.
func copiesByUser(files []string, dir string) (names, copies []string) {
	for i, file := range files {
		names = append(names, setName(file))
		copies = append(copies, byUser(file, filepath.Join(dir, fmt.Sprintf("%d-%s.jsonl", i, names[i]))))
	}
	return names, copies
}

// byUser copies a file, with the user as the category of each question.
func byUser(file, name string) string {
	in, out := must.Get(os.Open(file)), must.Get(os.Create(name))
	defer func() { _ = in.Close() }()
	lines := must.Get(jsonl.NewReader(in))
	for lines.Next() {
		var line map[string]any
		must.OK(json.Unmarshal(lines.Line, &line))
		line["category"] = line["user"]
		_ = must.Get(out.Write(append(must.Get(json.Marshal(line)), '\n')))
	}
	must.OK(errors.Join(lines.Err, out.Close()))
	return name
}
