// Command evalheard measures what the rules hear in messages to an assistant: standing instructions, reminders, and what
// people think of answers. -instructions, -ordinary and -reminders name files of phrasings in the form of testdata; the
// arguments are memories of evaluation sets, in which nothing is to be heard:
//
//	go -C lab run ./evalheard -instructions FILE -ordinary FILE -reminders FILE [-verbose]
//	go -C lab run ./evalheard [-longest 120] [-replies] RECORDS
package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reasoner/extract"
	"github.com/oxbow-memory/oxbow/internal/reasoner/judge"
	"github.com/oxbow-memory/oxbow/internal/secrets"
	"github.com/oxbow-memory/oxbow/lab/must"
)

func main() {
	verbose := flag.Bool("verbose", false, "print what was heard wrongly")
	instructions := flag.String("instructions", "", "phrasings of instructions")
	ordinary := flag.String("ordinary", "", "messages that look like instructions or reminders")
	reminders := flag.String("reminders", "", "phrasings of reminders and plans")
	replies := flag.Bool("replies", false, "take each memory for the reply to the one before it, and judge that")
	longest := flag.Int("longest", 0, "leave out memories of more characters: conversations; 0: none")
	flag.Parse()
	for _, f := range []struct {
		path  string
		judge func(*phrase) (what, wrong string)
	}{{*instructions, instruction}, {*ordinary, nothing}, {*reminders, reminder}} {
		if f.path == "" {
			continue
		}
		t := score(read[phrase](f.path), f.judge)
		fmt.Print(t)
		if *verbose {
			fmt.Println(strings.Join(t.wrong, "\n"))
		}
	}
	for _, path := range flag.Args() {
		measure(path, *verbose, *replies, *longest)
	}
}

// read returns the lines of a file of JSON Lines, which may be compressed.
func read[T any](path string) (lines []T) {
	file := must.Get(os.Open(path))
	defer func() { _ = file.Close() }()
	var in io.Reader = file
	if strings.HasSuffix(path, ".gz") {
		in = must.Get(gzip.NewReader(file))
	}
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, 1<<24)
	for scanner.Scan() {
		var line T
		must.OK(json.Unmarshal(scanner.Bytes(), &line))
		lines = append(lines, line)
	}
	must.OK(scanner.Err())
	return lines
}

// measure prints of how many memories the rules hear something.
func measure(path string, verbose, replies bool, longest int) {
	all, last := 0, ""
	false := map[string]int{}
	for _, memory := range read[struct{ Content string }](path) {
		text, before := memory.Content, last
		if last = text; text == "" || longest > 0 && utf8.RuneCountInString(text) > longest {
			continue
		}
		all++
		var kinds []string
		if replies {
			kinds = signals(text, before)
		} else {
			kinds = instructed(heard(text, time.Now()))
		}
		if len(kinds) == 0 {
			continue
		}
		if false[kinds[0]]++; verbose {
			fmt.Printf("%s: %s\n", kinds[0], text)
		}
	}
	fmt.Printf("%s: %d memories, heard %v\n", filepath.Base(path), all, false)
}

// signals returns the kinds of what the rules hear in a reply to an answer.
func signals(text, answer string) (kinds []string) {
	if answer == "" {
		return nil
	}
	for _, s := range must.Get(judge.Rules{}.Signals(context.Background(), reasoner.Turns{Turns: []reasoner.Turn{
		{UserInput: text, AgentResponse: answer, ContextWindow: []string{""}}}})) {
		kinds = append(kinds, s.Kind)
	}
	return kinds
}

// heard returns what the job that extracts memories hears in a message of a user, said at a time in the user's zone.
func heard(text string, said time.Time) (x reasoner.Extraction) {
	if secrets.Any(text) {
		return x
	}
	return must.Get(extract.New().Extract(context.Background(), reasoner.Conversation{Now: said,
		Messages: []reasoner.Message{{ID: uuid.New(), Role: "user", Content: text, New: true, Time: said}}}))
}
