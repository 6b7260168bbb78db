package main

import (
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/lab/must"
)

// script has conversations: a line with the person, the time and the session begins one, and answers of the assistant
// begin with "<".
//
//go:embed testdata/messages.txt
var script string

// messages returns the first messages of each person, or of two of them; 0: all.
func messages(limit int, two bool) (all []oxbow.NewMessage) {
	var next oxbow.NewMessage
	said := map[string]int{}
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		if head, begins := strings.CutPrefix(line, "# "); begins {
			var at string
			must.Get(fmt.Sscan(head, &next.UserID, &at, &next.SessionID))
			next.At = must.Get(time.Parse(time.RFC3339, at))
			continue
		}
		if said[next.UserID]++; limit > 0 && said[next.UserID] > limit || two && next.UserID != "mia" && next.UserID != "lin" {
			continue
		}
		next.Role, next.Content = "user", line
		if reply, ok := strings.CutPrefix(line, "< "); ok {
			next.Role, next.Content = "assistant", reply
		}
		all = append(all, next)
		next.At = next.At.Add(time.Minute)
	}
	return all
}
