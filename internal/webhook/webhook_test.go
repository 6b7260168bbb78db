package webhook

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
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
		if !assert.NoError(t, err) {
			return
		}
		// The sender closes the connection once the headers are too long, so that a write may fail.
		_, _ = out.WriteString(said + "\r\nContent-Length: 0\r\n\r\n")
		_ = out.Flush()
		_ = conn.Close()
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

// The name of an address does not count, but where it leads.
func TestSendToName(t *testing.T) {
	t.Parallel()
	far := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(far.Close)
	_, err := NewSender(false).Send(t.Context(), strings.Replace(far.URL, "127.0.0.1", "localhost", 1), []byte("a secret"),
		"m1", time.Now(), []byte(`{}`))
	require.ErrorContains(t, err, "is not a public address")
}

// The networks in IANA's registries, and others that are not public, with the reason.
var notPublic = map[string]string{
	"0.0.0.0/8": "this network", "10.0.0.0/8": "private", "100.64.0.0/10": "shared", "127.0.0.0/8": "loopback",
	"169.254.0.0/16": "link-local", "172.16.0.0/12": "private", "192.0.0.0/24": "IETF", "192.0.2.0/24": "TEST-NET-1",
	"192.31.196.0/24": "AS112", "192.52.193.0/24": "AMT", "192.88.99.0/24": "6to4 relay", "192.168.0.0/16": "private",
	"192.175.48.0/24": "AS112", "198.18.0.0/15": "benchmark", "198.51.100.0/24": "TEST-NET-2",
	"203.0.113.0/24": "TEST-NET-3", "224.0.0.0/4": "multicast", "240.0.0.0/4": "reserved",
	"255.255.255.255/32": "broadcast",

	"::/128": "unspecified", "::1/128": "loopback", "::/96": "IPv4-compatible", "::ffff:0:0:0/96": "IPv4-translated",
	"64:ff9b::/96": "NAT64", "64:ff9b:1::/48": "local NAT64", "100::/64": "discard", "100:0:0:1::/64": "dummy",
	"2001::/23": "IETF", "2001::/32": "Teredo", "2001:1::/32": "anycast", "2001:2::/48": "benchmark", "2001:3::/32": "AMT",
	"2001:4:112::/48": "AS112", "2001:10::/28": "ORCHID", "2001:20::/28": "ORCHIDv2", "2001:30::/28": "drones",
	"2001:db8::/32": "documentation", "2002::/16": "6to4", "2620:4f:8000::/48": "AS112", "3ffe::/16": "6bone",
	"3fff::/20": "documentation", "4000::/2": "not assigned", "5f00::/16": "segment routing", "8000::/1": "not assigned",
	"fc00::/7": "unique local", "fe80::/10": "link-local", "fec0::/10": "site-local", "ff00::/8": "multicast",
}

func TestRefusePrivate(t *testing.T) {
	t.Parallel()
	refused := func(ip netip.Addr) bool { return refusePrivate(netip.AddrPortFrom(ip, 443).String()) != nil }
	for network, why := range notPublic {
		p := netip.MustParsePrefix(network)
		last := p.Addr().AsSlice()
		for bit := p.Bits(); bit < 8*len(last); bit++ {
			last[bit/8] |= 0x80 >> (bit % 8)
		}
		end, _ := netip.AddrFromSlice(last)
		for _, ip := range []netip.Addr{p.Addr(), end} {
			require.True(t, refused(ip), "%s, %s", ip, why)
			if ip.Is4() { // as an address of IPv6 that means it
				require.True(t, refused(netip.AddrFrom16(ip.As16())), "mapped %s, %s", ip, why)
			}
		}
	}
	require.True(t, refused(netip.MustParseAddr("2606:4700::1%eth0")), "with a zone")
	for _, text := range []string{"1.0.0.1", "9.255.255.255", "11.0.0.0", "93.184.216.34", "100.63.255.255", "100.128.0.0",
		"126.255.255.255", "128.0.0.0", "169.253.255.255", "172.15.255.255", "172.32.0.0", "191.255.255.255", "192.0.1.0",
		"192.167.255.255", "198.17.255.255", "198.20.0.0", "223.255.255.255", "::ffff:93.184.216.34", "2001:200::",
		"2001:db7::1", "2001:4860:4860::8888", "2003::", "2606:2800:220:1::1", "3ffd::1"} {
		require.False(t, refused(netip.MustParseAddr(text)), text)
	}
}
