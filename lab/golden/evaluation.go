package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/internal/eval"
	"github.com/oxbow-memory/oxbow/lab/must"
)

// asked is how many questions of a development file are ranked, spread over it.
const asked = 200

// evaluationSections are the rankings on the samples, and with the directory of the development files on those.
func evaluationSections(dir string) []section {
	sections := []section{ranking("rank-samples", filepath.Join(rootDir(), "examples", "lives.jsonl"))}
	if dir != "" {
		sections = append(sections, ranking("rank-locomo", filepath.Join(dir, "locomo.jsonl.gz")),
			ranking("rank-lifebench", filepath.Join(dir, "lifebench-zh.jsonl.gz")))
	}
	return sections
}

func ranking(name, file string) section {
	return section{name, func(p *place) string {
		file := must.Get(filepath.Abs(file))
		figures := p.must("oxbow eval --keep '" + file + "' | grep -v '^A recall took'")
		return newNormaliser(p).normalise(figures) + p.rank(file)
	}}
}

// rank asks questions of a file that oxbow eval has loaded and kept. For each it returns the ids of the first ten
// memories, as of now, and for every tenth question also as of the median time of its user.
func (p *place) rank(file string) string {
	opened := must.Get(os.Open(file))
	defer func() { _ = opened.Close() }()
	questions := must.Get(eval.Read(opened)).Questions
	if len(questions) > asked {
		for i := range asked {
			questions[i] = questions[i*len(questions)/asked]
		}
		questions = questions[:asked]
	}
	var prefix string // of the run's users: eval-, eight digits, -
	must.OK(p.conn.QueryRow(p.ctx,
		`select left(min(user_id), 14) from oxbow.memories where user_id like 'eval-%'`).Scan(&prefix))
	var texts []string
	for _, q := range questions {
		texts = append(texts, q.Text)
	}
	must.Get(p.conn.Exec(p.ctx, `insert into oxbow.users (user_id, opted_out) values ('asker', true)`))
	must.Get(p.conn.Exec(p.ctx, `select golden.ask(variadic $1::text[])`, texts))
	p.must("oxbow work --until-idle")
	var out strings.Builder
	for i, q := range questions {
		for _, then := range []bool{false, true} {
			if then && i%10 != 0 {
				continue
			}
			rows := must.Get(p.conn.Query(p.ctx, `
				select coalesce(r.external_id, r.id::text)
				  from oxbow.recall($1, $2, golden.vector($2), now => '2026-01-01', valid_as_of =>
				    case when $3 then (select percentile_disc(0.5) within group (order by m.valid_at)
				                         from oxbow.memories m where m.user_id = $1) end) r`,
				prefix+q.User, q.Text, then))
			ids := must.Get(pgx.CollectRows(rows, pgx.RowTo[string]))
			when := ""
			if then {
				when = " then"
			}
			fmt.Fprintf(&out, "line %d%s: %s\n", q.Line, when, strings.Join(ids, " "))
		}
	}
	return out.String()
}
