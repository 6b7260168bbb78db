// Quality measures recall on evaluation files with several embedding models, beside BM25.
//
//	go -C lab run ./quality [-models local,e5,minilm] [-page PAGE] FILE…
//	go -C lab run ./quality -ablate [-models local] FILE…                  # without each part of recall in turn
//
// Each model has a database of its own on the tests' PostgreSQL. The first use of e5 or minilm installs it.
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/oxbow-memory/oxbow/lab/must"
)

func main() { must.Main("quality", command) }

func command(ctx context.Context) {
	names := flag.String("models", "local,e5,minilm", "embedding models to measure with")
	page := flag.String("page", "", "page of Markdown to write (default: print it)")
	ablate := flag.Bool("ablate", false, "measure without each part of recall in turn")
	flag.Parse()
	if flag.NArg() == 0 {
		must.OK(errors.New("name the files: FILE…"))
	}
	rig := newRig(ctx)
	if *ablate {
		for _, name := range strings.Split(*names, ",") {
			rig.ablate(os.Stdout, name, flag.Args())
		}
		return
	}
	var rankings []ranking
	for _, file := range flag.Args() {
		rankings = append(rankings, baseline(file))
	}
	for _, name := range strings.Split(*names, ",") {
		rankings = append(rankings, rig.measure(name, flag.Args())...)
	}
	var out io.Writer = os.Stdout
	if *page != "" {
		file := must.Get(os.Create(*page))
		defer func() { must.OK(file.Close()) }()
		out = file
	}
	rig.write(out, *names, flag.Args(), rankings)
}

// setName returns the name of a file without its extensions.
func setName(file string) string {
	name, _, _ := strings.Cut(filepath.Base(file), ".")
	return name
}
