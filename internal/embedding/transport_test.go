package embedding

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// FuzzRetryAfter: no server makes a worker wait for ever, or for less than nothing.
func FuzzRetryAfter(f *testing.F) {
	for _, header := range []string{"", "120", "-1", "1e300", "NaN", "+Inf", "Wed, 21 Oct 2099 07:28:00 GMT", "Mon, 01 Jan 0001 00:00:00 GMT"} {
		f.Add(header)
	}
	now := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	f.Fuzz(func(t *testing.T, header string) {
		wait := retryAfter(header, now)
		require.GreaterOrEqual(t, wait, time.Duration(0), header)
		require.LessOrEqual(t, wait, 24*time.Hour, header)
	})
}
