package webhook

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"
)

func TestSend(t *testing.T) {
	t.Parallel()
	status := http.StatusNoContent
	hook, err := standardwebhooks.NewWebhookRaw([]byte("a secret"))
	require.NoError(t, err)
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		message, err := io.ReadAll(r.Body)
		if err == nil {
			err = hook.Verify(message, r.Header)
		}
		if err != nil || r.Header.Get("webhook-id") != "m1" || string(message) != `{"a": 1}` {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		if status == http.StatusFound {
			w.Header().Set("Location", "/elsewhere")
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(far.Close)
	send := func(private bool, secret string) error {
		_, err := NewSender(private).Send(t.Context(), far.URL, []byte(secret), "m1", time.Now(), []byte(`{"a": 1}`))
		return err
	}
	require.NoError(t, send(true, "a secret"))
	require.ErrorContains(t, send(true, "another"), "418")
	require.ErrorContains(t, send(false, "a secret"), "127.0.0.1 is not a public address")
	status = http.StatusFound
	require.ErrorContains(t, send(true, "a secret"), "302")
	status = http.StatusInternalServerError
	require.ErrorContains(t, send(true, "a secret"), "500")
	status = http.StatusGone
	require.ErrorIs(t, send(true, "a secret"), ErrGone)
}

func TestRefusePrivate(t *testing.T) {
	t.Parallel()
	for address, public := range map[string]bool{"93.184.216.34:443": true, "[2606:2800:220:1::1]:80": true,
		"10.1.2.3:80": false, "192.168.1.1:80": false, "172.20.0.1:80": false, "127.0.0.1:80": false, "[::1]:80": false,
		"169.254.169.254:80": false, "[fe80::1]:80": false, "[fd00::1]:80": false, "0.0.0.0:80": false,
		"100.64.0.1:80": false, "224.0.0.1:80": false, "[::ffff:10.0.0.1]:80": false} {
		require.Equal(t, public, refusePrivate(address) == nil, address)
	}
}
