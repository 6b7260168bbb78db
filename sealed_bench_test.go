package oxbow_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/sealed"
)

// BenchmarkSecret measures sealing without the database: go test -run '^$' -bench Secret .
func BenchmarkSecret(b *testing.B) {
	keys, err := sealed.NewKeys()
	require.NoError(b, err)
	const text = "The code of the door is 4711, and the key lies under the third stone. 门的密码是四七一一，钥匙在第三块石头下面。"
	b.Run("seal", func(b *testing.B) {
		for b.Loop() {
			if _, err := keys.Seal(text, "ann"); err != nil {
				b.Fatal(err)
			}
		}
	})
	ciphertext, err := keys.Seal(text, "ann")
	require.NoError(b, err)
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			if _, err := keys.Open(ciphertext, "ann"); err != nil {
				b.Fatal(err)
			}
		}
	})
	client, err := oxbow.New(pgtest.Pool(b), oxbow.WithSealer(keys))
	require.NoError(b, err)
	for name, level := range map[string]int{"plain": 0, "secret": 3} {
		m := oxbow.NewMemory{UserID: "ann", Content: text, Sensitivity: level}
		b.Run("remember "+name, func(b *testing.B) {
			for b.Loop() {
				if _, err := client.Remember(b.Context(), m); err != nil {
					b.Fatal(err)
				}
			}
		})
		id, err := client.Remember(b.Context(), m)
		require.NoError(b, err)
		b.Run("get "+name, func(b *testing.B) {
			for b.Loop() {
				if _, err := client.Get(b.Context(), "ann", id); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
