package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// scripts holds the questions, a section a file. In a .sql file "-- name: …" begins a block of statements that run as
// one, and "-- $ COMMAND" runs a command before the block. In a .sh file each line is a command.
//
//go:embed scripts
var scripts embed.FS

//go:embed helpers.sql
var helpersSQL string

//go:embed fixture.sql
var fixtureSQL string

func scriptSections() []section {
	var sections []section
	entries, err := scripts.ReadDir("scripts")
	if err != nil {
		panic(err) // they are embedded
	}
	for _, e := range entries {
		text, err := scripts.ReadFile("scripts/" + e.Name())
		if err != nil {
			panic(err)
		}
		name, isSQL := strings.CutSuffix(e.Name(), ".sql")
		if isSQL {
			blocks, err := parseSQL(string(text))
			if err != nil {
				panic(fmt.Errorf("%s: %w", e.Name(), err))
			}
			sections = append(sections, section{name, func(ctx context.Context, p *place) (string, error) {
				return p.askAll(ctx, blocks)
			}})
			continue
		}
		lines := commands(string(text))
		name = strings.TrimSuffix(e.Name(), path.Ext(e.Name()))
		sections = append(sections, section{name, func(ctx context.Context, p *place) (string, error) {
			return p.typeAll(ctx, lines)
		}})
	}
	return sections
}

// A block is statements with a name, and the commands to run before them.
type block struct {
	name     string
	commands []string
	sql      string
}

func parseSQL(text string) ([]block, error) {
	var blocks []block
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(line, "-- name: "); ok {
			name = strings.TrimSpace(name)
			if slices.ContainsFunc(blocks, func(b block) bool { return b.name == name }) {
				return nil, fmt.Errorf("two blocks are named %q", name)
			}
			blocks = append(blocks, block{name: name})
		} else if len(blocks) == 0 {
			continue // the comment at the head of the file
		} else if command, ok := strings.CutPrefix(line, "-- $ "); ok {
			last := &blocks[len(blocks)-1]
			last.commands = append(last.commands, strings.TrimSpace(command))
		} else {
			blocks[len(blocks)-1].sql += line
		}
	}
	return blocks, nil
}

func commands(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}

// askAll runs blocks of SQL, and returns their answers. An error is an answer.
func (p *place) askAll(ctx context.Context, blocks []block) (string, error) {
	n := newNormaliser(p)
	var out strings.Builder
	for _, b := range blocks {
		for _, c := range b.commands {
			if _, err := p.must(ctx, c); err != nil {
				return "", fmt.Errorf("block %q: %w", b.name, err)
			}
		}
		answer, err := p.ask(ctx, b.sql)
		if err != nil {
			return "", fmt.Errorf("block %q: %w", b.name, err)
		}
		fmt.Fprintf(&out, "== %s ==\n%s\n", b.name, n.normalise(answer))
	}
	return out.String(), nil
}

// ask runs statements, and prints the rows of each or the error that ended them. What they leave open is rolled back.
func (p *place) ask(ctx context.Context, sql string) (string, error) {
	var out strings.Builder
	conn := p.conn.PgConn()
	results := conn.Exec(ctx, sql)
	for results.NextResult() {
		r := results.ResultReader()
		var names []string
		for _, f := range r.FieldDescriptions() {
			names = append(names, f.Name)
		}
		var rows []string
		for r.NextRow() {
			var cells []string
			for _, v := range r.Values() {
				cell := "NULL"
				if v != nil {
					cell = strings.ReplaceAll(string(v), "\n", `\n`)
				}
				cells = append(cells, cell)
			}
			rows = append(rows, strings.Join(cells, " | ")+"\n")
		}
		if slices.Equal(names, []string{"fact"}) {
			slices.Sort(rows)
		} else if len(rows) > 0 {
			out.WriteString(strings.Join(names, " | ") + "\n")
		}
		out.WriteString(strings.Join(rows, ""))
		tag, err := r.Close()
		if err != nil {
			break
		}
		if s := tag.String(); len(rows) == 0 && !slices.Contains([]string{"BEGIN", "SET", "COMMIT"}, s) {
			out.WriteString("(" + s + ")\n")
		}
	}
	if err := results.Close(); err != nil {
		refused, ok := errors.AsType[*pgconn.PgError](err)
		if !ok {
			return "", err
		}
		fmt.Fprintf(&out, "ERROR %s: %s\n", refused.Code, refused.Message)
		for _, more := range [][2]string{{"detail", refused.Detail}, {"hint", refused.Hint}} {
			if more[1] != "" {
				fmt.Fprintf(&out, "%s: %s\n", more[0], more[1])
			}
		}
	}
	if conn.TxStatus() != 'I' {
		if err := conn.Exec(ctx, "rollback").Close(); err != nil {
			return "", err
		}
	}
	return out.String(), nil
}

// typeAll runs command lines, and returns what a terminal would show: lines of standard error begin with "!".
func (p *place) typeAll(ctx context.Context, lines []string) (string, error) {
	n := newNormaliser(p)
	var out strings.Builder
	for _, line := range lines {
		stdout, stderr, code, err := p.shell(ctx, line)
		if err != nil {
			return "", fmt.Errorf("%s: %w", line, err)
		}
		var text strings.Builder
		text.WriteString(stdout)
		if stdout != "" && !strings.HasSuffix(stdout, "\n") {
			text.WriteString("\n")
		}
		for l := range strings.Lines(stderr) {
			text.WriteString("! " + strings.TrimRight(l, "\n") + "\n")
		}
		if code != 0 {
			fmt.Fprintf(&text, "exit %d\n", code)
		}
		fmt.Fprintf(&out, "$ %s\n%s\n", line, n.normalise(text.String()))
	}
	return out.String(), nil
}
