package llmtest

import (
	"encoding/json"
	"regexp"
	"strings"
)

// Item is a memory, a trait, a clue, a message or a conflict as a prompt shows it. Fields of other
// kinds are empty.
type Item struct {
	Ref     string `json:"ref"`
	Time    string `json:"time"`
	Session string `json:"session"`
	Type    string `json:"type"`
	Context string `json:"context"`
	Speaker string `json:"speaker"`
	Quality string `json:"quality"`
	Level   string `json:"level"`
	Stage   string `json:"stage"`
	PartOf  string `json:"part_of"`
	Edited  bool   `json:"worded_by_user"`
	Seen    []struct {
		Time    string `json:"time"`
		Session string `json:"session"`
	} `json:"seen"`
	New       bool   `json:"new"`
	Role      string `json:"role"`
	Category  string `json:"category"`
	Negates   bool   `json:"negates"`
	Similar   []Item `json:"similar"`
	Review    string `json:"review"`
	Topic     string `json:"topic"`
	Denies    bool   `json:"denies"`
	Verified  bool   `json:"verified"`
	MaySearch bool   `json:"may_search"`
	Related   []Item `json:"related"`
	Text      string `json:"text"`
	Memories  []Item `json:"memories"`   // of a group
	UserInput string `json:"user_input"` // of a turn
}

// Data returns the items that the prompt shows under a name: memories, traits or clues; in a review
// trait, supporting or contradicting; in an extraction messages or recalled; in a resolution
// conflicts.
func (r Request) Data(name string) []Item {
	begin := regexp.MustCompile(`(?m)^<<<(\S*) ` + name + `\n`)
	for _, m := range r.Messages {
		at := begin.FindStringSubmatchIndex(m.Content)
		if m.Role != "user" || at == nil {
			continue
		}
		array, _, ok := strings.Cut(m.Content[at[1]:], "\n"+m.Content[at[2]:at[3]]+">>>")
		var items []Item
		if ok && json.Unmarshal([]byte(array), &items) == nil {
			return items
		}
	}
	return nil
}

// Memories returns the references of the shown memories whose text contains any of the words, or of
// all without words.
func (r Request) Memories(containing ...string) []string { return refs(r.Data("memories"), containing) }

// Traits does the same for traits.
func (r Request) Traits(containing ...string) []string { return refs(r.Data("traits"), containing) }

// Said returns the references of the user's new messages whose text contains any of the words, or
// of all without words.
func (r Request) Said(containing ...string) []string {
	var said []Item
	for _, m := range r.Data("messages") {
		if m.New && m.Role == "user" {
			said = append(said, m)
		}
	}
	return refs(said, containing)
}

func refs(items []Item, containing []string) []string {
	var found []string
	for _, item := range items {
		fits := len(containing) == 0
		for _, word := range containing {
			fits = fits || strings.Contains(item.Text, word)
		}
		if fits {
			found = append(found, item.Ref)
		}
	}
	return found
}
