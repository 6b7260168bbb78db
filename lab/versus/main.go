// Versus measures Oxbow beside other memories, on the same machine, with the same questions and the same vectors.
//
//	go -C lab run ./versus FILE…      # files in the format of oxbow eval
//
// Each rival is a directory with an adapter, a program that adds memories and answers questions (protocol/protocol.py),
// and the packages that it needs. In each round every rival in turn gets an empty database and an empty directory.
// The figures are the medians of the rounds. No language model judges anything.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"syscall"

	"github.com/oxbow-memory/oxbow/lab/models"
	"github.com/oxbow-memory/oxbow/lab/must"
	"github.com/oxbow-memory/oxbow/lab/program"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := must.Try(func() { command(ctx, os.Stdout) }); err != nil {
		fmt.Fprintln(os.Stderr, "versus:", err)
		os.Exit(1)
	}
}

// run is a run of all rivals on all files.
type run struct {
	ctx    context.Context
	out    io.Writer
	root   string // of the source
	oxbow  string // the program
	models *models.Server
	sets   []*set
	rivals []*rival
	rounds int
	users  int
}

func command(ctx context.Context, out io.Writer) {
	r := &run{ctx: ctx, out: out}
	flag.IntVar(&r.rounds, "rounds", 3, "rounds, each with all rivals in turn")
	flag.IntVar(&r.users, "users", 0, "only so many users of each file, those with the fewest memories (0: all)")
	names := flag.String("rivals", ".", "regular expression that selects rivals; oxbow always runs")
	flag.Parse()
	if flag.NArg() == 0 {
		must.OK(errors.New("expected files in the format of oxbow eval"))
	}
	selected := must.Get(regexp.Compile(*names))
	for i := range rivals {
		if rivals[i].name == ours || selected.MatchString(rivals[i].name) {
			r.rivals = append(r.rivals, &rivals[i])
		}
	}
	for _, name := range flag.Args() {
		r.sets = append(r.sets, readSet(name, r.users))
	}
	r.root = must.Get(program.Root(ctx))
	r.oxbow = must.Get(program.Build(ctx))
	for _, v := range r.rivals {
		v.install(ctx, r.root)
	}
	r.models = must.Get(models.Start(ctx, "e5", "127.0.0.1:0", true))
	defer func() { must.OK(r.models.Close()) }()
	r.warm()

	results := map[cell][]figures{}
	for round := range r.rounds {
		for _, s := range r.sets {
			for _, v := range r.rivals {
				f := r.measure(v, s)
				fmt.Fprintf(out, "round %d  %-12s %-14s %s\n", round+1, s.name, v.name, f)
				results[cell{s.name, v.name}] = append(results[cell{s.name, v.name}], f)
			}
		}
	}
	report := r.report(results)
	fmt.Fprint(out, report.text())
}

// warm puts all vectors into the cache, so that no rival waits for the model.
func (r *run) warm() {
	for _, s := range r.sets {
		var texts []string
		for _, m := range s.memories {
			texts = append(texts, r.models.PassagePrefix+m.Text)
		}
		for _, q := range s.questions {
			texts = append(texts, r.models.QueryPrefix+q.Question)
		}
		for some := range slices.Chunk(texts, 64) {
			embedAll(r.ctx, r.models, some)
		}
		fmt.Fprintf(r.out, "%s: %d memories and %d questions of %d users; vectors: %s\n", s.name, len(s.memories),
			len(s.questions), s.users, r.models.Rate())
	}
}
