package main

import (
	"slices"
	"strings"
)

// PrecisionMemBench (arXiv 2605.11325, MIT) is loaded whole: 35 beliefs of a programmer and novelist, and questions that
// say which of them may be found, often none. precisionmembench has the set's single questions, with which its published
// figures were measured. precisionmembench-scoped has the same, each restricted to the question's scope by metadata: the set's
// harness sends the scope to a memory system, but most adapters ignore it. precisionmembench-sessions has the turns of
// its sessions, without what the sessions change.
//
// A memory has the text that the harness gives to a memory system: name, other names, content and reason. It is not told
// what is superseded or resolved. As in the harness, beliefs that are pinned in the question's scope are neither gold
// nor unwanted, because the application adds those itself; without a filter, the beliefs of other scopes are unwanted.
// There are two differences. Questions for which the harness asks no memory system, because they are blank or leave no
// room, are left out. And the harness adds the parts of a found relation itself; here they must be found.
var (
	precision = set{name: "precisionmembench", url: precisionURL, commit: precisionCommit,
		convert: func(r *repository) []line { return precisionSingle(r, false) }}
	precisionScoped = set{name: "precisionmembench-scoped", url: precisionURL, commit: precisionCommit,
		convert: func(r *repository) []line { return precisionSingle(r, true) }}
	precisionSessions = set{name: "precisionmembench-sessions", url: precisionURL, commit: precisionCommit,
		convert: func(r *repository) []line {
			all := read[beliefs](r, "fixtures/beliefs.seed.json")
			lines := all.lines()
			type session struct{ Turns []precisionTurn }
			for _, s := range read[[]session](r, "fixtures/session-retrieval.cases.json") {
				for _, t := range s.Turns {
					lines = append(lines, all.question(precisionCase{Category: t.Label, Scope: t.Scope, Query: t.Message,
						Expect: t.Expect}, false))
				}
			}
			return lines
		}}
)

const (
	precisionURL    = "https://github.com/tenurehq/precisionMemBench"
	precisionCommit = "18c7955357b33098a64d601bc8e4624c41743972"
	precisionUser   = "test-user" // who asks, unless the case says otherwise
)

type (
	beliefs []belief
	belief  struct {
		ID      string `json:"_id"`
		User    string `json:"user_id"`
		Type    string
		Name    string `json:"canonical_name"`
		Aliases []string
		Content string
		Reason  string `json:"why_it_matters"`
		Scope   []string
		Pinned  bool
		// both are null or a string
		SupersededBy any `json:"superseded_by"`
		ResolvedAt   any `json:"resolved_at"`
	}
	precisionCase struct {
		Category string
		User     string `json:"userId"`
		Scope    []string
		Query    string
		Budget   struct {
			Beliefs *int `json:"maxBeliefs"`
		}
		Expect precisionExpect
	}
	precisionTurn struct {
		Label   string
		Scope   []string
		Message string `json:"userMessage"`
		Expect  precisionExpect
	}
	precisionExpect struct {
		Relevant struct {
			Only []string `json:"shouldOnlyInclude"`
		} `json:"relevantBeliefs"`
	}
)

func precisionSingle(r *repository, scoped bool) []line {
	all := read[beliefs](r, "fixtures/beliefs.seed.json")
	lines := all.lines()
	for _, c := range read[[]precisionCase](r, "fixtures/retrieval.cases.json") {
		if strings.TrimSpace(c.Query) != "" && (c.Budget.Beliefs == nil || *c.Budget.Beliefs > len(all.pinned(c.Scope))) {
			lines = append(lines, all.question(c, scoped))
		}
	}
	return lines
}

func (all beliefs) lines() (lines []line) {
	for _, b := range all {
		text := append(append([]string{b.Name}, b.Aliases...), b.Content, b.Reason)
		lines = append(lines, line{Type: "memory", User: b.User, ID: b.ID, Content: strings.Join(text, " "),
			Metadata: map[string]any{"scope": b.Scope}})
	}
	return lines
}

// pinned returns the ids of the beliefs that the application adds to every question of a scope.
func (all beliefs) pinned(scope []string) (ids []string) {
	for _, b := range all {
		if b.User == precisionUser && b.Pinned && b.Type != "open_question" && b.SupersededBy == nil &&
			b.ResolvedAt == nil && slices.ContainsFunc(b.Scope, func(s string) bool { return slices.Contains(scope, s) }) {
			ids = append(ids, b.ID)
		}
	}
	return ids
}

func (all beliefs) question(c precisionCase, scoped bool) line {
	l := line{Type: "question", User: c.User, Question: c.Query, Gold: c.Expect.Relevant.Only, Category: c.Category}
	if l.User == "" {
		l.User = precisionUser
	}
	if l.Gold == nil {
		l.Gold = []string{}
	}
	pinned := all.pinned(c.Scope)
	for _, b := range all {
		if b.User == l.User && !slices.Contains(l.Gold, b.ID) && !slices.Contains(pinned, b.ID) {
			l.Unwanted = append(l.Unwanted, b.ID)
		}
	}
	if scoped && len(c.Scope) == 1 { // the harness would send only the first
		l.Metadata = map[string]any{"scope": c.Scope}
	}
	return l
}
