package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/internal/eval"
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
	return section{name, func(ctx context.Context, p *place) (string, error) {
		file, err := filepath.Abs(file)
		if err != nil {
			return "", err
		}
		figures, err := p.must(ctx, "oxbow eval --keep '"+file+"' | grep -v '^A recall took'")
		if err != nil {
			return "", err
		}
		ranks, err := p.rank(ctx, file)
		return newNormaliser(p).normalise(figures) + ranks, err
	}}
}

// rank asks questions of a file that oxbow eval has loaded and kept. For each it returns the ids of the first ten
// memories, as of now, and for every tenth question also as of the median time of its user.
func (p *place) rank(ctx context.Context, file string) (string, error) {
	opened, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer func() { _ = opened.Close() }()
	set, err := eval.Read(opened)
	if err != nil {
		return "", err
	}
	questions := set.Questions
	if len(questions) > asked {
		for i := range asked {
			questions[i] = questions[i*len(questions)/asked]
		}
		questions = questions[:asked]
	}
	var prefix string // of the run's users: eval-, eight digits, -
	err = p.conn.QueryRow(ctx,
		`select left(min(user_id), 14) from oxbow.memories where user_id like 'eval-%'`).Scan(&prefix)
	if err != nil {
		return "", err
	}
	var texts []string
	for _, q := range questions {
		texts = append(texts, q.Text)
	}
	if _, err := p.conn.Exec(ctx, `insert into oxbow.users (user_id, opted_out) values ('asker', true)`); err != nil {
		return "", err
	}
	if _, err := p.conn.Exec(ctx, `select golden.ask(variadic $1::text[])`, texts); err != nil {
		return "", err
	}
	if _, err := p.must(ctx, "oxbow work --until-idle"); err != nil {
		return "", err
	}
	var out strings.Builder
	for i, q := range questions {
		for _, then := range []bool{false, true} {
			if then && i%10 != 0 {
				continue
			}
			rows, err := p.conn.Query(ctx, `
				select coalesce(r.external_id, r.id::text)
				  from oxbow.recall($1, $2, golden.vector($2), now => '2026-01-01', valid_as_of =>
				    case when $3 then (select percentile_disc(0.5) within group (order by m.valid_at)
				                         from oxbow.memories m where m.user_id = $1) end) r`,
				prefix+q.User, q.Text, then)
			if err != nil {
				return "", err
			}
			ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil {
				return "", err
			}
			when := ""
			if then {
				when = " then"
			}
			fmt.Fprintf(&out, "line %d%s: %s\n", q.Line, when, strings.Join(ids, " "))
		}
	}
	return out.String(), nil
}
