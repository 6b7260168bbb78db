package llmtest

import "encoding/json"

// Reflection is an answer to a reflection. Empty lists are written too.
type Reflection struct {
	Patterns       []Pattern       `json:"patterns"`
	Reinforcements []Reinforcement `json:"reinforcements"`
	Contradictions []Contradiction `json:"contradictions"`
	Clusters       []Cluster       `json:"clusters"`
}

// Pattern is a pattern in an answer.
type Pattern struct {
	Clue      string     `json:"clue"`
	Content   string     `json:"content"`
	Context   string     `json:"context"`
	Emotional bool       `json:"emotional"`
	Tentative bool       `json:"tentative"`
	Evidence  []Evidence `json:"evidence"`
}

// Reinforcement is a reinforcement in an answer.
type Reinforcement struct {
	Trait    string     `json:"trait"`
	Evidence []Evidence `json:"evidence"`
}

// Contradiction is a contradiction in an answer.
type Contradiction struct {
	Trait    string     `json:"trait"`
	Reason   string     `json:"reason"`
	Evidence []Evidence `json:"evidence"`
}

// Cluster is a cluster in an answer.
type Cluster struct {
	Level   string   `json:"level"`
	Content string   `json:"content"`
	Traits  []string `json:"traits"`
}

// Evidence refers to a memory.
type Evidence struct {
	Memory  string `json:"memory"`
	Stated  bool   `json:"stated"`
	Context string `json:"context"`
}

// Verdict is an answer to a review.
type Verdict struct {
	Action     string     `json:"action"`
	Content    string     `json:"content"`
	Tendencies []Tendency `json:"tendencies"`
	Reason     string     `json:"reason"`
}

// Tendency is the tendency in a context.
type Tendency struct {
	Context  string `json:"context"`
	Tendency string `json:"tendency"`
}

// On returns evidence from memories in no particular context.
func On(memories ...string) []Evidence {
	evidence := []Evidence{}
	for _, m := range memories {
		evidence = append(evidence, Evidence{Memory: m, Context: "general"})
	}
	return evidence
}

// JSON returns the answer as a model would write it.
func (a Reflection) JSON() string {
	a.Patterns = append([]Pattern{}, a.Patterns...)
	a.Reinforcements = append([]Reinforcement{}, a.Reinforcements...)
	a.Contradictions = append([]Contradiction{}, a.Contradictions...)
	a.Clusters = append([]Cluster{}, a.Clusters...)
	return written(a)
}

// JSON returns the answer as a model would write it.
func (v Verdict) JSON() string {
	v.Tendencies = append([]Tendency{}, v.Tendencies...)
	return written(v)
}

// Summary returns a summary as a model would write it.
func Summary(text string) string { return written(map[string]string{"summary": text}) }

func written(answer any) string {
	text, err := json.Marshal(answer)
	if err != nil {
		panic(err) // texts always encode as JSON
	}
	return string(text)
}

// Nothing answers that nothing follows: it keeps every trait, proposes no memory, adds every
// candidate, and summarizes nothing.
func Nothing(r Request) Reply {
	switch r.Purpose {
	case "review":
		return Say(Verdict{Action: "keep", Reason: "the contradictions are exceptions"}.JSON())
	case "extract":
		return Say(Extraction{}.JSON())
	case "summarize":
		return Say(Summary(""))
	case "resolve":
		var all Resolutions
		for _, c := range r.Data("conflicts") {
			all = append(all, Resolution{Conflict: c.Ref, Operation: "ADD", Reason: "nothing says it"})
		}
		return Say(all.JSON())
	}
	return Say(Reflection{}.JSON())
}

// Conclude returns an answer for Server.Answer that concludes content from all memories that
// contain any of the words. It reinforces an existing trait with that content. Otherwise it
// proposes a pattern, with the clue of that content if one exists. It keeps every trait.
func Conclude(content string, containing ...string) func(Request) Reply {
	return func(r Request) Reply {
		memories := r.Memories(containing...)
		if r.Purpose != "reflect" || len(memories) == 0 {
			return Nothing(r)
		}
		if traits := r.Traits(content); len(traits) > 0 {
			return Say(Reflection{Reinforcements: []Reinforcement{{Trait: traits[0],
				Evidence: On(memories...)}}}.JSON())
		}
		pattern := Pattern{Content: content, Context: "general", Evidence: On(memories...)}
		if clues := refs(r.Data("clues"), []string{content}); len(clues) > 0 {
			pattern.Clue = clues[0]
		}
		return Say(Reflection{Patterns: []Pattern{pattern}}.JSON())
	}
}
