package main

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed faults.sql
var faultsSQL string

// A fault is a deliberate mistake: SQL that is applied to the migrated database, or a shell script that stands in for the program and
// runs the real one as "$OXBOW". The zero value is none.
type fault struct {
	name     string
	sections []string // of which one has to notice it
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
