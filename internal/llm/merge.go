package llm

import (
	"context"
	"fmt"
	"slices"

	"github.com/oxbow-memory/oxbow/internal/llm/answer"
	"github.com/oxbow-memory/oxbow/internal/llm/wording"
	"github.com/oxbow-memory/oxbow/internal/oneline"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

const maxGroup = 20 // maximum number of memories of a group in a prompt

type mergeData struct {
	Groups  []groupShown
	of      map[string]reasoner.Held
	group   map[string]int
	longest int // of the texts, in characters
}

type groupShown struct {
	Ref      string      `json:"ref"`
	Memories []heldShown `json:"memories"`
}

// Merge asks which memories of each group belong together. It leaves out memories that read as instructions.
func (r *Reasoner) Merge(ctx context.Context, groups [][]reasoner.Held) (all []reasoner.Same, err error) {
	for rest := groups; len(rest) > 0; {
		var data *mergeData
		if data, rest = showGroups(rest); len(data.Groups) == 0 {
			continue
		}
		var refused notes
		var same []reasoner.Same
		q := question{purpose: "merge", data: data, refused: &refused, bounds: boundsFor(len(data.of), data.longest)}
		err = ask(ctx, r, q, func(a answer.Merges) error {
			same, refused = data.decide(a)
			return nil
		})
		if err != nil {
			return nil, err
		}
		all = append(all, same...)
	}
	return all, nil
}

// showGroups returns the groups for one prompt, and those that do not fit into it.
func showGroups(groups [][]reasoner.Held) (data *mergeData, rest [][]reasoner.Held) {
	data = &mergeData{of: map[string]reasoner.Held{}, group: map[string]int{}}
	size := 0
	for i, group := range groups {
		shown := groupShown{Ref: fmt.Sprintf("g%d", len(data.Groups)+1)}
		group = slices.DeleteFunc(slices.Clone(group), func(h reasoner.Held) bool { return wording.Instructs(h.Content) })
		group = group[:min(len(group), maxGroup)]
		for _, h := range group {
			size += len([]rune(oneline.Shorten(h.Content, maxText)))
		}
		if len(data.Groups) > 0 && (size > docketSize || len(data.Groups) == maxEntries) {
			return data, groups[i:]
		}
		if len(group) < 2 {
			continue
		}
		for _, h := range group {
			ref := fmt.Sprintf("m%d", len(data.of)+1)
			data.of[ref], data.group[ref] = h, len(data.Groups)
			data.longest = max(data.longest, len([]rune(h.Content)))
			shown.Memories = append(shown.Memories, showHeld(ref, h))
		}
		data.Groups = append(data.Groups, shown)
	}
	return data, nil
}

// decide resolves an answer. It drops entries with unknown memories, with memories of several groups, and those with a
// memory that an earlier entry has.
func (d *mergeData) decide(a answer.Merges) (all []reasoner.Same, refused notes) {
	taken := map[string]bool{}
	for _, m := range bounded(&refused, a.Merges) {
		same := reasoner.Same{Content: oneline.Shorten(oneline.Of(m.Content), maxText)}
		var from []string
		problem := ""
		for _, ref := range m.Memories {
			switch h, known := d.of[ref]; {
			case !known:
				problem = "a memory was not shown"
			case d.group[ref] != d.group[m.Memories[0]]:
				problem = "the memories are of several groups"
			case slices.Contains(same.Memories, h.ID):
				problem = "a memory is named twice"
			case taken[ref]:
				problem = "a memory is in another entry"
			default:
				same.Memories, from = append(same.Memories, h.ID), append(from, h.Content)
			}
		}
		switch {
		case problem != "":
			refused.drop(m, "%s", problem)
		case len(same.Memories) < 2 || same.Content == "":
			refused.drop(m, "it has fewer than two memories or no content")
		case wording.Instructs(same.Content):
			refused.drop(m, "it reads as an instruction")
		case wording.Translated(same.Content, from) != "":
			refused.drop(m, "%s", wording.Translated(same.Content, from))
		default:
			for _, ref := range m.Memories {
				taken[ref] = true
			}
			all = append(all, same)
		}
	}
	return all, refused
}
