// Package answer has the forms of a language model's answers, and their JSON schemas.
//
// In the fields, the tag about describes a member for the model, and the tag of names its possible values. A member
// with the tag none may not be missing; the tag says what to write instead.
package answer

// Reflection is an answer to a reflection.
type Reflection struct {
	Patterns       []Pattern       `json:"patterns" none:"an empty list if there is nothing to say"`
	Reinforcements []Reinforcement `json:"reinforcements" none:"an empty list if there is nothing to say"`
	Contradictions []Contradiction `json:"contradictions" none:"an empty list if there is nothing to say"`
	Clusters       []Cluster       `json:"clusters" none:"an empty list if there is nothing to say"`
}

// Evidence refers to a memory.
type Evidence struct {
	Memory  string `json:"memory" about:"reference of a memory, such as m3"`
	Stated  bool   `json:"stated" about:"the user says it outright of themselves in this memory"`
	Context string `json:"context" of:"contexts" about:"where it shows in this memory; else general"`
}

// Pattern is a pattern in the memories.
type Pattern struct {
	Clue      string     `json:"clue" about:"reference of the clue that this is, such as c2; else empty"`
	Content   string     `json:"content" about:"a short sentence about the user, in the memories' language"`
	Context   string     `json:"context" of:"contexts" about:"where it shows; general if in several"`
	Emotional bool       `json:"emotional" about:"it is a mood, which passes"`
	Tentative bool       `json:"tentative" about:"it is no more than a guess so far"`
	Evidence  []Evidence `json:"evidence"`
}

// Reinforcement is evidence for a trait.
type Reinforcement struct {
	Trait    string     `json:"trait" about:"reference of a trait, such as t1"`
	Evidence []Evidence `json:"evidence"`
}

// Contradiction is evidence against a trait.
type Contradiction struct {
	Trait    string     `json:"trait" about:"reference of a trait, such as t1"`
	Reason   string     `json:"reason" about:"what does not fit, in a few words"`
	Evidence []Evidence `json:"evidence"`
}

// Cluster is a trait made from others.
type Cluster struct {
	Level   string   `json:"level" of:"levels" about:"preference: what behaviors share; core: what preferences share"`
	Content string   `json:"content" about:"one short sentence about the user, in the language of the memories"`
	Traits  []string `json:"traits" about:"reference of a trait, such as t1"`
}

// Verdict is an answer to a review.
type Verdict struct {
	Action     string     `json:"action" of:"actions" about:"what becomes of the trait"`
	Content    string     `json:"content" about:"of revise and split: a sentence in its language"`
	Tendencies []Tendency `json:"tendencies"`
	Reason     string     `json:"reason" about:"why, in one sentence"`
}

// Tendency is what holds in a context.
type Tendency struct {
	Context  string `json:"context" of:"contexts" about:"where"`
	Tendency string `json:"tendency" about:"what holds there, in a few words, in the trait's own language"`
}

// Extraction is an answer to an extraction.
type Extraction struct {
	Candidates []Candidate `json:"candidates" none:"an empty list if there is nothing to remember"`
	Used       []Used      `json:"used" none:"an empty list if no reply rests on what was recalled"`
	// Instructions may be missing.
	Instructions []Instruction `json:"instructions"`
}

// Instruction is how the user wants to be answered from now on.
type Instruction struct {
	Message string `json:"message" about:"reference of the new message of the user that says it, such as m1"`
	Content string `json:"content" about:"one line, in the words of the message"`
	Aspect  string `json:"aspect" of:"aspects" about:"what it is about"`
	Ends    bool   `json:"ends" about:"true if it takes back an earlier one"`
}

// Candidate is a memory to store.
type Candidate struct {
	Content    string     `json:"content" about:"one line, in the messages' language and close to their words"`
	Type       string     `json:"type" of:"types" about:"fact: what is so; episodic: what happened, or will"`
	Category   string     `json:"category" of:"categories" about:"what it is about"`
	Importance *float64   `json:"importance" about:"how much it matters to remember it, 0 to 1"`
	Context    string     `json:"context" of:"contexts" about:"where in the user's life it belongs; else general"`
	Emotion    *Emotion   `json:"emotion"`
	Entities   []Entity   `json:"entities"`
	Relations  []Relation `json:"relations"`
	Time       string     `json:"time" about:"when it was so, such as 2025-10-29 or 2025-10-29T18:30; else empty"`
	Negates    bool       `json:"negates" about:"it says that something is so no longer, or was wrong"`
	Sources    []string   `json:"sources" about:"reference of a new message of the user that says it, such as m3"`
}

