package extract

import (
	"bufio"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// linesOf returns the lines of a file of testdata/stored, each split at " | ".
func linesOf(tb testing.TB, name string) (lines [][]string) {
	tb.Helper()
	file, err := os.Open("testdata/stored/" + name)
	require.NoError(tb, err)
	defer file.Close()
	for s := bufio.NewScanner(file); s.Scan(); {
		if !strings.HasPrefix(s.Text(), "#") {
			lines = append(lines, strings.Split(s.Text(), " | "))
		}
	}
	return lines
}

// reconciled returns what a stored fact does to an earlier one.
func reconciled(t *testing.T, held, now, speaker string) reasoner.Resolution {
	t.Helper()
	old := New().Fact(held, speaker)
	h := reasoner.Held{ID: uuid.New(), Type: "fact", Content: held, Time: said.AddDate(0, -2, 0), Similarity: 0.97,
		Speaker: speaker, About: old.About}
	return resolved(t, New().Fact(now, speaker), h)
}

// What replaces or repeats a fact is about the same as it.
func TestStoredPairs(t *testing.T) {
	t.Parallel()
	failed := 0
	for _, l := range linesOf(t, "pairs.txt") {
		speaker := ""
		if len(l) > 3 {
			speaker = l[3]
		}
		old, now := New().Fact(l[0], speaker), New().Fact(l[1], speaker)
		if !slices.ContainsFunc(now.About, func(a string) bool { return slices.Contains(old.About, a) }) {
			failed++
			t.Logf("%s %q, then %s %q: about different things", l[0], old.About, l[1], now.About)
		}
		if r := reconciled(t, l[0], l[1], speaker); string(r.Operation) != l[2] {
			failed++
			t.Logf("%s, then %s: %s (%s)", l[0], l[1], r.Operation, r.Reason)
		}
	}
	require.Zero(t, failed)
}

// A fact replaces only facts about its subject. A question replaces nothing, and neither does what somebody else says.
func TestStoredSubjects(t *testing.T) {
	t.Parallel()
	failed := 0
	for _, l := range linesOf(t, "subjects.txt") {
		r := reconciled(t, l[0], l[1], strings.Join(l[3:], ""))
		if string(r.Operation) != l[2] {
			failed++
			t.Logf("%s, then %s: %s (%s), not %s", l[0], l[1], r.Operation, r.Reason, l[2])
		}
	}
	require.Zero(t, failed)
}

// Facts that may all be true leave each other alone, in any order.
func TestStoredApart(t *testing.T) {
	t.Parallel()
	pairs, failed := 0, 0
	for _, name := range []string{"apart.en.txt", "apart.zh.txt"} {
		facts := linesOf(t, name)
		for i := range facts {
			for j := range facts {
				if i == j {
					continue
				}
				pairs++
				if r := reconciled(t, facts[i][0], facts[j][0], ""); r.Operation != reasoner.Add {
					failed++
					t.Logf("%s, then %s: %s (%s)", facts[i][0], facts[j][0], r.Operation, r.Reason)
				}
			}
		}
	}
	require.Greater(t, pairs, 500)
	require.LessOrEqual(t, 500*failed, pairs)
}

func TestStoredCategories(t *testing.T) {
	t.Parallel()
	failed := 0
	for _, l := range linesOf(t, "categories.txt") {
		if c := New().Fact(l[0], strings.Join(l[2:], "")).Category; string(c) != l[1] {
			failed++
			t.Logf("%s: %s, not %s", l[0], c, l[1])
		}
	}
	require.Zero(t, failed)
}

// What a fact of another subject is about differs from what the same fact of the user is about.
func TestStoredAbout(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fact, speaker string
		want          []string
	}{
		{"Lives in Porto", "", []string{"home"}},
		{"Ada lives in Porto", "Ada", []string{"home"}},
		{"Ada lives in Porto", "", []string{"ada:home"}},
		{"Ada lives in Porto", "Ada Costa", []string{"home"}},
		{"Ada's phone number is 555 0199", "Ada", []string{"my:phone number"}},
		{"Tom's phone number is 555 0199", "Ada", []string{"tom:my:phone number"}},
		{"His wife drives a Fiat", "", []string{"wife:my:car"}},
		{"Drives an electric Renault", "", []string{"my:car"}},
		{"Drives a school bus", "", []string{"taste:bus"}},
		{"Tom lives in Bergen. He works at a shipyard.", "", []string{"tom:home", "tom:employer"}},
		{"Lives in Porto and works at Acme", "", []string{"home", "employer"}},
		{"Also works at a garden centre on Sundays", "", nil},
		{"No longer likes karaoke nights", "", []string{"taste:karaok"}},
		{"Visited Rome", "", nil},
		{"", "", nil},
		{"用户在一家出版社工作", "", []string{"employer"}},
		{"林岚住在厦门", "林岚", []string{"home"}},
		{"林岚住在厦门", "", []string{"林岚:home"}},
		{"她的姐姐在医院工作", "", []string{"姐姐:employer"}},
		{"大女儿住在上海", "", []string{"大女儿:home"}},
		{"家里有一只猫", "", []string{"taste:只猫"}},
		{"以前住在重庆", "", nil},
	} {
		got := New().Fact(c.fact, c.speaker).About
		if c.want == nil && c.fact != "" && len(got) > 0 {
			require.Contains(t, got[0], "taste:", c.fact) // no attribute
			continue
		}
		require.Equal(t, c.want, got, c.fact)
	}
}

// A stored fact and what was said in a conversation replace each other.
func TestStoredAndSaid(t *testing.T) {
	t.Parallel()
	said := reasoner.Candidate{Type: "fact", Content: "I live in Porto", Sources: []uuid.UUID{uuid.New()}}
	stored := reasoner.Held{ID: uuid.New(), Type: "fact", Content: "Lives in Lisbon"}
	require.Equal(t, reasoner.Update, resolved(t, said, stored).Operation)
	held := reasoner.Held{ID: uuid.New(), Type: "fact", Content: "I live in Lisbon"}
	require.Equal(t, reasoner.Update, resolved(t, New().Fact("The user lives in Porto", ""), held).Operation)
	require.Equal(t, reasoner.Add, resolved(t, New().Fact("His wife lives in Porto", ""), held).Operation)

	two := New().Fact("Lives in Lisbon. Works at Acme.", "")
	require.Equal(t, reasoner.Add, resolved(t, two, held).Operation, "the employer would be lost")
}
