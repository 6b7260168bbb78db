package rules

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

func TestAbstractDenials(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"I don't drink coffee any more.": "No longer so: likes to drink coffee",
		"我现在不喝咖啡了。":                      "不再如此：爱喝咖啡",
	} {
		memories := []reasoner.Memory{{Content: said}, {Content: said}}
		topics := signs(aboutUser(memories))
		require.NotEmpty(t, topics, said)
		got, err := New().Abstract(t.Context(), reasoner.Dense{Topic: topics[0].key, Denies: true, Fragments: memories})
		require.NoError(t, err)
		require.Equal(t, want, got.Content)
	}
}
