package jobs

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/store"
)

// Each attempt asks about half as many messages, at last about one. What was judged before is shown, too.
func TestFewer(t *testing.T) {
	t.Parallel()
	messages := make([]store.TurnMessage, 8)
	for i := 2; i < len(messages); i++ {
		messages[i].Fresh = true
	}
	for attempt, want := range []int{8, 5, 3, 3, 3} {
		require.Len(t, fewer(messages, attempt+1), want)
	}
}
