package llmtest

// Fact returns a factual candidate drawn from messages, with defaults for all else.
func Fact(content string, sources ...string) Candidate {
	return Candidate{Content: content, Type: "fact", Category: "fact", Importance: new(0.5), Context: "general",
		Emotion: &Emotion{Label: "none"}, Sources: sources}
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
