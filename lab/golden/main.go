// Golden records what users of Oxbow see and compares it with what was recorded before.
//
//	go run ./golden [-oxbow PATH] [-only PATTERN] [-eval DIR] [-update]
//	go run ./golden -faults [-oxbow PATH] [-only PATTERN]
//
// README.md lists what is recorded and how to accept a difference.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
	"time"

	"github.com/pmezard/go-difflib/difflib"
	"golang.org/x/sync/errgroup"

	"github.com/oxbow-memory/oxbow/lab/must"
)

// parallel is how many sections are recorded, or faults planted, at once.
const parallel = 2

func main() {
	var o options
	flag.StringVar(&o.binary, "oxbow", "", "the `program` to look at (default: built from the root module)")
	flag.StringVar(&o.only, "only", "", "only sections whose name matches this `pattern`")
	flag.StringVar(&o.evalDir, "eval", "", "also rank the development files in this `directory`")
	flag.StringVar(&o.out, "out", "", "`directory` of the recordings to compare with or update (default: testdata)")
	flag.BoolVar(&o.update, "update", false, "accept what differs")
	faults := flag.Bool("faults", false, "plant the faults whose names match -only, and check that each is noticed")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var ok bool
	err := must.Try(func() { ok = must.Get(run(ctx, o, *faults)) })
	stop()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "golden:", err)
		os.Exit(2)
	case !ok:
		os.Exit(1)
	}
}

type options struct {
	binary, only, evalDir, out string
	update                     bool
}

func run(ctx context.Context, o options, faults bool) (bool, error) {
	only, err := regexp.Compile(o.only)
	if err != nil {
		return false, fmt.Errorf("-only: %w", err)
	}
	s := newSuite(ctx, o.binary)
	defer s.close()
	if faults {
		return s.plantAll(ctx, only)
	}
	return s.compareAll(ctx, o, only)
}

// compareAll records the sections whose names match, prints how each differs from its recording, and reports whether
// all are equal or accepted.
func (s *suite) compareAll(ctx context.Context, o options, only *regexp.Regexp) (bool, error) {
	if o.out == "" {
		o.out = filepath.Join(suiteDir(), "testdata")
	}
	chosen := []section{}
	for _, sec := range append(scriptSections(), evaluationSections(o.evalDir)...) {
		if only.MatchString(sec.name) {
			chosen = append(chosen, sec)
		}
	}
	records, err := s.recordAll(ctx, chosen)
	if err != nil {
		return false, err
	}
	same := true
	for i, sec := range chosen {
		changed, err := compare(filepath.Join(o.out, sec.name+".txt"), records[i].text, o.update)
		if err != nil {
			return false, err
		}
		word := "same"
		if changed {
			word = "DIFFERS"
			if o.update {
				word = "updated"
			}
			same = same && o.update
		}
		fmt.Printf("%-16s %-8s %5.1f s\n", sec.name, word, records[i].took.Seconds())
	}
	return same, nil
}

// compare prints the difference between a file and a new recording, and with update replaces the file.
func compare(file, text string, update bool) (bool, error) {
	before, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if string(before) == text {
		return false, nil
	}
	if update {
		return true, os.WriteFile(file, []byte(text), 0o644)
	}
	fmt.Print(difference(filepath.Base(file), string(before), text))
	return true, nil
}

func difference(name, before, after string) string {
	text, _ := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: difflib.SplitLines(before), B: difflib.SplitLines(after),
		FromFile: name + " (recorded)", ToFile: name + " (now)", Context: 3,
	})
	return text
}

// A section is recorded in its own database, into one file.
type section struct {
	name   string
	record func(*place) string
}

type recording struct {
	text string
	took time.Duration
}

// recordAll records sections.
func (s *suite) recordAll(ctx context.Context, sections []section) ([]recording, error) {
	records := make([]recording, len(sections))
	err := inParallel(len(sections), func(i int) error {
		begun := time.Now()
		text, err := s.record(ctx, sections[i], fault{})
		if err != nil {
			return fmt.Errorf("section %s: %w", sections[i].name, err)
		}
		records[i] = recording{text, time.Since(begun)}
		return nil
	})
	return records, err
}

// inParallel calls do with 0 to n-1, some at a time.
func inParallel(n int, do func(int) error) error {
	var group errgroup.Group
	group.SetLimit(parallel)
	for i := range n {
		group.Go(func() error { return do(i) })
	}
	return group.Wait()
}

// suiteDir returns the directory of this package: programs start in lab, tests in the package.
func suiteDir() string {
	if _, err := os.Stat("golden/scripts"); err == nil {
		return "golden"
	}
	return "."
}

func rootDir() string { return filepath.Join(suiteDir(), "..", "..") }
