package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// writePage replaces the rows of this command in the page's table, or adds them to its end.
func (b *bench) writePage() error {
	text, err := os.ReadFile(b.page)
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	ours := func(line string) bool { return strings.HasSuffix(line, "| `"+b.command+"` |") }
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
		rows = append(rows, fmt.Sprintf("| %s | %s | %s | %s, %d CPUs, load %s | `%s` |",
			p.what, p.goal, p.measured, time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), load(), b.command))
	}
	lines = slices.Insert(lines, at, rows...)
	return os.WriteFile(b.page, []byte(strings.Join(lines, "\n")+"\n"), 0o644)
}
