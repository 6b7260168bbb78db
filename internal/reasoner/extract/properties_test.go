package extract

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

func TestDeterministic(t *testing.T) {
	t.Parallel()
	c := talking("Ana: I live in Lisbon. Yesterday I rowed up the river with Tom and Rex!",
		"Rui: Nice! What did you see?", "Ana: Herons, two otters and a sunken boat", "Rui: 我上周三和小李去了西湖，特别开心",
		"Ana: I don't like coffee any more.")
	first := extracted(t, c)
	for range 20 {
		require.Equal(t, first, extracted(t, c))
	}
	require.NotEmpty(t, first.Candidates)
	for _, one := range first.Candidates {
		for _, id := range one.Sources {
			require.True(t, slices.ContainsFunc(c.Messages, func(m reasoner.Message) bool { return m.ID == id }))
		}
	}
}

// Only the beginning of a pasted document is read. Reading in more than linear time would take
// hours.
func TestLongMessages(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"I live in Lisbon. " + strings.Repeat("The harbour wall was repaired with granite from the northern quarry. ",
			20_000),
		strings.Repeat("昨天我们把院子里的老梨树移到了河边，忙了一整天。", 20_000), strings.Repeat("a", 1<<20), strings.Repeat("我", 1<<18),
		strings.Repeat("[", 1<<20), strings.Repeat("I live in ", 100_000),
		strings.Repeat("and I work at ", 80_000), "\xff\xfe broken \x80 I live in Lisbon",
	} {
		for _, c := range extracted(t, talking("user: "+text)).Candidates {
			require.LessOrEqual(t, len(c.Content), maxContent)
		}
	}
}

func FuzzExtract(f *testing.F) {
	for _, text := range []string{"I live in Lisbon, and I'm 34", "我叫林小雨，住在杭州", "[image: x] I'm", "my favourite is",
		"```", "我", "\xff", "Find me a dentist, I live in Porto", "Hi — ", "《", "Mr. I. A. ?"} {
		f.Add(text, text)
	}
	f.Fuzz(func(t *testing.T, one, two string) {
		c := talking("Ana: "+one, "user: "+two)
		c.Recalled = []reasoner.Held{{ID: uuid.New(), Content: two}}
		x := extracted(t, c)
		var conflicts []reasoner.Conflict
		for _, candidate := range x.Candidates {
			conflicts = append(conflicts, reasoner.Conflict{Candidate: candidate, Similar: c.Recalled})
		}
		_, err := New().Resolve(context.Background(), said, conflicts)
		require.NoError(t, err)
		for _, speaker := range []string{"", two} {
			require.Equal(t, one, New().Fact(one, speaker).Content)
		}
	})
}
