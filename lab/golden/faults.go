package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

//go:embed faults.sql
var faultsSQL string

// A fault is a deliberate mistake: SQL to apply to the migrated database, or a shell script that stands in for the
// program and runs the real one as "$OXBOW". The zero value plants nothing.
type fault struct {
	name     string
	sections []string // all must notice it
	sql      string
	program  string
}

func parseFaults(text string) ([]fault, error) {
	var faults []fault
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(line, "-- fault: "); ok {
			faults = append(faults, fault{name: strings.TrimSpace(name)})
			continue
		}
		if len(faults) == 0 {
			continue
		}
		f := &faults[len(faults)-1]
		if names, ok := strings.CutPrefix(line, "-- noticed by: "); ok {
			f.sections = strings.Fields(names)
		} else if program, ok := strings.CutPrefix(line, "-- program: "); ok {
			f.program = program
		} else if !strings.HasPrefix(line, "--") {
			f.sql += line
		}
	}
	for i := range faults {
		f := &faults[i]
		f.sql = strings.TrimSpace(f.sql)
		if len(f.sections) == 0 || (f.sql == "") == (f.program == "") {
			return nil, fmt.Errorf("fault %q needs sections and either SQL or a program", f.name)
		}
	}
	return faults, nil
}

// plantAll plants each fault whose name matches in a fresh database and records the sections that must notice it. It
// prints which section noticed which fault, and reports whether all did.
func (s *suite) plantAll(ctx context.Context, only *regexp.Regexp) (bool, error) {
	faults, err := parseFaults(faultsSQL)
	if err != nil {
		return false, err
	}
	faults = slices.DeleteFunc(faults, func(f fault) bool { return !only.MatchString(f.name) })
	sections := map[string]section{}
	sound := map[string]func() (string, error){} // what each section records without a fault
	for _, sec := range append(scriptSections(), evaluationSections("")...) {
		sections[sec.name] = sec
		sound[sec.name] = sync.OnceValues(func() (string, error) { return s.record(ctx, sec, fault{}) })
	}
	missed := make([]bool, len(faults))
	err = inParallel(len(faults), func(i int) error {
		f := faults[i]
		for _, name := range f.sections {
			if sections[name].record == nil {
				return fmt.Errorf("fault %q: unknown section %q", f.name, name)
			}
			before, err := sound[name]()
			if err != nil {
				return fmt.Errorf("section %s without a fault: %w", name, err)
			}
			after, err := s.record(ctx, sections[name], f)
			word := "noticed by"
			switch {
			case errors.Is(err, errNotPlanted):
				return fmt.Errorf("fault %q: %w", f.name, err)
			case err != nil:
				word = "stops"
			case before == after:
				word, missed[i] = "NOT NOTICED by", true
			}
			fmt.Printf("%s: %s %s\n", f.name, word, name)
		}
		return nil
	})
	fmt.Printf("%d faults\n", len(faults))
	return !slices.Contains(missed, true), err
}
