// Bench measures the promises in docs/benchmarks.md, on a private PostgreSQL that it removes afterwards.
//
//	go -C lab run ./bench recall                                # print the tables
//	go -C lab run ./bench -page ../docs/benchmarks.md recall    # and write the figures into the page
//
// A benchmark is one function: it sets up a database, compares variants in turns, and promises something about the
// median of the rounds' ratios, so that a busy machine slows both sides. Texts are made up from a fixed seed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// benchmarks are the programs, in the order of the page.
var benchmarks = []struct {
	name, about string
	run         func(*bench)
}{
	{"recall", "recall against the bare vector query, and as a login", recall},
	{"filters", "recall with filters, in the past, with a long history, and by common words", filters},
	{"load", "recall by 1, 4 and 16 clients at once", recallLoad},
	{"hnsw", "recall of a large user by the index against the exact scan", hnsw},
	{"insert", "rows with triggers against a table without, and against a bare table", insert},
	{"latency", "from COMMIT to recallable", latency},
	{"fair", "from COMMIT to recallable while 200,000 memories of others wait", fair},
	{"pipeline", "memories embedded a second: single rows, jobs of 128, and a bare loop", pipeline},
	{"import", "an import until every memory is recallable", importing},
	{"import-v1", "an import of version 1 against COPY", importV1},
	{"queue", "jobs a second against a bare River client", queue},
	{"settle", "settling traits that are due against refreshing a view", settle},
	{"levels", "what it costs to keep less of memories, and recall with most archived", levels},
	{"reflect", "memories reflected on a second, and as a history grows", reflection},
	{"extract", "messages extracted a second", extraction},
	{"reconcile", "facts of applications compared with the current ones, a second", reconciling},
	{"merge", "what a new memory may be merged with, as a history grows", merging},
	{"serve", "the HTTP API against SQL and the Go client", serving},
	{"hostile", "good users of the HTTP API, alone and beside a hostile one, for -size minutes (5) each", besideHostile},
	{"mcp", "the memory of a server with many sessions of MCP", sessions},
	{"growth", "pages touched as the database grows to 1,000,000 memories", growth},
	{"person", "pages that jobs and reads touch, as a person's history grows to 40,000 memories", person},
	{"soak", "a mixed load for -size minutes (30), a row of figures every 30 seconds", soaking},
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
	b := &bench{ctx: ctx, out: os.Stdout}
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
			b.name, b.command = m.name, "go -C lab run ./bench "
			flag.Visit(func(f *flag.Flag) {
				if f.Name != "page" {
					b.command += "-" + f.Name + " " + f.Value.String() + " "
				}
			})
			b.command += m.name
			return b.measure(m.run)
		}
	}
	flag.Usage()
	return errors.New("name one benchmark")
}
