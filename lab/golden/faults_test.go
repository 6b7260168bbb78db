package main

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
)

// TestFaults plants each fault in a fresh database, records the sections that should notice it, and fails where none does.
// OXBOW_GOLDEN_PROGRAM names the program; without it, one is built.
func TestFaults(t *testing.T) {
	s, err := newSuite(t.Context(), os.Getenv("OXBOW_GOLDEN_PROGRAM"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	faults, err := parseFaults(faultsSQL)
	if err != nil {
		t.Fatal(err)
	}
	if len(faults) < 30 {
		t.Errorf("%d faults are planted, and 30 are the least", len(faults))
	}
	sections := map[string]section{}
	sound := map[string]func() (string, error){} // what each section records without a fault
	for _, sec := range append(scriptSections(), evaluationSections("")...) {
		sections[sec.name] = sec
		sound[sec.name] = sync.OnceValues(func() (string, error) { return s.record(t.Context(), sec, fault{}) })
	}
	slots := make(chan struct{}, parallel)
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			slots <- struct{}{}
			defer func() { <-slots }()
			for _, name := range f.sections {
				before, err := sound[name]()
				if err != nil {
					t.Fatalf("section %s without a fault: %v", name, err)
				}
				after, err := s.record(t.Context(), sections[name], f)
				if err != nil && strings.Contains(err.Error(), "prepare the database") {
					t.Fatal(err) // the fault cannot be planted
				} else if err != nil {
					t.Logf("noticed by %s, which cannot be recorded: %v", name, err)
				} else if before == after {
					t.Errorf("section %s does not notice it", name)
				} else {
					t.Logf("noticed by %s:\n%.600s", name, difference(name, before, after))
				}
			}
		})
	}
}

// TestFaultWithoutPlace checks that a fault whose pattern matches nothing fails, so that none passes by being no fault any more.
func TestFaultWithoutPlace(t *testing.T) {
	s, err := newSuite(t.Context(), os.Getenv("OXBOW_GOLDEN_PROGRAM"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	none := fault{name: "none", sql: "select golden.patch('recall', 'no such text', '');"}
	_, err = s.record(t.Context(), section{"nothing", func(context.Context, *place) (string, error) { return "", nil }}, none)
	if err == nil || !strings.Contains(err.Error(), `no function oxbow.(recall) matches no such text`) {
		t.Errorf("a fault without a place was planted: %v", err)
	}
}
