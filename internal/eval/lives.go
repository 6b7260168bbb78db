package eval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow/internal/jsonl"
)

// Life is a small life of one user: what happens to memories, and what must hold then. In a file each life is a line:
//
//	{"life":NAME,"promise":TEXT,"forgetting":U,"steps":[STEP,…],"checks":[CHECK,…]}
type Life struct {
	Name       string  `json:"life"` // such as en-use-01; what precedes the number is its kind
	Language   string  `json:"language"`
	Promise    string  `json:"promise"`
	Forgetting float64 `json:"forgetting"` // the user's forgetting factor; 0: 1
	Steps      []Step  `json:"steps"`      // the oldest first
	Checks     []Check `json:"checks"`
}

// Kind is the name of the life without its number.
func (l *Life) Kind() string { return strings.TrimRight(l.Name, "-0123456789") }

// Step is one thing that happens. One of Insert, Say, Use, Return, Correct, Forget and Restore is set.
type Step struct {
	Ago Ago    `json:"ago"` // how long before the evaluation
	As  string `json:"as"`  // the name of the memory that Insert, Say or Correct makes

	Insert      string   `json:"insert"` // the application stores this memory
	Type        string   `json:"type"`   // fact (default), episodic
	Category    string   `json:"category"`
	Importance  *float64 `json:"importance"`
	Tier        string   `json:"tier"`
	Sensitivity int      `json:"sensitivity"`

	Say  string `json:"say"`  // the user says this in a conversation of its own
	Fact string `json:"fact"` // a word of the memory that is extracted from it

	Use    []string `json:"use"`    // a reply uses these memories
	Return []string `json:"return"` // recall returns them, and no reply uses them

	Correct string `json:"correct"` // the user corrects the memory Of
	Of      string `json:"of"`

	Forget  []string `json:"forget"`
	Restore []string `json:"restore"`
}

// Check is a condition. Memories have the names that the steps gave them.
type Check struct {
	Query   string   `json:"query"`
	Mode    string   `json:"mode"`    // of recall, which has none yet: such a check does not hold
	AsOf    *Ago     `json:"as_of"`   // what was true that long ago
	Order   []string `json:"order"`   // these are among the first ten results, in this order
	First   string   `json:"first"`   // this is the first result
	Absent  []string `json:"absent"`  // these are not among the results
	Variety int      `json:"variety"` // at most so many of Of are among the first five
	Of      []string `json:"of"`

	Heavier  []string          `json:"heavier"` // their weights fall in this order
	Current  []string          `json:"current"` // these hold now
	Ended    []string          `json:"ended"`   // these do not
	Mentions map[string]int    `json:"mentions"`
	Tier     map[string]string `json:"tier"`
}

// Ago is a duration such as 90m, 3h or 12d.
type Ago time.Duration

// UnmarshalJSON reads a whole number of seconds, minutes, hours or days: "0s", "90m", "3h", "12d".
func (a *Ago) UnmarshalJSON(raw []byte) error {
	var s string
	units := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}
	if json.Unmarshal(raw, &s) == nil && len(s) > 1 {
		n, err := strconv.Atoi(s[:len(s)-1])
		if unit := units[s[len(s)-1]]; err == nil && n >= 0 && unit > 0 {
			*a = Ago(time.Duration(n) * unit)
			return nil
		}
	}
	return fmt.Errorf("must be a time such as 90m, 3h or 12d, got %s", raw)
}

// IsLives reports whether a file holds lives and not memories and questions.
func IsLives(file []byte) bool {
	lines, err := jsonl.NewReader(bytes.NewReader(file))
	if err != nil || !lines.Next() {
		return false
	}
	var l struct{ Life *string }
	return json.Unmarshal(lines.Line, &l) == nil && l.Life != nil
}

// ReadLives reads a file of lives. An error names the line and what is wrong.
func ReadLives(r io.Reader) ([]Life, error) {
	lines, err := jsonl.NewReader(r)
	if err != nil {
		return nil, err
	}
	var all []Life
	for lines.Next() {
		if len(lines.Line) == 0 {
			continue
		}
		var l Life
		decoder := json.NewDecoder(bytes.NewReader(lines.Line))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&l); err != nil {
			return nil, fmt.Errorf("line %d: %w", lines.Number, err)
		}
		if err := l.validate(); err != nil {
			return nil, fmt.Errorf("line %d: %w", lines.Number, err)
		}
		all = append(all, l)
	}
	return all, lines.Err
}

// validate checks that each step does one thing, and that names are those of earlier steps.
func (l *Life) validate() error {
	names := map[string]bool{}
	known := func(where string, list ...string) error {
		for _, name := range list {
			if !names[name] {
				return fmt.Errorf("%s: no earlier step has the name %q", where, name)
			}
		}
		return nil
	}
	for i, s := range l.Steps {
		where := fmt.Sprintf("step %d", i+1)
		did := 0
		for _, done := range []bool{s.Insert != "", s.Say != "", s.Use != nil, s.Return != nil, s.Correct != "",
			s.Forget != nil, s.Restore != nil} {
			if done {
				did++
			}
		}
		if did != 1 {
			return fmt.Errorf("%s must have one of insert, say, use, return, correct, forget, restore, and has %d",
				where, did)
		}
		used := slices.Concat(s.Use, s.Return, s.Forget, s.Restore)
		if s.Correct != "" {
			used = append(used, s.Of)
		}
		if err := known(where, used...); err != nil {
			return err
		}
		if s.As != "" {
			names[s.As] = true
		}
	}
	for i, c := range l.Checks {
		lists := [][]string{c.Order, c.Absent, c.Of, c.Heavier, c.Current, c.Ended}
		if c.First != "" {
			lists = append(lists, []string{c.First})
		}
		for name := range c.Mentions {
			lists = append(lists, []string{name})
		}
		for name := range c.Tier {
			lists = append(lists, []string{name})
		}
		for _, list := range lists {
			if err := known(fmt.Sprintf("check %d", i+1), list...); err != nil {
				return err
			}
		}
	}
	if l.Name == "" || len(l.Checks) == 0 {
		return fmt.Errorf("a life must have a name and checks")
	}
	return nil
}
