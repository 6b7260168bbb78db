package oxbow

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// A full batch of uses is sent immediately, even if a timer already runs for some of them.
func TestUsesAreSentInBatches(t *testing.T) {
	t.Parallel()
	u := newUses()
	u.interval = time.Hour
	sent := make(chan int)
	u.send = func(_ context.Context, _ report, ids []uuid.UUID) error {
		sent <- len(ids)
		return nil
	}
	for range 3 {
		for range useBatch {
			u.add(report{userID: "ann", used: true}, []uuid.UUID{uuid.New()}, slog.Default())
		}
		require.Equal(t, useBatch, <-sent)
	}
	u.add(report{userID: "ann", used: true}, make([]uuid.UUID, useBatch+1), slog.Default())
	require.Equal(t, useBatch+1, <-sent)
}
