// Versus measures Oxbow beside other memories, on the same machine, with the same questions and the same vectors.
//
//	go -C lab run ./versus FILE…                                           # files in the format of oxbow eval
//	go -C lab run ./versus -results FILE -page ../docs/versus.md FILE…     # and write the page
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
	"regexp"
	"slices"

	"github.com/oxbow-memory/oxbow/lab/models"
	"github.com/oxbow-memory/oxbow/lab/must"
	"github.com/oxbow-memory/oxbow/lab/program"
)

func main() {
	must.Main("versus", func(ctx context.Context) { command(ctx, os.Stdout) })
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
	users  users
}

func command(ctx context.Context, out io.Writer) {
	r := &run{ctx: ctx, out: out, root: must.Get(program.Root(ctx))}
	flag.IntVar(&r.rounds, "rounds", 3, "rounds, each with all rivals in turn (0: only report the results)")
	flag.Var(&r.users, "users", "only so many users of files, those with the fewest memories, such as locomo=2,memdaily=1 "+
		"(default: all)")
	names := flag.String("rivals", ".", "regular expression that selects rivals")
	kept := flag.String("results", "", "file that keeps figures between runs; medians are over all of them")
	page := flag.String("page", "", "page of Markdown to write")
	flag.Parse()
	all := readResults(*kept)
	if r.rounds > 0 {
		r.prepare(regexp.MustCompile(*names), flag.Args())
		defer func() { must.OK(r.models.Close()) }()
	}
	for round := range r.rounds {
		for _, s := range r.sets {
			for _, v := range r.rivals {
				one := result{Set: s.name, Users: s.users, Of: s.of, Memories: len(s.memories), Questions: len(s.questions),
					Rival: v.name, Figures: r.measure(v, s)}
				fmt.Fprintf(out, "round %d  %-12s %-10s %s\n", round+1, s.name, v.name, one.Figures)
				all = append(all, one)
				all.write(*kept)
			}
		}
	}
	rep := all.report()
	fmt.Fprint(out, rep.text())
	if *page != "" {
		must.OK(os.WriteFile(*page, []byte(rep.page(r.root)), 0o644))
	}
}

// prepare reads the files, installs the rivals, starts the model and fills its cache.
func (r *run) prepare(selected *regexp.Regexp, files []string) {
	if len(files) == 0 {
		must.OK(errors.New("expected files in the format of oxbow eval"))
	}
	for _, name := range files {
		r.sets = append(r.sets, readSet(name, r.users[setName(name)]))
	}
	for i := range rivals {
		if selected.MatchString(rivals[i].name) {
			rivals[i].install(r.ctx, r.root)
			r.rivals = append(r.rivals, &rivals[i])
		}
	}
	r.oxbow = must.Get(program.Build(r.ctx))
	r.models = must.Get(models.Start(r.ctx, "e5", "127.0.0.1:0", true))
	r.warm()
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
