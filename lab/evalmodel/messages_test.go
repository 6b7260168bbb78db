package main

import (
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

func TestMessages(t *testing.T) {
	t.Parallel()
	said, sessions, chinese := map[string]int{}, map[string]bool{}, 0
	for _, m := range messages(0, false) {
		said[m.UserID]++
		sessions[m.SessionID] = true
		for _, r := range m.Content {
			if unicode.Is(unicode.Han, r) {
				chinese++
				break
			}
		}
		require.Contains(t, []string{"user", "assistant"}, m.Role)
	}
	require.Equal(t, map[string]int{"mia": 50, "tom": 50, "lin": 50, "chen": 50}, said)
	require.Len(t, sessions, 10)
	require.Equal(t, 100, chinese)
	require.Len(t, messages(3, false), 12)
	require.Len(t, messages(3, true), 6)
}
