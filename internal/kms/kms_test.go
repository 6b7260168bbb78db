package kms

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tink-crypto/tink-go/v2/core/registry"
)

// A service that accepts connections and never answers fails the call.
func TestServiceHangs(t *testing.T) {
	defer func(before time.Duration) { callTimeout = before }(callTimeout)
	callTimeout = 50 * time.Millisecond
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	uri := "hcvault://" + listener.Addr().String() + "/transit/keys/seal"
	t.Setenv("VAULT_ADDR", "http://"+listener.Addr().String())
	t.Setenv("VAULT_TOKEN", "a-token")
	require.NoError(t, Register(t.Context(), uri))
	client, err := registry.GetKMSClient(uri)
	require.NoError(t, err)
	key, err := client.GetAEAD(uri)
	require.NoError(t, err)
	_, err = key.Encrypt([]byte("a keyset"), nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
