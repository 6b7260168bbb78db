// Bench measures what docs/benchmarks.md promises, on a private PostgreSQL that it removes afterwards.
//
//	go -C lab run ./bench recall                                  # print the tables
//	go -C lab run ./bench -page ../docs/benchmarks.md recall      # and write the figures into the page
//
// A benchmark is one file and one function. It compares things in turns within one run and reports the median of the
// rounds' ratios, so that a busy machine slows both sides. Texts are made up from a fixed seed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// benchmarks are the programs, in the order of the page.
var benchmarks = []struct {
	name, about string
	run         func(context.Context, *bench) error
}{
	{"recall", "oxbow.recall against the bare vector query, and as a login", recall},
	{"filters", "recall with filters, in the past, with a long history and by common words", filters},
	{"load", "recall by 1, 4 and 16 clients at once", recallLoad},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func command(ctx context.Context) error {
	b := &bench{out: os.Stdout}
	flag.IntVar(&b.rounds, "rounds", 5, "rounds of each comparison")
	flag.IntVar(&b.size, "size", 0, "rows, memories or users to measure with (0: the benchmark's own number)")
	flag.StringVar(&b.match, "match", "", "filters: only the comparisons whose name contains this")
	flag.StringVar(&b.page, "page", "", "page of Markdown whose figures are replaced by the measured ones")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: go -C lab run ./bench [flags] NAME")
		for _, m := range benchmarks {
			fmt.Fprintf(flag.CommandLine.Output(), "  %-9s %s\n", m.name, m.about)
		}
		flag.PrintDefaults()
	}
	flag.Parse()
	for _, m := range benchmarks {
		if flag.NArg() == 1 && flag.Arg(0) == m.name {
			b.command = strings.Join(append([]string{"go -C lab run ./bench"}, m.name), " ")
			return b.measure(ctx, m.run)
		}
	}
	flag.Usage()
	return errors.New("name one benchmark")
}
