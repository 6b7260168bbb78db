package llmtest

// Extraction is an answer to an extraction. Empty lists are written too.
type Extraction struct {
	Candidates []Candidate `json:"candidates"`
	Used       []Used      `json:"used"`
}

// Candidate is a memory in an answer.
type Candidate struct {
	Content    string     `json:"content"`
	Type       string     `json:"type"`
	Category   string     `json:"category"`
	Importance float64    `json:"importance"`
	Context    string     `json:"context"`
	Emotion    Emotion    `json:"emotion"`
	Entities   []Entity   `json:"entities"`
	Relations  []Relation `json:"relations"`
	Time       string     `json:"time"`
	Negates    bool       `json:"negates"`
	Sources    []string   `json:"sources"`
}

// Emotion is an emotion of a candidate.
type Emotion struct {
	Label   string  `json:"label"`
	Valence float64 `json:"valence"`
	Arousal float64 `json:"arousal"`
}

// Relation is a relation between entities of a candidate.
type Relation struct {
	From     string `json:"from"`
	Relation string `json:"relation"`
	To       string `json:"to"`
}

// Entity is an entity of a candidate.
type Entity struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// Used reports the recalled memory that a reply uses.
type Used struct {
	Memory string `json:"memory"`
	Reply  string `json:"reply"`
}

// Resolutions are an answer to conflicts.
type Resolutions []Resolution

// Resolution decides a conflict's candidate.
type Resolution struct {
	Conflict  string `json:"conflict"`
	Operation string `json:"operation"`
	Target    string `json:"target"`
	Reason    string `json:"reason"`
}

// Fact returns a factual candidate drawn from messages, with defaults for all else.
func Fact(content string, sources ...string) Candidate {
	return Candidate{Content: content, Type: "fact", Category: "fact", Importance: 0.5, Context: "general",
		Emotion: Emotion{Label: "none"}, Sources: sources}
}

// JSON returns the answer as a model would write it.
func (a Extraction) JSON() string {
	a.Candidates = append([]Candidate{}, a.Candidates...)
	for i := range a.Candidates {
		a.Candidates[i].Entities = append([]Entity{}, a.Candidates[i].Entities...)
		a.Candidates[i].Relations = append([]Relation{}, a.Candidates[i].Relations...)
		a.Candidates[i].Sources = append([]string{}, a.Candidates[i].Sources...)
	}
	a.Used = append([]Used{}, a.Used...)
	return written(a)
}

// JSON returns the answer as a model would write it.
func (a Resolutions) JSON() string {
	return written(map[string]Resolutions{"resolutions": append(Resolutions{}, a...)})
}

// Remember returns an answer for Server.Answer that proposes content as a fact if new messages of
// the user contain any of the words. A candidate that equals a memory counts as a mention; every
// other one is added. It concludes nothing else.
func Remember(content string, containing ...string) func(Request) Reply {
	return func(r Request) Reply {
		if said := r.Said(containing...); r.Purpose == "extract" && len(said) > 0 {
			return Say(Extraction{Candidates: []Candidate{Fact(content, said...)}}.JSON())
		}
		if r.Purpose != "resolve" {
			return Nothing(r)
		}
		var all Resolutions
		for _, c := range r.Data("conflicts") {
			resolution := Resolution{Conflict: c.Ref, Operation: "ADD", Reason: "nothing says it"}
			if same := refs(c.Similar, []string{c.Text}); len(same) > 0 {
				resolution = Resolution{Conflict: c.Ref, Operation: "NOOP", Target: same[0], Reason: "it says so"}
			}
			all = append(all, resolution)
		}
		return Say(all.JSON())
	}
}
