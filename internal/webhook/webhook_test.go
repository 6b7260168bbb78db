package webhook

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/assert"
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

// The address of a webhook may have a secret, and the far end may say anything: neither is in a status or an error.
func TestSendQuotesNothing(t *testing.T) {
	t.Parallel()
	said := ""
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, out, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_, err = out.WriteString(said + "\r\nContent-Length: 0\r\n\r\n")
		}
		if assert.NoError(t, err) {
			assert.NoError(t, errors.Join(out.Flush(), conn.Close()))
		}
	}))
	t.Cleanup(far.Close)
	address := strings.Replace(far.URL, "http://", "http://robin:hunter22@", 1) + "/x?token=hunter22"
	for _, c := range []struct{ said, status, says string }{
		{"HTTP/1.1 204 " + strings.Repeat("\x00no", 10_000), "204 No Content", ""},
		{"HTTP/1.1 500 " + strings.Repeat("\x00no", 10_000), "500 Internal Server Error", "the far end answered 500 Internal"},
		{"HTTP/1.1 599 \x1b[31m", "599", "the far end answered 599"},
		{"HTTP/1.1 500 " + strings.Repeat("x", 900_000), "", "headers exceeded"},
		{"HTTP/1.1 5\x000 " + strings.Repeat("x", 9000), "", "malformed"},
		{strings.Repeat("\x00", 9000), "", "malformed"},
	} {
		said = c.said
		status, err := NewSender(true).Send(t.Context(), address, []byte("s"), "m1", time.Now(), []byte(`{}`))
		require.Equal(t, c.status, status)
		if c.says == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, c.says)
		require.Less(t, len(err.Error()), 1000)
		require.NotContains(t, err.Error(), "\x00")
		require.NotContains(t, err.Error(), "hunter22")
	}
	for _, address := range []string{"http://robin:hunter22@127.0.0.1:1/?token=hunter22", "http://x.invalid/?token=hunter22",
		"http://robin:hunter22@[::1/%zz?token=hunter22"} {
		_, err := NewSender(true).Send(t.Context(), address, []byte("s"), "m1", time.Now(), []byte(`{}`))
		require.Error(t, err)
		require.NotContains(t, err.Error(), "hunter22")
	}
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
