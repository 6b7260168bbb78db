// Lint checks the repository's Go code: Staticcheck's analyzers, with its way to excuse a line (//lint:ignore CHECK reason), and a few
// that it lacks. The table of imports is beside this file. It runs in the repository's root.
//
// Dependencies are not analyzed, which took ten times as long: of them is known what their types tell, and not, for example, that a
// function is deprecated (SA1019) or never returns.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"codeberg.org/polyfloyd/go-errorlint/errorlint"
	"github.com/OpenPeeDeeP/depguard/v2"
	"github.com/gordonklaus/ineffassign/pkg/ineffassign"
	"github.com/kisielk/errcheck/errcheck"
	"github.com/ryanrolds/sqlclosecheck/pkg/analyzer"
	"github.com/timakin/bodyclose/passes/bodyclose"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/analysis/passes/atomic"
	"golang.org/x/tools/go/analysis/passes/bools"
	"golang.org/x/tools/go/analysis/passes/buildtag"
	"golang.org/x/tools/go/analysis/passes/copylock"
	"golang.org/x/tools/go/analysis/passes/defers"
	"golang.org/x/tools/go/analysis/passes/directive"
	"golang.org/x/tools/go/analysis/passes/errorsas"
	"golang.org/x/tools/go/analysis/passes/httpresponse"
	"golang.org/x/tools/go/analysis/passes/ifaceassert"
	"golang.org/x/tools/go/analysis/passes/lostcancel"
	"golang.org/x/tools/go/analysis/passes/nilfunc"
	"golang.org/x/tools/go/analysis/passes/nilness"
	"golang.org/x/tools/go/analysis/passes/printf"
	"golang.org/x/tools/go/analysis/passes/slog"
	"golang.org/x/tools/go/analysis/passes/stringintconv"
	"golang.org/x/tools/go/analysis/passes/structtag"
	"golang.org/x/tools/go/analysis/passes/testinggoroutine"
	"golang.org/x/tools/go/analysis/passes/tests"
	"golang.org/x/tools/go/analysis/passes/unmarshal"
	"golang.org/x/tools/go/analysis/passes/unusedresult"
	"golang.org/x/tools/go/analysis/passes/unusedwrite"
	"golang.org/x/tools/go/analysis/passes/waitgroup"
	"golang.org/x/tools/go/packages"
	"gopkg.in/yaml.v3"
	"honnef.co/go/tools/simple"
	"honnef.co/go/tools/staticcheck"
	"honnef.co/go/tools/stylecheck"
	"honnef.co/go/tools/unused"
)

// theirs are Staticcheck's checks that others make here: revive looks after comments and names.
var theirs = []string{"ST1000", "ST1003", "ST1020", "ST1021", "ST1022"}

func main() {
	debug.SetGCPercent(400) // nearly all of it lives until the end, and collecting it again and again is a good part of the work
	found, err := check(os.Args[1:])
	for _, f := range found {
		fmt.Println(f)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "lint:", err)
		os.Exit(2)
	}
	if len(found) > 0 {
		os.Exit(1)
	}
}

func analyzers() ([]*analysis.Analyzer, error) {
	imports, err := importTable("tools/lint/imports.yml")
	if err == nil {
		err = errcheck.Analyzer.Flags.Set("exclude", "tools/lint/errcheck.txt")
	}
	comments, revived := reviveRules("tools/lint/revive.toml")
	all := []*analysis.Analyzer{
		// the table of imports; exported names are documented
		imports, comments,
		// an error is looked at, and compared with errors.Is and errors.As
		errcheck.Analyzer, errorlint.NewAnalyzer(),
		// rows are closed, and the bodies of HTTP responses, which would keep a connection
		analyzer.NewAnalyzer(), bodyclose.Analyzer,
		// what is assigned or written is used, and what is nil is not
		ineffassign.Analyzer, unusedwrite.Analyzer, nilness.Analyzer,
		// go vet's, and so go test need not run them
		atomic.Analyzer, bools.Analyzer, buildtag.Analyzer, copylock.Analyzer, defers.Analyzer, directive.Analyzer, errorsas.Analyzer,
		httpresponse.Analyzer, ifaceassert.Analyzer, lostcancel.Analyzer, nilfunc.Analyzer, printf.Analyzer, slog.Analyzer, stringintconv.Analyzer,
		structtag.Analyzer, testinggoroutine.Analyzer, tests.Analyzer, unmarshal.Analyzer, unusedresult.Analyzer, waitgroup.Analyzer,
		unused.Analyzer.Analyzer,
	}
	for _, a := range slices.Concat(simple.Analyzers, staticcheck.Analyzers, stylecheck.Analyzers) {
		if !slices.Contains(theirs, a.Analyzer.Name) {
			all = append(all, a.Analyzer)
		}
	}
	for _, a := range all {
		forgetDependencies(a)
	}
	return all, errors.Join(err, revived)
}

// forgetDependencies lets an analyzer have no facts, which are what has packages analyzed for the sake of those that import them.
func forgetDependencies(a *analysis.Analyzer) {
	a.FactTypes = nil
	for _, required := range a.Requires {
		forgetDependencies(required)
	}
}

// check returns what is wrong with the packages that match the patterns, their tests included.
func check(patterns []string) ([]string, error) {
	all, err := analyzers()
	if err != nil {
		return nil, err
	}
	loaded, err := packages.Load(&packages.Config{Mode: packages.LoadSyntax | packages.NeedModule | packages.NeedForTest, Tests: true}, patterns...)
	if err != nil {
		return nil, err
	}
	for _, pkg := range loaded {
		if len(pkg.Errors) > 0 {
			return nil, pkg.Errors[0]
		}
	}
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	pkgs, found := withTests(loaded), newFindings(root)
	for _, pkg := range pkgs {
		found.excuse(pkg)
	}
	graph, err := checker.Analyze(all, pkgs, nil)
	if err != nil {
		return nil, err
	}
	for _, act := range graph.Roots {
		if act.Err != nil {
			return nil, fmt.Errorf("%s: %w", act, act.Err)
		}
		for _, d := range act.Diagnostics {
			found.add(act.Package.Fset.Position(d.Pos), act.Analyzer.Name, d.Message)
		}
		if result, ok := act.Result.(unused.Result); ok {
			for _, o := range result.Unused {
				found.add(o.DisplayPosition, act.Analyzer.Name, fmt.Sprintf("%s %s is unused", o.Kind, o.Name))
			}
		}
	}
	return found.lines(), nil
}

// withTests leaves out a package that is also there together with its tests, and the programs that run those.
func withTests(pkgs []*packages.Package) []*packages.Package {
	tested := map[string]bool{}
	for _, pkg := range pkgs {
		if pkg.ForTest == pkg.PkgPath {
			tested[pkg.PkgPath] = true
		}
	}
	return slices.DeleteFunc(pkgs, func(pkg *packages.Package) bool {
		return pkg.ForTest == "" && tested[pkg.PkgPath] || strings.HasSuffix(pkg.ID, ".test") || len(pkg.Syntax) == 0
	})
}

// importTable returns depguard with the rules of a file in depguard's own format.
func importTable(path string) (*analysis.Analyzer, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	rules := &depguard.LinterSettings{}
	if err := yaml.Unmarshal(bytes.ReplaceAll(text, []byte("${root}"), []byte(root)), rules); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return depguard.NewAnalyzer(rules)
}
