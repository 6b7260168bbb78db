package embedding

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Reading the lists at all checks their form; here every list has a use.
func TestWordsAreUsed(t *testing.T) {
	t.Parallel()
	require.Empty(t, words.Unused())
}
