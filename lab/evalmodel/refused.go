package main

import (
	"encoding/json"
	"regexp"
	"slices"

	"github.com/oxbow-memory/oxbow/internal/llm/answer"
	"github.com/oxbow-memory/oxbow/internal/llm/llmtest"
	"github.com/oxbow-memory/oxbow/internal/llm/wording"
	"github.com/oxbow-memory/oxbow/internal/oneline"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/secrets"
)

// comparable has, for each request whose answers may be refused in part, which reasons to compare with the answers. Of
// the others, "" compares all reasons.
var comparable = map[string]*regexp.Regexp{
	"judge": regexp.MustCompile(""), "merge": regexp.MustCompile(""), "question": regexp.MustCompile(""),
	"resolve": regexp.MustCompile(""), "signals": regexp.MustCompile(""),
	"abstract": regexp.MustCompile("^it is not one of the memories|too few memories$"),
	"extract":  regexp.MustCompile("was shown$|^the message |new message of"),
	"reflect":  regexp.MustCompile("was shown|^the memory "),
}

// The defaults of the policies abstract_fragments and merge_repeats.
const (
	fewestFragments = 4
	fewestRepeats   = 3
)

// refusals counts the parts of an answer that have to be refused, for the reasons that are compared. isMerged reports
// whether a text is that of a merged memory, which a single other memory may join.
func refusals(q llmtest.Request, text string, isMerged func(text string) bool) int {
	switch q.Purpose {
	case "abstract":
		return count(text, func(a answer.Conclusion) int { return ofConclusion(q, a) })
	case "extract":
		return count(text, func(a answer.Extraction) int { return ofExtraction(q, a) })
	case "judge":
		return count(text, func(a answer.Judgements) int {
			return surplus(q.Data("facts"), a.Judgements, func(j answer.Judgement) string { return j.Fact })
		})
	case "merge":
		return count(text, func(a answer.Merges) int { return ofMerges(q.Data("groups"), a, isMerged) })
	case "question":
		return count(text, func(a answer.Questions) int { return ofQuestions(q.Data("recent"), a) })
	case "reflect":
		return count(text, func(a answer.Reflection) int { return ofReflection(q, a) })
	case "resolve":
		return count(text, func(a answer.Resolutions) int {
			return surplus(q.Data("conflicts"), a.Resolutions, func(r answer.Resolution) string { return r.Conflict })
		})
	case "signals":
		return count(text, func(a answer.Signals) int {
			return surplus(q.Data("turns"), a.Signals, func(s answer.Signal) string { return s.Turn })
		})
	}
	return 0 // an answer to review or summarize is used or not
}

func count[A any](text string, refused func(A) int) int {
	var a A
	if json.Unmarshal([]byte(text), &a) != nil {
		return 0
	}
	return refused(a)
}

// shownAs returns what was shown, by its references.
func shownAs(items []llmtest.Item) map[string]llmtest.Item {
	all := map[string]llmtest.Item{}
	for _, item := range items {
		all[item.Ref] = item
	}
	return all
}

func texts(items []llmtest.Item) (all []string) {
	for _, item := range items {
		all = append(all, item.Text)
	}
	return all
}

// surplus counts the entries about something that was not shown, or that has an entry.
func surplus[E any](items []llmtest.Item, entries []E, about func(E) string) (refused int) {
	waiting := shownAs(items)
	for _, e := range entries {
		if _, ok := waiting[about(e)]; !ok {
			refused++
		}
		delete(waiting, about(e))
	}
	return refused
}

func ofConclusion(q llmtest.Request, a answer.Conclusion) int {
	fragments := q.Data("fragments")
	text, err := wording.Statement(a.Conclusion, reasoner.MaxConclusion)
	if err != nil || wording.Translated(text, texts(fragments)) != "" {
		return 0 // nothing of it is used
	}
	refused := surplus(fragments, a.Sources, func(ref string) string { return ref })
	denies := slices.ContainsFunc(q.Data("about"), func(about llmtest.Item) bool { return about.Denies })
	if used := len(a.Sources) - refused; used == 0 || used < fewestFragments && !denies {
		refused++
	}
	return refused
}

