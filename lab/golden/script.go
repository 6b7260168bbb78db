package main

import (
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/oxbow-memory/oxbow/lab/must"
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
	for _, e := range must.Get(scripts.ReadDir("scripts")) {
		text := string(must.Get(scripts.ReadFile("scripts/" + e.Name())))
		name, isSQL := strings.CutSuffix(e.Name(), ".sql")
		name = strings.TrimSuffix(name, ".sh")
		if isSQL {
			blocks := must.Get(parseSQL(text))
			sections = append(sections, section{name, func(p *place) string { return p.askAll(blocks) }})
		} else {
			sections = append(sections, section{name, func(p *place) string { return p.typeAll(commands(text)) }})
		}
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
func (p *place) askAll(blocks []block) string {
	n := newNormaliser(p)
	var out strings.Builder
	for _, b := range blocks {
		for _, c := range b.commands {
			p.must(c)
		}
		fmt.Fprintf(&out, "== %s ==\n%s\n", b.name, n.normalise(p.ask(b.sql)))
	}
	return out.String()
}

// ask runs statements, and prints the rows of each or the error that ended them. It rolls back an open transaction.
func (p *place) ask(sql string) string {
	var out strings.Builder
	conn := p.conn.PgConn()
	results := conn.Exec(p.ctx, sql)
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
			must.OK(err)
		}
		fmt.Fprintf(&out, "ERROR %s: %s\n", refused.Code, refused.Message)
		for _, more := range [][2]string{{"detail", refused.Detail}, {"hint", refused.Hint}} {
			if more[1] != "" {
				fmt.Fprintf(&out, "%s: %s\n", more[0], more[1])
			}
		}
	}
	if conn.TxStatus() != 'I' {
		must.OK(conn.Exec(p.ctx, "rollback").Close())
	}
	return out.String()
}

// typeAll runs command lines, and returns what a terminal would show: lines of standard error begin with "!".
func (p *place) typeAll(lines []string) string {
	n := newNormaliser(p)
	var out strings.Builder
	for _, line := range lines {
		stdout, stderr, code := p.shell(line)
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
	return out.String()
}
