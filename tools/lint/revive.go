package main

import (
	"os"

	"github.com/mgechev/revive/config"
	"github.com/mgechev/revive/lint"
	"golang.org/x/tools/go/analysis"
)

// reviveRules returns an analyzer that runs revive, with the rules of a file in revive's own format, on each package.
func reviveRules(path string) (*analysis.Analyzer, error) {
	settings, err := config.GetConfig(path)
	if err != nil {
		return nil, err
	}
	rules, err := config.GetLintingRules(settings, nil)
	if err != nil {
		return nil, err
	}
	linter := lint.New(os.ReadFile, 0)

	run := func(pass *analysis.Pass) (any, error) {
		var names []string
		for _, file := range pass.Files {
			names = append(names, pass.Fset.Position(file.Package).Filename)
		}
		failures, err := linter.Lint([][]string{names}, rules, *settings)
		if err != nil {
			return nil, err
		}
		for failure := range failures {
			if failure.Confidence < settings.Confidence {
				continue
			}
			at := failure.Position.Start
			for _, file := range pass.Files {
				if in := pass.Fset.File(file.Package); in.Name() == at.Filename {
					pass.Reportf(in.LineStart(at.Line), "%s (%s)", failure.Failure, failure.RuleName)
				}
			}
		}
		return nil, nil
	}
	return &analysis.Analyzer{Name: "revive", Doc: "comments and names", Run: run}, nil
}