func ofMerges(groups []llmtest.Item, a answer.Merges, isMerged func(text string) bool) (refused int) {
	taken := map[string]bool{}
	for _, m := range a.Merges {
		content := oneline.Of(m.Content)
		of := 1 // nothing of it is used
		for _, g := range groups {
			var from []llmtest.Item
			for _, ref := range slices.Compact(slices.Sorted(slices.Values(m.Memories))) {
				if item, shown := shownAs(g.Memories)[ref]; shown && !taken[ref] {
					from = append(from, item)
				}
			}
			if len(from) >= 2 && len(from) == len(m.Memories) && content != "" && !wording.Instructs(content) &&
				wording.Translated(content, texts(from)) == "" {
				of = notAllowed(from, content, isMerged)
				for _, ref := range m.Memories {
					taken[ref] = true
				}
				break
			}
		}
		refused += of
	}
	return refused
}

// notAllowed counts the parts of a merge that have to be refused: all merged memories but one, and the merge itself if
// too few memories are left or its content has a secret.
func notAllowed(from []llmtest.Item, content string, isMerged func(text string) bool) (refused int) {
	merged, needed := 0, 2
	for _, item := range from {
		if isMerged(item.Text) {
			merged++
		}
		if item.Type == "episodic" {
			needed = fewestRepeats
		}
	}
	if merged > 0 {
		refused, needed = merged-1, 2
	}
	if len(from)-refused < needed || secrets.Any(content) {
		refused++
	}
	return refused
}

func ofQuestions(recent []llmtest.Item, a answer.Questions) int {
	var asked []string
	for _, q := range a.Questions {
		text, err := wording.Sentence(q)
		if err == nil && wording.Translated(text, texts(recent)) == "" && !slices.Contains(asked, text) {
			asked = append(asked, text)
		}
	}
	return len(a.Questions) - min(len(asked), reasoner.MaxQuestions)
}

func ofExtraction(q llmtest.Request, a answer.Extraction) (refused int) {
	messages, recalled := shownAs(q.Data("messages")), shownAs(q.Data("recalled"))
	sources := func(content string, refs ...string) {
		if _, err := wording.Statement(content, 1000); err != nil {
			return // the whole entry is refused for this
		}
		none := 1
		for _, ref := range refs {
			if m := messages[ref]; m.New && m.Role == "user" && !wording.Instructs(m.Text) {
				none = 0
			} else {
				refused++
			}
		}
		refused += none
	}
	for _, c := range a.Candidates {
		sources(c.Content, c.Sources...)
	}
	for _, n := range a.Instructions {
		sources(n.Content, n.Message)
	}
	for _, u := range a.Used {
		if m := messages[u.Reply]; recalled[u.Memory].Ref == "" || !m.New || m.Role != "assistant" {
			refused++
		}
	}
	return refused
}

func ofReflection(q llmtest.Request, a answer.Reflection) (refused int) {
	memories, traits, clues := shownAs(q.Data("memories")), shownAs(q.Data("traits")), shownAs(q.Data("clues"))
	evidence := func(given []answer.Evidence) {
		none := 1
		for _, e := range given {
			if m, shown := memories[e.Memory]; shown && !wording.Instructs(m.Text) {
				none = 0
			} else {
				refused++
			}
		}
		refused += none
	}
	about := func(trait string, given []answer.Evidence) {
		if traits[trait].Ref == "" {
			refused++
			return
		}
		evidence(given)
	}
	for _, p := range a.Patterns {
		if _, err := wording.Sentence(p.Content); err != nil {
			continue
		}
		if p.Clue != "" && clues[p.Clue].Ref == "" {
			refused++
		}
		evidence(p.Evidence)
	}
	for _, r := range a.Reinforcements {
		about(r.Trait, r.Evidence)
	}
	for _, c := range a.Contradictions {
		about(c.Trait, c.Evidence)
	}
	for _, c := range a.Clusters {
		if _, err := wording.Sentence(c.Content); err != nil {
			continue
		}
		none := 1
		for _, ref := range c.Traits {
			if traits[ref].Ref == "" {
				refused++
			} else {
				none = 0
			}
		}
		refused += none
	}
	return refused
}
