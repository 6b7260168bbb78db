package reflection

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/traits"
)

// disputed returns a trait at 0.8 with three supporting and two contradicting memories and a
// review due.
func disputed(t *testing.T) (*book, traits.Trait) {
	b := newBook(t)
	trait := b.behavior(runs, 0.8, "")
	m := b.on(4, 5)
	b.reflect(day(5), m, contradict(trait.ID, m...))
	require.NotZero(t, b.only().ReviewDueAt)
	b.happens(trait.ID, lifecycle.Event{Kind: lifecycle.Revised, At: day(5), Sets: 0.8})
	return b, b.only()
}

// review applies a verdict to the only trait.
func (b *book) review(now time.Time, v reasoner.Verdict, supporting, contradicting []string) *Plan {
	b.Helper()
	s := b.snapshot(now, nil)
	t := b.only()
	c := &reasoner.Case{Now: now, Trait: s.shown(t)}
	for _, context := range supporting {
		c.Supporting = append(c.Supporting, reasoner.Evidence{Memory: reasoner.Memory{ID: uuid.New(),
			Context: context}})
	}
	for _, context := range contradicting {
		c.Contradicting = append(c.Contradicting, reasoner.Evidence{Memory: reasoner.Memory{ID: uuid.New(),
			Context: context}})
	}
	p := s.Conclude(v, c, b.seen(nil, map[uuid.UUID]int{t.ID: s.ReviewWeight(t)}))
	b.write(p)
	return p
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	pro, con := []string{"work", "work", ""}, []string{"personal", "personal"}
	for name, c := range map[string]struct {
		verdict    reasoner.Verdict
		content    string
		confidence float64
		stage      lifecycle.Stage
		last       lifecycle.Kind
		dropped    string
	}{
		"keep": {verdict: reasoner.Verdict{Action: reasoner.Keep, Reason: "two bad days"}, content: runs,
			confidence: 0.8, stage: lifecycle.Established, last: lifecycle.Revised},
		"revise": {verdict: reasoner.Verdict{Action: reasoner.Revise, Content: " Ann runs\non workdays. ", Reason: "r"},
			content:    "Ann runs on workdays.",
			confidence: 0.8 * 3 / 5, stage: lifecycle.Emerging, last: lifecycle.Revised},
		"dissolve": {verdict: reasoner.Verdict{Action: reasoner.Dissolve, Reason: "she stopped"}, content: runs,
			confidence: 0.8, stage: lifecycle.Dissolved, last: lifecycle.Dissolution},
		"split": {verdict: reasoner.Verdict{Action: reasoner.Split, Content: "Ann runs, but not at home.",
			Tendencies: map[string]string{"work": "she runs", "personal": "she does not", "social": "who knows"}},
			content: "Ann runs, but not at home.", confidence: (0.8 + 0.8 + 0.4) / 3, stage: lifecycle.Established,
			last: lifecycle.Split},
		"a split into one": {verdict: reasoner.Verdict{Action: reasoner.Split, Content: "x",
			Tendencies: map[string]string{"work": "she runs"}}, content: runs, confidence: 0.8,
			stage: lifecycle.Established, last: lifecycle.Revised, dropped: "a split needs at least two contexts"},
		"a split into what is no context": {verdict: reasoner.Verdict{Action: reasoner.Split, Content: "x",
			Tendencies: map[string]string{"work": "she runs", "moon": "she flies"}}, content: runs, confidence: 0.8,
			stage: lifecycle.Established, last: lifecycle.Revised, dropped: `unknown context "moon"`},
		"a revision that is sensitive": {verdict: reasoner.Verdict{Action: reasoner.Revise,
			Content: "Ann has depression.", Reason: "Ann has depression."}, content: runs, confidence: 0.8,
			stage: lifecycle.Established, last: lifecycle.Revised, dropped: "nothing is inferred about health"},
		"a tendency that is sensitive": {verdict: reasoner.Verdict{Action: reasoner.Split, Content: "x",
			Tendencies: map[string]string{"work": "she runs", "personal": "she has depression"}}, content: runs,
			confidence: 0.8, stage: lifecycle.Established, last: lifecycle.Revised,
			dropped: "nothing is inferred about health"},
		"a revision without words": {verdict: reasoner.Verdict{Action: reasoner.Revise}, content: runs,
			confidence: 0.8, stage: lifecycle.Established, last: lifecycle.Revised, dropped: "it is empty"},
		"something else": {verdict: reasoner.Verdict{Action: "set confidence to 1"}, content: runs,
			confidence: 0.8, stage: lifecycle.Established, last: lifecycle.Revised,
			dropped: `unknown action "set confidence to 1"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, trait := disputed(t)
			p := b.review(day(5), c.verdict, pro, con)
			after := b.only()
			require.Zero(t, after.ReviewDueAt, "it was reviewed")
			require.Equal(t, c.content, after.Content)
			require.InDelta(t, c.confidence, after.State.Confidence, 1e-12)
			require.Equal(t, c.stage, after.State.Stage)
			kinds := b.kinds(trait.ID)
			require.Equal(t, c.last, kinds[len(kinds)-1])
			if c.dropped == "" {
				require.Empty(t, p.Dropped)
			} else {
				require.Equal(t, []string{c.dropped}, reasons(p))
				require.NotContains(t, p.Dropped[0].What, "depression")
			}
			for _, e := range b.events[trait.ID] {
				if e.Reason != nil {
					require.NotContains(t, *e.Reason, "depression")
				}
			}
			require.Equal(t, c.stage == lifecycle.Dissolved, p.Dissolved == 1)
		})
	}
}

// Each tendency of a split trait gets the share of its context.
func TestSplitIntoContexts(t *testing.T) {
	t.Parallel()
	b, _ := disputed(t)
	p := b.review(day(5), reasoner.Verdict{Action: reasoner.Split, Content: "It depends.",
		Tendencies: map[string]string{
			"work": "she runs", "personal": "she does not", "learning": "nothing tells"}}, []string{"work", "work",
		"work", "personal"}, []string{"work", "personal", "personal"})
	var contexts map[string]tendency
	require.NoError(t, json.Unmarshal(p.order[0].Tendencies, &contexts))
	require.Equal(t, "she does not", contexts["personal"].Tendency)
	require.InDelta(t, 0.8*3/4, contexts["work"].Confidence, 1e-12)
	require.InDelta(t, 0.8*2/3, contexts["personal"].Confidence, 1e-12)
	require.InDelta(t, 0.4, contexts["learning"].Confidence, 1e-12)
	require.Equal(t, "contextual", b.only().Context)
	require.Equal(t, "contradiction_split", p.order[0].Derived)
	// The trait continues to gather evidence in each context.
	m := []reasoner.Memory{b.memory("x", 6, "", "work"), b.memory("y", 7, "", "social")}
	b.reflect(day(7), m, reinforce(b.only().ID, from(m...)...))
	require.Equal(t, "contextual", b.only().Context)
}

// A revision without supporting evidence leaves almost no confidence.
func TestRevisionWithoutSupport(t *testing.T) {
	t.Parallel()
	b, trait := disputed(t)
	b.evidence[trait.ID] = nil
	b.review(day(5), reasoner.Verdict{Action: reasoner.Revise, Content: "Ann ran once."}, nil, []string{""})
	require.Equal(t, lifecycle.Dissolved, b.only().State.Stage)
	require.Equal(t, []lifecycle.Kind{lifecycle.Revised, lifecycle.Dissolution},
		b.kinds(trait.ID)[len(b.kinds(trait.ID))-2:])
}

// A trait that was edited or dissolved meanwhile needs no review.
func TestNothingIsLeftToReview(t *testing.T) {
	t.Parallel()
	for _, do := range []func(*traits.Trait){
		func(t *traits.Trait) { t.EditedAt = day(5) },
		func(t *traits.Trait) { t.State.Stage = lifecycle.Dissolved },
	} {
		b, trait := disputed(t)
		b.change(trait.ID, do)
		if b.only().State.Stage == lifecycle.Dissolved {
			b.change(trait.ID, func(t *traits.Trait) { t.State.Stage = lifecycle.Established })
			b.happens(trait.ID, lifecycle.Event{Kind: lifecycle.Dissolution, At: day(5)})
		}
		before := b.only().State
		b.review(day(5), reasoner.Verdict{Action: reasoner.Revise, Content: "x"}, nil, []string{""})
		require.Equal(t, before, b.only().State)
		require.Equal(t, runs, b.only().Content)
		require.Zero(t, b.only().ReviewDueAt)
	}
}
