package llm

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/llm/wording"
	"github.com/oxbow-memory/oxbow/internal/oneline"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

const (
	maxTraits    = 100
	maxClues     = 50
	maxSightings = 10   // latest sightings of a clue
	maxText      = 1000 // characters of a memory
)

// shown is a batch as shown to the model. Short references stand for ids; unknown references
// resolve to nothing.
type shown struct {
	data     reflectData
	memories map[string]uuid.UUID
	suspect  map[uuid.UUID]bool // memories that read like instructions
	traits   map[string]uuid.UUID
	clues    map[string]string // references to keys
}

type reflectData struct {
	Now       string
	ZoneKnown bool
	Language  string
	Memories  []memoryShown
	Traits    []traitShown
	Rejected  []string
	Clues     []clueShown
}

type memoryShown struct {
	Ref     string `json:"ref,omitempty"`
	Time    string `json:"time"`
	Session string `json:"session"`
	Type    string `json:"type"`
	Context string `json:"context,omitempty"`
	Speaker string `json:"speaker,omitempty"`
	Quality string `json:"quality,omitempty"` // of evidence
	Text    string `json:"text"`
}

type traitShown struct {
	Ref     string `json:"ref,omitempty"`
	Level   string `json:"level"`
	Stage   string `json:"stage"`
	Context string `json:"context,omitempty"`
	PartOf  string `json:"part_of,omitempty"`
	Edited  bool   `json:"worded_by_user,omitempty"`
	Text    string `json:"text"`
}

type clueShown struct {
	Ref  string        `json:"ref"`
	Seen []sightingRef `json:"seen"`
	Text string        `json:"text"`
}

type sightingRef struct {
	Time    string `json:"time"`
	Session string `json:"session"`
}

// sessions gives each session a short name.
type sessions map[string]string

func (s sessions) name(session string) string {
	if s[session] == "" {
		s[session] = fmt.Sprintf("s%d", len(s)+1)
	}
	return s[session]
}

// local formats a time in its own zone.
func local(t time.Time) string { return t.Format("Mon 2006-01-02 15:04 -07:00") }

// tag matches language tags such as zh-Hant-TW. Applications set the language, some from what a user typed, and it stands
// among the instructions.
var tag = regexp.MustCompile(`^[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8}){0,3}$`)

// language returns the tag of a language, or "" for any other text.
func language(given string) string {
	if !tag.MatchString(given) {
		return ""
	}
	return given
}

// clock returns how reflection formats times. Without a known time zone it formats dates only,
// since the hour and the day of the week would be those of UTC.
func clock(zoneKnown bool) func(time.Time) string {
	if zoneKnown {
		return local
	}
	return func(t time.Time) string { return t.Format(time.DateOnly) }
}

// show selects what to send of a batch and assigns references.
func show(b reasoner.Batch) *shown {
	s := &shown{memories: map[string]uuid.UUID{}, suspect: map[uuid.UUID]bool{}, traits: map[string]uuid.UUID{},
		clues: map[string]string{}}
	s.data = reflectData{Now: local(b.Now), ZoneKnown: b.ZoneKnown, Language: language(b.Language), Memories: []memoryShown{},
		Traits: []traitShown{}, Rejected: []string{}, Clues: []clueShown{}}
	named, at := sessions{}, clock(b.ZoneKnown)
	for i, m := range b.Memories {
		ref := fmt.Sprintf("m%d", i+1)
		s.memories[ref], s.suspect[m.ID] = m.ID, wording.Instructs(m.Content)
		shown := showMemory(m, named, at)
		shown.Ref = ref
		s.data.Memories = append(s.data.Memories, shown)
	}
	refs := map[uuid.UUID]string{}
	for _, t := range b.Traits {
		if t.Content == "" {
			continue
		}
		if t.Stage == lifecycle.Dissolved && t.Edited {
			s.data.Rejected = append(s.data.Rejected, oneline.Shorten(t.Content, maxText))
		}
		if t.Stage == lifecycle.Dissolved || len(refs) == maxTraits {
			continue
		}
		refs[t.ID] = fmt.Sprintf("t%d", len(refs)+1)
		s.traits[refs[t.ID]] = t.ID
		shown := showTrait(t)
		shown.Ref = refs[t.ID]
		s.data.Traits = append(s.data.Traits, shown)
	}
	for _, t := range b.Traits { // after all have references: a parent may come later than its parts
		if i := slices.IndexFunc(s.data.Traits,
			func(shown traitShown) bool { return shown.Ref == refs[t.ID] }); i >= 0 {
			s.data.Traits[i].PartOf = refs[t.Parent]
		}
	}
	for i, c := range b.Clues[:min(len(b.Clues), maxClues)] {
		shown := clueShown{Ref: fmt.Sprintf("c%d", i+1), Text: oneline.Shorten(c.Content, maxText),
			Seen: []sightingRef{}}
		for _, seen := range c.Seen[max(len(c.Seen)-maxSightings, 0):] {
			shown.Seen = append(shown.Seen, sightingRef{at(seen.Time), named.name(seen.Session)})
		}
		s.clues[shown.Ref] = c.Key
		s.data.Clues = append(s.data.Clues, shown)
	}
	return s
}

func showMemory(m reasoner.Memory, named sessions, at func(time.Time) string) memoryShown {
	return memoryShown{Time: at(m.Time), Session: named.name(m.Session), Type: m.Type, Context: m.Context,
		Speaker: oneline.Shorten(m.Speaker, maxName), Text: oneline.Shorten(m.Content, maxText)}
}

func showTrait(t reasoner.Trait) traitShown {
	return traitShown{Level: string(t.Subtype), Stage: string(t.Stage), Context: t.Context, Edited: t.Edited,
		Text: oneline.Shorten(t.Content, maxText)}
}

// reviewData is a case as shown to the model.
type reviewData struct {
	Now           string
	ZoneKnown     bool
	Language      string
	Trait         []traitShown // exactly one
	Supporting    []memoryShown
	Contradicting []memoryShown
}

func showCase(c reasoner.Case) reviewData {
	named, at := sessions{}, clock(c.ZoneKnown)
	return reviewData{Now: local(c.Now), ZoneKnown: c.ZoneKnown, Language: language(c.Language),
		Trait:      []traitShown{showTrait(c.Trait)},
		Supporting: showEvidence(c.Supporting, named, at), Contradicting: showEvidence(c.Contradicting, named, at)}
}

func showEvidence(evidence []reasoner.Evidence, named sessions, at func(time.Time) string) []memoryShown {
	all := []memoryShown{}
	for _, e := range evidence {
		shown := showMemory(e.Memory, named, at)
		shown.Quality = string(e.Quality)
		all = append(all, shown)
	}
	return all
}
