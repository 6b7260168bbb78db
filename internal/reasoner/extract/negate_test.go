package extract

import (
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// TestNegation resolves pairs of statements in both languages. Each later statement takes back or renews what the
// earlier one says (opposite), or does neither (apart).
func TestNegation(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file    string
		want    reasoner.Operation
		failing int
	}{
		{"opposite.en.txt", reasoner.Update, 3},
		{"opposite.zh.txt", reasoner.Update, 3},
		{"apart.en.txt", reasoner.Add, 1},
		{"apart.zh.txt", reasoner.Add, 1},
	} {
		t.Run(c.file, func(t *testing.T) {
			text, err := os.ReadFile("testdata/negate/" + c.file)
			require.NoError(t, err)
			pairs, failed := 0, 0
			for line := range strings.Lines(string(text)) {
				held, now, ok := strings.Cut(strings.TrimSpace(line), " | ")
				if !ok || strings.HasPrefix(line, "#") {
					continue
				}
				pairs++
				h := reasoner.Held{ID: uuid.New(), Type: "fact", Content: held, Time: said.AddDate(0, -2, 0), Similarity: 0.9}
				for _, sources := range [][]uuid.UUID{nil, {uuid.New()}} { // stored, and said in a conversation
					r := resolved(t, reasoner.Candidate{Type: "fact", Content: now, Sources: sources}, h)
					if r.Operation != c.want || c.want == reasoner.Update && r.Reason != "it says the opposite" {
						failed++
						t.Logf("%s, then %s: %s (%s)", held, now, r.Operation, r.Reason)
						break
					}
				}
			}
			require.GreaterOrEqual(t, pairs, 60, c.file)
			require.LessOrEqual(t, failed, c.failing, c.file)
			t.Logf("%d of %d", pairs-failed, pairs)
		})
	}
}
