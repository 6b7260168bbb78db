package embedding

import (
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

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

// FuzzMessage: what is kept of a provider's words is a short line for a log, without the key.
func FuzzMessage(f *testing.F) {
	f.Add([]byte(`{"error":{"message":"slow down, sk-secret-key"}}`))
	f.Add([]byte(`{"message":"\u001b[31m太多\u202e请求\n\ud800"}`))
	f.Add([]byte("{\"detail\":\"\x8c\"}"))
	f.Fuzz(func(t *testing.T, body []byte) {
		text := (&transport{apiKey: "sk-secret-key"}).message(body)
		require.True(t, utf8.ValidString(text), "%q", text)
		require.False(t, strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }), "%q", text)
		require.LessOrEqual(t, utf8.RuneCountInString(text), 301) // an ellipsis
		require.NotContains(t, text, "sk-secret-key")
	})
}
