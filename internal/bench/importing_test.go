package bench

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The promises are about a size each: nothing is said of another one.
func TestImportPromises(t *testing.T) {
	require.Equal(t, []string{"31439", "6.0", "19.0", "1655", "≤ 20 for 31,439 reached"}, importRow(31_439, 6*time.Second, 19*time.Second))
	require.Equal(t, "≤ 20 for 31,439 missed", importRow(31_439, 6*time.Second, 21*time.Second)[4])
	require.Equal(t, "≤ 20 for 31,439", importRow(1_000_000, 6*time.Second, 21*time.Second)[4])
	require.Equal(t, "< 200 for 1,000,000 reached", memoryPromise(1_000_000, 199_999_999))
	require.Equal(t, "< 200 for 1,000,000 missed", memoryPromise(1_000_000, 200_000_000))
	require.Equal(t, "< 200 for 1,000,000", memoryPromise(1_000_000, 0), "it is not known everywhere")
	require.Equal(t, "< 200 for 1,000,000", memoryPromise(31_439, 300_000_000))
}
