package worker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An unknown context is general: what follows in a known one is not a second context, and counts as C and not as A.
func TestUnknownContextIsNotASecondOne(t *testing.T) {
	b := setup(t)
	b.cfg.Now = func() time.Time { return morning }
	b.waiting("ann", "Went running.", "Went running again.", "Went running in the rain.")
	b.reflect("ann")
	for _, c := range []struct{ says, quality, context string }{
		{"Went running with a client.", "C", "work"},
		{"Went running after the meeting.", "C", "work"},
		{"Went running near home.", "A", "personal"},
	} {
		now := b.cfg.Now().AddDate(0, 0, 1)
		b.cfg.Now = func() time.Time { return now }
		memory := b.waiting("ann", c.says)[0]
		b.reflect("ann")
		require.Equal(t, c.quality+" "+c.context, get[string](b, `select quality || ' ' || context from oxbow.trait_evidence where memory_id = $1`, memory))
	}
	require.Equal(t, 6, b.held("ann").Supporting)
	require.Equal(t, 3, b.count(`oxbow.trait_evidence where context = 'general'`))
	b.consistent()
}
