package rules

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

func TestReview(t *testing.T) {
	t.Parallel()
	evidence := func(day int, context, text string) reasoner.Evidence {
		m := days(text)[0]
		m.Time = m.Time.AddDate(0, 0, day)
		m.Context = context
		return reasoner.Evidence{Memory: m}
	}
	run := reasoner.Trait{Content: "经常跑步", Key: "do:running"}
	english := reasoner.Trait{Content: "Often goes running", Key: "do:running"}
	edited := run
	edited.Edited = true
	for _, c := range []struct {
		name       string
		trait      reasoner.Trait
		supporting []reasoner.Evidence
		against    []reasoner.Evidence
		want       reasoner.Action
		content    string
	}{
		{"the last word is that it is over", run, []reasoner.Evidence{evidence(0, "", "跑步五公里")},
			[]reasoner.Evidence{evidence(5, "", "我不再跑步了")}, reasoner.Dissolve, ""},
		{"in English", english, []reasoner.Evidence{evidence(0, "", "Went running")},
			[]reasoner.Evidence{evidence(5, "", "I gave up running")}, reasoner.Dissolve, ""},
		{"it went on", run, []reasoner.Evidence{evidence(9, "", "跑步五公里")},
			[]reasoner.Evidence{evidence(5, "", "我不再跑步了")}, reasoner.Keep, ""},
		{"not outright", run, []reasoner.Evidence{evidence(0, "", "跑步五公里")},
			[]reasoner.Evidence{evidence(5, "", "懒得动")}, reasoner.Revise, "有时跑步"},
		{"not outright, in English", english, []reasoner.Evidence{evidence(0, "", "Went running")},
			[]reasoner.Evidence{evidence(5, "", "Too lazy")}, reasoner.Revise, "Sometimes goes running"},
		{"the user's own wording", edited, []reasoner.Evidence{evidence(0, "", "跑步五公里")},
			[]reasoner.Evidence{evidence(5, "", "懒得动")}, reasoner.Keep, ""},
		{"by context", run, []reasoner.Evidence{evidence(0, "personal", "跑步五公里"), evidence(9, "personal", "跑步")},
			[]reasoner.Evidence{evidence(5, "work", "出差不跑步")}, reasoner.Split, "经常跑步（视场合而定）"},
		{"it is over, whatever the context", run, []reasoner.Evidence{evidence(0, "personal", "跑步五公里")},
			[]reasoner.Evidence{evidence(5, "work", "升职以后我不再跑步了")}, reasoner.Dissolve, ""},
		{"nothing against it", run, nil, nil, reasoner.Keep, ""},
	} {
		v, err := New().Review(context.Background(), reasoner.Case{Now: later, Trait: c.trait, Supporting: c.supporting,
			Contradicting: c.against})
		require.NoError(t, err)
		require.Equal(t, c.want, v.Action, c.name)
		require.Equal(t, c.content, v.Content, c.name)
		require.NotEmpty(t, v.Reason, c.name)
		if v.Action == reasoner.Split {
			require.Equal(t, map[string]string{"personal": "经常跑步", "work": "不再如此：经常跑步"}, v.Tendencies)
		} else {
			require.Nil(t, v.Tendencies)
		}
	}
}

// A person who ran, and stopped, is a person who does not run: through the whole cycle.
func TestWhatIsOverDissolves(t *testing.T) {
	t.Parallel()
	l := newLife(t, later)
	l.reflect(days("跑步", "跑步五公里", "晚上跑步"))
	require.Equal(t, []string{"经常跑步"}, l.visible())
	gone := days("", "", "", "膝盖不行，我不再跑步了", "跑步戒了，改散步", "再也不跑步了")[3:]
	l.reflect(gone)
	require.Empty(t, l.visible())
	back := days("", "", "", "", "", "", "又开始跑步了", "跑步十公里", "跑步让人快乐")[6:]
	l.reflect(back)
	l.reflect(days("", "", "", "", "", "", "", "", "", "跑步六公里")[9:])
	require.Contains(t, l.visible(), "经常跑步", "and who runs again, does")
}
