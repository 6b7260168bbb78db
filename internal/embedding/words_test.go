package embedding

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Reading the lists checks their format; this test checks that every list is used.
func TestWordsAreUsed(t *testing.T) {
	t.Parallel()
	require.Empty(t, words.Unused())
}
