package sealing_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tink-crypto/tink-go/v2/core/registry"
	"github.com/tink-crypto/tink-go/v2/testing/fakekms"

	"github.com/oxbow-memory/oxbow/internal/sealing"
)

func TestSealAndOpen(t *testing.T) {
	t.Parallel()
	keys, err := sealing.New()
	require.NoError(t, err)
	sealed, err := keys.Seal("密码是 swordfish", "ann")
	require.NoError(t, err)
	require.NotContains(t, string(sealed), "swordfish")
	text, err := keys.Open(sealed, "ann")
	require.NoError(t, err)
	require.Equal(t, "密码是 swordfish", text)
	_, err = keys.Open(sealed, "bob")
	require.Error(t, err, "put elsewhere")
	sealed[len(sealed)-1] ^= 1
	_, err = keys.Open(sealed, "ann")
	require.Error(t, err, "changed")
}

func TestAddedKey(t *testing.T) {
	t.Parallel()
	old, err := sealing.New()
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
	both, err = sealing.Read(text, "")
	require.NoError(t, err)
	for want, sealed := range map[string][]byte{"a": before, "b": after} {
		got, err := both.Open(sealed, "p")
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	require.NotContains(t, fmt.Sprint(both), "value")
}

func TestKeyManagementService(t *testing.T) {
	t.Parallel()
	uri, err := fakekms.NewKeyURI()
	require.NoError(t, err)
	keys, err := sealing.New()
	require.NoError(t, err)
	_, err = keys.Write("other-kms://key")
	require.ErrorContains(t, err, "no client of the key management service of other-kms://key")
	client, err := fakekms.NewClient(uri)
	require.NoError(t, err)
	registry.RegisterKMSClient(client)
	text, err := keys.Write(uri)
	require.NoError(t, err)
	again, err := sealing.Read(text, uri)
	require.NoError(t, err)
	require.Equal(t, keys.ID(), again.ID())
	_, err = sealing.Read(text, "")
	require.Error(t, err, "it is encrypted")
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{}", "secret", `{"primaryKeyId": 1, "key": []}`} {
		_, err := sealing.Read(text, "")
		require.Error(t, err)
		require.NotContains(t, err.Error(), "secret")
	}
}
