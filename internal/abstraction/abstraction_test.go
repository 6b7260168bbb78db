package abstraction

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

var policies = &Policies{Fragments: 4, Sessions: 2, Condition: 0.7, Gain: 0.2, VoiceGain: 0.1}

// said returns n fragments of a voice, one a day, from the given day of October 2025 on.
func said(voice string, from, n int, denies bool) (all []Fragment) {
	for i := range n {
		at := time.Date(2025, 10, from+i, 7, 30, 0, 0, time.UTC)
		f := Fragment{Memory: reasoner.Memory{ID: uuid.NewSHA1(uuid.Nil, fmt.Append(nil, voice, from+i)), Time: at,
			Session: at.Format(time.DateOnly)}, Voice: voice, Denies: denies}
		f.WithClock()
		all = append(all, f)
	}
	return all
}

func TestGroups(t *testing.T) {
	t.Parallel()
	require.Empty(t, policies.Groups(said("", 1, 3, false), true), "three are not dense")
	one := said("", 1, 4, false)
	for i := range one {
		one[i].Session = "s"
	}
	require.Empty(t, policies.Groups(one, true), "one conversation shows nothing")

	groups := policies.Groups(append(said("", 1, 2, false), said("coach", 1, 3, false)...), true)
	require.Len(t, groups, 1)
	require.Equal(t, []string{"", "coach"}, groups[0].Voices, "sources that say the same are one conclusion")

	groups = policies.Groups(append(said("coach", 1, 4, false), said("diary", 9, 1, true)...), true)
	require.Len(t, groups, 2)
	require.True(t, groups[0].Disputed && groups[1].Disputed && groups[1].Denies)

	changed := append(said("", 1, 5, false), said("", 9, 1, true)...)
	groups = policies.Groups(changed, true)
	require.Len(t, groups, 1, "the same source merges")
	require.True(t, groups[0].Denies && !groups[0].Disputed)
	groups = policies.Groups(append(changed, said("", 12, 4, false)...), true)
	require.Len(t, groups, 1)
	require.False(t, groups[0].Denies, "it is so again")
	require.Len(t, groups[0].Fragments, 4)

	apart := said("", 1, 8, false)
	for i := range apart { // two sets that are near in meaning
		apart[i].Near = []uuid.UUID{apart[i/4*4].ID}
	}
	require.Len(t, policies.Groups(apart, false), 2)
	require.Len(t, policies.Groups(apart, true), 1)
}

func TestConditions(t *testing.T) {
	t.Parallel()
	g := Group{Fragments: said("", 1, 4, false)}
	require.Equal(t, reasoner.Conditions{PartOfDay: "morning"}, policies.Conditions(g))
	for i := range g.Fragments {
		g.Fragments[i].Time = g.Fragments[i].Time.AddDate(i/2, 0, 0)
		g.Fragments[i].Hints.Weekday = []string{"saturday", "sunday"}[i%2]
		g.Fragments[i].Hints.Where = []string{"Mauer park"}
		g.Fragments[i].Context = "personal"
	}
	require.Equal(t, reasoner.Conditions{PartOfDay: "morning", Weekday: "weekend", Season: "autumn",
		Where: []string{"Mauer park"}, Context: "personal"}, policies.Conditions(g))
	require.Empty(t, policies.Conditions(Group{Denies: true, Fragments: g.Fragments}))
}

func TestSeason(t *testing.T) {
	t.Parallel()
	for zone, want := range map[string]string{"Europe/Berlin": "winter", "Asia/Shanghai": "winter", "Australia/Sydney": "summer",
		"Africa/Johannesburg": "summer", "America/Sao_Paulo": "summer", "Europe/Dublin": "winter", "UTC": "winter"} {
		location, err := time.LoadLocation(zone)
		require.NoError(t, err)
		require.Equal(t, want, seasonOf(time.Date(2026, 1, 10, 12, 0, 0, 0, location)), zone)
	}
}

func TestChanges(t *testing.T) {
	t.Parallel()
	ids := 0
	newID := func() uuid.UUID { ids++; return uuid.NewSHA1(uuid.Nil, fmt.Append(nil, ids)) }
	word := func(g Group, text string) Worded { return Worded{Group: g, Content: text} }
	runs := Group{Voices: []string{""}, Fragments: said("", 1, 4, false)}

	changes := policies.Changes([]Worded{word(runs, "Runs")}, nil, newID)
	require.Len(t, changes, 1)
	require.InDelta(t, 1-0.8*0.8*0.8*0.8, changes[0].Confidence, 1e-6)
	held := Held{ID: changes[0].New, Content: "Runs", Voices: []string{""}}
	for _, f := range runs.Fragments {
		held.Sources = append(held.Sources, f.ID)
	}

	more := Group{Voices: []string{""}, Fragments: said("", 1, 6, false)}
	changes = policies.Changes([]Worded{word(more, "Runs")}, []Held{held}, newID)
	require.Equal(t, []uuid.UUID{held.ID, {}}, []uuid.UUID{changes[0].Old, changes[0].New}, "only surer")
	require.Empty(t, changes[0].Reason)

	changes = policies.Changes([]Worded{word(more, "Runs in the morning")}, []Held{held}, newID)
	require.Equal(t, held.ID, changes[0].Old)
	require.NotZero(t, changes[0].New)
	require.Equal(t, "2 more memories say so", changes[0].Reason)

	denied := Group{Denies: true, Voices: []string{""}, Fragments: said("", 20, 1, true)}
	changes = policies.Changes([]Worded{word(denied, "No longer runs")}, []Held{held}, newID)
	require.Len(t, changes, 1, "the same source: the next version")
	require.Equal(t, "its source says that it is so no longer", changes[0].Reason)

	denied.Voices, denied.Disputed, more.Disputed = []string{"diary"}, true, true
	changes = policies.Changes([]Worded{word(more, "The user: runs"), word(denied, "Diary: no longer")}, []Held{held}, newID)
	require.Len(t, changes, 2)
	require.Equal(t, []uuid.UUID{held.ID, {}}, []uuid.UUID{changes[0].Old, changes[1].Old}, "side by side")
	require.Less(t, changes[0].Confidence, policies.Confidence(more, 0))

	changes = policies.Changes(nil, []Held{held}, newID)
	require.True(t, len(changes) == 1 && changes[0].Ends && changes[0].Old == held.ID)
}
