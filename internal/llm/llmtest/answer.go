package llmtest

import (
	"encoding/json"
	"reflect"

	"github.com/oxbow-memory/oxbow/internal/llm/answer"
)

// Reflection is an answer to a reflection.
type Reflection answer.Reflection

// Verdict is an answer to a review.
type Verdict answer.Verdict

// Extraction is an answer to an extraction.
type Extraction answer.Extraction

// Merges are an answer to groups of similar memories.
type Merges []Merge

// Resolutions are an answer to conflicts.
type Resolutions []Resolution

// Judgements is an answer to reviews of facts.
type Judgements []Judgement

// Signals is an answer to what a person thinks of answers.
type Signals []Signal

type (
	// Pattern is a pattern in the memories.
	Pattern = answer.Pattern
	// Reinforcement is evidence for a trait.
	Reinforcement = answer.Reinforcement
	// Contradiction is evidence against a trait.
	Contradiction = answer.Contradiction
	// Cluster is a trait made from others.
	Cluster = answer.Cluster
	// Evidence is a memory that is evidence.
	Evidence = answer.Evidence
	// Tendency is what holds in a context.
	Tendency = answer.Tendency
	// Candidate is a memory to store.
	Candidate = answer.Candidate
	// Emotion is what the user feels about a candidate.
	Emotion = answer.Emotion
	// Entity is somebody or something that a candidate names.
	Entity = answer.Entity
	// Relation is a relation between two entities.
	Relation = answer.Relation
	// Used is a recalled memory that a reply uses.
	Used = answer.Used
	// Merge is a set of memories that belong together.
	Merge = answer.Merge
	// Resolution is a decision on a conflict's candidate.
	Resolution = answer.Resolution
	// Judgement is a decision about a fact.
	Judgement = answer.Judgement
	// Signal is what a person thinks of an answer.
	Signal = answer.Signal
)

// On returns evidence from memories in no particular context.
func On(memories ...string) []Evidence {
	evidence := []Evidence{}
	for _, m := range memories {
		evidence = append(evidence, Evidence{Memory: m, Context: "general"})
	}
	return evidence
}

// JSON returns the answer as a model would write it, with missing lists as empty ones.
func (a Reflection) JSON() string { return written(a) }

// JSON returns the answer as a model would write it.
func (a Verdict) JSON() string { return written(a) }

// JSON returns the answer as a model would write it.
func (a Extraction) JSON() string { return written(a) }

// JSON returns the answer as a model would write it.
func (a Resolutions) JSON() string { return written(answer.Resolutions{Resolutions: a}) }

// JSON returns the answer as a model would write it.
func (a Judgements) JSON() string { return written(answer.Judgements{Judgements: a}) }

// JSON returns the answer as a model would write it.
func (a Signals) JSON() string { return written(answer.Signals{Signals: a}) }

// JSON returns the answer as a model would write it.
func (a Merges) JSON() string { return written(answer.Merges{Merges: a}) }

// Summary returns a summary as a model would write it.
func Summary(text string) string { return written(map[string]string{"summary": text}) }

func written[T any](answer T) string {
	fillLists(reflect.ValueOf(&answer).Elem())
	text, err := json.Marshal(answer)
	if err != nil {
		panic(err) // texts always encode as JSON
	}
	return string(text)
}

// fillLists replaces missing lists by empty ones, and lists by copies.
func fillLists(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range v.Fields() {
			fillLists(field)
		}
	case reflect.Slice:
		v.Set(reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, v.Len()), v))
		for i := range v.Len() {
			fillLists(v.Index(i))
		}
	}
}

// Nothing answers that nothing follows: it keeps every trait, proposes no memory, adds every
// candidate, merges nothing, judges nothing, and summarizes nothing.
func Nothing(r Request) Reply {
	switch r.Purpose {
	case "review":
		return Say(Verdict{Action: "keep", Reason: "the contradictions are exceptions"}.JSON())
	case "extract":
		return Say(Extraction{}.JSON())
	case "summarize":
		return Say(Summary(""))
	case "merge":
		return Say(Merges{}.JSON())
	case "resolve":
		var all Resolutions
		for _, c := range r.Data("conflicts") {
			all = append(all, Resolution{Conflict: c.Ref, Operation: "ADD", Reason: "nothing says it"})
		}
		return Say(all.JSON())
	case "signals":
		return Say(`{"signals": []}`)
	case "question":
		return Say(`{"questions": []}`)
	case "abstract":
		return Say(`{"conclusion": "", "sources": []}`)
	case "judge":
		var all Judgements
		for _, f := range r.Data("facts") {
			all = append(all, Judgement{Fact: f.Ref, Verdict: "KEEP", Reason: "it may be of use"})
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
