// Evalsecrets measures how many texts of evaluation files the detector of secrets marks.
//
//	go -C lab run ./evalsecrets [-v] FILE…
//
// The files are in the format of oxbow eval. It counts the contents of the memories and the questions. With -v, it
// prints the marked texts. The exit status is 1 if more than one text in a thousand of a file is marked.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/oxbow-memory/oxbow/internal/jsonl"
	"github.com/oxbow-memory/oxbow/internal/secrets"
	"github.com/oxbow-memory/oxbow/lab/must"
)

// most is the share of texts that may be marked.
const most = 0.001

func main() {
	var marked bool
	err := must.Try(func() { marked = command(os.Stdout) })
	if err == nil && marked {
		err = errors.New("too many texts are marked")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "evalsecrets:", err)
		os.Exit(1)
	}
}

func command(out io.Writer) (tooMany bool) {
	verbose := flag.Bool("v", false, "print the marked texts, with their kinds in place of the secrets")
	flag.Parse()
	for _, name := range flag.Args() {
		all := texts(must.Get(os.Open(name)))
		bytes, found := 0, 0
		begun := time.Now()
		for _, text := range all {
			bytes += len(text)
			if !secrets.Any(text) {
				continue
			}
			if found++; *verbose {
				fmt.Fprintln(out, secrets.Mask(text))
			}
		}
		took := time.Since(begun)
		fmt.Fprintf(out, "%s: %d of %d texts are marked (%.4f %%), %.0f MB/s\n", name, found, len(all),
			100*float64(found)/float64(len(all)), float64(bytes)/1e6/took.Seconds())
		tooMany = tooMany || float64(found) > most*float64(len(all))
	}
	return tooMany
}

// texts returns the contents of the memories and the questions of a file.
func texts(file *os.File) (all []string) {
	defer func() { must.OK(file.Close()) }()
	lines := must.Get(jsonl.NewReader(file))
	for lines.Next() {
		if len(lines.Line) == 0 {
			continue
		}
		var line struct{ Content, Question string }
		must.OK(json.Unmarshal(lines.Line, &line))
		for _, text := range []string{line.Content, line.Question} {
			if text != "" {
				all = append(all, text)
			}
		}
	}
	must.OK(lines.Err)
	return all
}
