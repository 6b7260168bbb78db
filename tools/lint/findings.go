package main

import (
	"fmt"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
	"honnef.co/go/tools/analysis/lint"
)

// findings are what the analyzers say, except on the lines that are excused.
type findings struct {
	root    string // of the repository: names of files begin there
	said    map[string]bool
	excuses []*excuse
}

// excuse is a line's //lint:ignore CHECK,… reason, which stands before the line or behind it.
type excuse struct {
	at     token.Position
	file   string
	line   int
	checks []string
	used   bool
}

func newFindings(root string) *findings { return &findings{root: root, said: map[string]bool{}} }

// excuse reads the excuses of a package.
func (f *findings) excuse(pkg *packages.Package) {
	for _, d := range lint.ParseDirectives(pkg.Syntax, pkg.Fset) {
		at, on := pkg.Fset.Position(d.Directive.Pos()), pkg.Fset.Position(d.Node.Pos())
		if d.Command != "ignore" || len(d.Arguments) < 2 {
			f.say(at, "lint", "it has to be //lint:ignore CHECK reason")
			continue
		}
		f.excuses = append(f.excuses, &excuse{at: at, file: on.Filename, line: on.Line, checks: strings.Split(d.Arguments[0], ",")})
	}
}

func (f *findings) add(at token.Position, check, message string) {
	for _, e := range f.excuses {
		if e.file == at.Filename && e.line == at.Line && slices.Contains(e.checks, check) {
			e.used = true
			return
		}
	}
	f.say(at, check, message)
}

func (f *findings) say(at token.Position, check, message string) {
	if name, err := filepath.Rel(f.root, at.Filename); err == nil {
		at.Filename = name
	}
	f.said[fmt.Sprintf("%s: %s (%s)", at, message, check)] = true
}

// lines returns the findings by their places, and the excuses for which there was no need.
func (f *findings) lines() []string {
	for _, e := range f.excuses {
		if !e.used && !slices.Contains(e.checks, "U1000") { // what is excused so is not reported in the first place
			f.say(e.at, "lint", "there is nothing to excuse")
		}
	}
	return slices.Sorted(maps.Keys(f.said))
}
