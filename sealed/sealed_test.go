package sealed_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tink-crypto/tink-go/v2/core/registry"
	"github.com/tink-crypto/tink-go/v2/testing/fakekms"

	"github.com/oxbow-memory/oxbow/sealed"
)

func TestSealAndOpen(t *testing.T) {
	t.Parallel()
	keys, err := sealed.NewKeys()
	require.NoError(t, err)
	ciphertext, err := keys.Seal("密码是 swordfish", "ann")
	require.NoError(t, err)
	require.NotContains(t, string(ciphertext), "swordfish")
	text, err := keys.Open(ciphertext, "ann")
	require.NoError(t, err)
	require.Equal(t, "密码是 swordfish", text)
	_, err = keys.Open(ciphertext, "bob")
	require.Error(t, err, "put elsewhere")
	ciphertext[len(ciphertext)-1] ^= 1
	_, err = keys.Open(ciphertext, "ann")
	require.Error(t, err, "changed")
}

func TestAddedKey(t *testing.T) {
	t.Parallel()
	old, err := sealed.NewKeys()
	require.NoError(t, err)
	before, err := old.Seal("a", "p")
	require.NoError(t, err)
	both, err := old.Add()
	require.NoError(t, err)
	require.NotEqual(t, old.ID(), both.ID())
	after, err := both.Seal("b", "p")
	require.NoError(t, err)
	_, err = old.Open(after, "p")
	require.Error(t, err)
	text, err := both.Write("")
	require.NoError(t, err)
	both, err = sealed.ReadKeys(text, "")
	require.NoError(t, err)
	for want, ciphertext := range map[string][]byte{"a": before, "b": after} {
		got, err := both.Open(ciphertext, "p")
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	require.NotContains(t, fmt.Sprint(both), "value")
	require.Equal(t, old.Name("4711"), both.Name("4711"), "added keys and another program change no name")
	require.NotEqual(t, old.Name("4711"), old.Name("4712"))
	other, err := sealed.NewKeys()
	require.NoError(t, err)
	require.NotEqual(t, old.Name("4711"), other.Name("4711"))
}

func TestKeyManagementService(t *testing.T) {
	t.Parallel()
	uri, err := fakekms.NewKeyURI()
	require.NoError(t, err)
	keys, err := sealed.NewKeys()
	require.NoError(t, err)
	_, err = keys.Write("other-kms://key")
	require.ErrorContains(t, err, "no client of the key management service of other-kms://key")
	client, err := fakekms.NewClient(uri)
	require.NoError(t, err)
	registry.RegisterKMSClient(client)
	text, err := keys.Write(uri)
	require.NoError(t, err)
	again, err := sealed.ReadKeys(text, uri)
	require.NoError(t, err)
	require.Equal(t, keys.ID(), again.ID())
	_, err = sealed.ReadKeys(text, "")
	require.Error(t, err, "it is encrypted")
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{}", "secret", `{"primaryKeyId": 1, "key": []}`} {
		_, err := sealed.ReadKeys(text, "")
		require.Error(t, err)
		require.NotContains(t, err.Error(), "secret")
	}
}
