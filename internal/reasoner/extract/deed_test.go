package extract

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// Short events without a feeling are evidence of habits.
func TestShortDeeds(t *testing.T) {
	t.Parallel()
	for text, kept := range map[string]bool{
		"I went to the gym today.": true, "Yesterday I played tennis.": true, "Went running this morning": true,
		"We went hiking.": true, "I ran ten kilometres.": true, "I did yoga this morning.": true,
		"今天去健身房了": true, "昨天去游泳了。": true, "今天又跑了五公里": true, "周末去爬山了。": true,
		"I went to bed.": false, "I went home.": false, "It went well.": false, "I'm going to the gym": false,
		"I went crazy": false, "Did you go to the gym?": false,
		"今天去睡了": false, "刚回去了": false, "今天没去健身房": false, "你今天去健身房了吗？": false,
	} {
		found, err := New().Extract(t.Context(), reasoner.Conversation{Messages: []reasoner.Message{{Role: "user",
			Content: text, Time: said, New: true}}})
		require.NoError(t, err)
		if !kept {
			require.Empty(t, found.Candidates, text)
			continue
		}
		require.Len(t, found.Candidates, 1, text)
		require.Equal(t, "episodic", found.Candidates[0].Type, text)
	}
}
