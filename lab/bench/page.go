package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// writePage replaces the rows of this benchmark in the page's table, or adds them to its end. Other lines stay as
// they are.
func (b *bench) writePage() error {
	text, err := os.ReadFile(b.page)
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	ours := func(line string) bool {
		return strings.Contains(line, "| `go -C lab run ./bench ") && strings.HasSuffix(line, " "+b.name+"` |")
	}
	at := slices.IndexFunc(lines, ours)
	lines = slices.DeleteFunc(lines, ours)
	if at < 0 {
		for i, line := range lines {
			if strings.HasPrefix(line, "|") {
				at = i + 1
			}
		}
	}
	if at < 0 {
		return errors.New(b.page + " has no table")
	}
	var rows []string
	for _, p := range b.promises {
		rows = append(rows, fmt.Sprintf("| %s | %s | %.2f | %s | %s, load %s | `%s` |", p.what, p.goal, p.measured,
			p.verdict(), time.Now().UTC().Format(time.DateOnly), load(), b.command))
	}
	lines = slices.Insert(lines, at, rows...)
	return os.WriteFile(b.page, []byte(strings.Join(lines, "\n")+"\n"), 0o644)
}
