// Command evalheard measures what the rules hear in messages: standing instructions, reminders, and what people think of
// answers. Each file has JSON Lines with a text and what is expected of it, or memories of an evaluation set, of which
// nothing is expected:
//
//	go -C lab run ./evalheard [-show] instructions.jsonl ../shared/data/eval/locomo.jsonl.gz
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
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reasoner/extract"
	"github.com/oxbow-memory/oxbow/internal/reasoner/judge"
	"github.com/oxbow-memory/oxbow/lab/must"
)

// line is a line of a file.
type line struct {
	Text, Content         string
	Expected              string
	Lang                  string
	PreviousUser          string `json:"previous_user"`
	AgentResponse         string `json:"agent_response"`
	Kind, Due, Recurrence string
	Now, Zone, Precision  string
}

func main() {
	show := flag.Bool("show", false, "print what was heard wrongly")
	replies := flag.Bool("replies", false, "take each memory for the reply to the one before it, and judge that")
	longest := flag.Int("longest", 0, "leave out memories of more characters: conversations; 0: none")
	limit := flag.Int("n", 0, "read every n-th line only, so that at most 1,000 remain; 0: all")
	flag.Parse()
	for _, path := range flag.Args() {
		measure(path, *show, *replies, *limit, *longest)
	}
}

// tally counts, for what is expected, the lines and those heard so.
type tally struct{ right, all map[string]int }

func measure(path string, show, replies bool, every, longest int) {
	file := must.Get(os.Open(path))
	defer func() { _ = file.Close() }()
	var in io.Reader = file
	if strings.HasSuffix(path, ".gz") {
		in = must.Get(gzip.NewReader(file))
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<24)
	t := tally{map[string]int{}, map[string]int{}}
	last := ""
	for n := 0; lines.Scan(); n++ {
		var l line
		must.OK(json.Unmarshal(lines.Bytes(), &l))
		ordinary := l.Text == ""
		if ordinary {
			if l.Text = l.Content; replies {
				l.AgentResponse, last = last, l.Text
			}
			if l.Text == "" || every > 0 && n%every != 0 || longest > 0 && utf8.RuneCountInString(l.Text) > longest {
				continue
			}
			l.Expected = "none"
		}
		got := heard(l)
		want := l.Expected
		if want == "" {
			want = l.Kind
		}
		t.all[want]++
		if got == want || want == "none" && got == "" {
			t.right[want]++
		} else if show {
			fmt.Printf("%s: %s, not %s: %s\n", filepath.Base(path), or(got, "none"), want, l.Text)
		}
	}
	must.OK(lines.Err())
	for want, all := range t.all {
		fmt.Printf("%s: %s: %d of %d\n", filepath.Base(path), want, t.right[want], all)
	}
}

func or(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

// timeOf returns when a line was said.
func timeOf(l line) time.Time {
	if l.Now == "" {
		return time.Now()
	}
	return must.Get(time.Parse(time.RFC3339, l.Now)).In(must.Get(time.LoadLocation(l.Zone)))
}

// due returns the kind that is expected if an intention with the right time was heard, and what was heard otherwise.
func due(l line, heard []reasoner.Intention) string {
	for _, n := range heard {
		if n.Closes != "" {
			continue
		}
		at := "null"
		if !n.Due.IsZero() {
			at = n.Due.Format(time.RFC3339)
		}
		if l.Expected == "none" {
			return n.Kind
		}
		want := l.Due
		if want == "" {
			want = "null"
		}
		same := at == want
		if a, err := time.Parse(time.RFC3339, want); err == nil && !n.Due.IsZero() {
			same = a.Equal(n.Due)
		}
		if same && recurs(n.Recurrence) == recurs(l.Recurrence) {
			return l.Kind
		}
		return n.Kind + " " + at + " " + n.Recurrence
	}
	return ""
}

// recurs returns the parts of a rule in their order.
func recurs(rule string) string {
	parts := strings.Split(strings.ReplaceAll(rule, ";INTERVAL=1", ""), ";")
	slices.Sort(parts)
	return strings.Join(parts, ";")
}

// heard returns what the rules hear in a line: a signal if it has an answer before it, otherwise an instruction.
func heard(l line) string {
	ctx := context.Background()
	if l.AgentResponse != "" {
		signals := must.Get(judge.Rules{}.Signals(ctx, reasoner.Turns{Turns: []reasoner.Turn{{UserInput: l.Text,
			AgentResponse: l.AgentResponse, ContextWindow: []string{l.PreviousUser}}}}))
		if len(signals) == 0 {
			return ""
		}
		return signals[0].Kind
	}
	found := must.Get(extract.New().Extract(ctx, reasoner.Conversation{Messages: []reasoner.Message{{ID: uuid.New(),
		Role: "user", Content: l.Text, New: true, Time: timeOf(l)}}}))
	switch {
	case l.Now != "" || l.Kind != "":
		return due(l, found.Intentions)
	case len(found.Instructions) == 0:
		return ""
	case found.Instructions[0].Ends:
		return "end"
	}
	return "instruction"
}