// Emotion is what the user feels about a candidate.
type Emotion struct {
	Label   string  `json:"label" of:"emotions" about:"what the user feels about it; none if that is not said"`
	Valence float64 `json:"valence" about:"-1 (unpleasant) to 1 (pleasant)"`
	Arousal float64 `json:"arousal" about:"0 (calm) to 1 (excited)"`
}

// Entity is somebody or something that a candidate names.
type Entity struct {
	Name string `json:"name" about:"the name as the content writes it"`
	Kind string `json:"kind" of:"kinds" about:"what has that name; work is a book, a film, a song, a game"`
}

// Relation is a relation between two entities of a candidate.
type Relation struct {
	From     string `json:"from" about:"name of one of these entities; empty: who says it"`
	Relation string `json:"relation" about:"what to is to from, such as sister, friend, pet, works_at, lives_in"`
	To       string `json:"to" about:"name of another of these entities; empty: who says it"`
}

// Used reports the recalled memory that a reply rests on.
type Used struct {
	Memory string `json:"memory" about:"reference of a recalled memory, such as h1"`
	Reply  string `json:"reply" about:"reference of the assistant's new message that rests on it, such as m4"`
}

// Resolutions is an answer to conflicts.
type Resolutions struct {
	Resolutions []Resolution `json:"resolutions" none:"one entry for each conflict"`
}

// Resolution decides a conflict's candidate.
type Resolution struct {
	Conflict  string `json:"conflict" about:"reference of a conflict, such as c1"`
	Operation string `json:"operation" of:"operations" about:"what becomes of its candidate"`
	Target    string `json:"target" about:"reference of a memory of that conflict, such as h2; empty for ADD"`
	Reason    string `json:"reason" about:"why, in a few words"`
}

// Judgements is an answer to reviews of facts.
type Judgements struct {
	Judgements []Judgement `json:"judgements" none:"one entry for each fact"`
}

// Judgement decides about a fact.
type Judgement struct {
	Fact    string `json:"fact" about:"reference of a fact, such as f1"`
	Verdict string `json:"verdict" of:"verdicts" about:"what becomes of it"`
	Search  string `json:"search" about:"of SEARCH: a few words to search for; else empty"`
	Reason  string `json:"reason" about:"why, in a few words"`
}

// Signals is an answer to what a person thinks of answers.
type Signals struct {
	Signals []Signal `json:"signals" none:"an empty list if no turn says anything of the answer before it"`
}

// Signal is what a person thinks of an answer.
type Signal struct {
	Turn       string   `json:"turn" about:"reference of a turn, such as t1"`
	Kind       string   `json:"kind" of:"signalKinds" about:"what the person does"`
	Type       string   `json:"type" of:"signalTypes" about:"mixed: good in one respect and bad in another"`
	Confidence float64  `json:"confidence" about:"0 to 1"`
	Good       []string `json:"good" of:"signalTargets" about:"what the person is content with"`
	Bad        []string `json:"bad" of:"signalTargets" about:"what the person is not content with"`
	ActionHint []string `json:"action_hint" of:"signalHints" about:"what should follow"`
}

// Conclusion is the answer to a request for a conclusion from memories of one topic.
type Conclusion struct {
	Conclusion string   `json:"conclusion" about:"one sentence with its conditions; empty if they come to nothing"`
	Sources    []string `json:"sources" about:"reference of a memory that supports it, such as m3"`
}

// Questions is an answer to recent memories.
type Questions struct {
	Questions []string `json:"questions" about:"one short sentence in the language of the memories" none:"an empty list if nothing is worth asking"`
}

// Merges is an answer to groups of similar memories.
type Merges struct {
	Merges []Merge `json:"merges" none:"an empty list if no memories belong together"`
}

// Merge is a set of memories that belong together.
type Merge struct {
	Memories []string `json:"memories" about:"references of at least two memories of one group, such as m1"`
	Content  string   `json:"content" about:"what they say, in one line, in their language; no dates"`
}

// Summary is a summary of a conversation.
type Summary struct {
	Summary *string `json:"summary" about:"one line, in its language" none:"an empty text if there is nothing to tell"`
}
