package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHealth(t *testing.T) {
	t.Parallel()
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.WriteHeader(status)
		_, _ = rw.Write([]byte(`{"worker": "not working jobs"}`))
	}))
	defer server.Close()
	require.Zero(t, cli(t, "health", server.URL).code)

	status = http.StatusServiceUnavailable
	r := cli(t, "health", server.URL)
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.err, "503 Service Unavailable: {\"worker\": \"not working jobs\"}")

	server.Close()
	r = cli(t, "health", server.URL)
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.err, "connection refused")

	r = cli(t, "health", "127.0.0.1:8080")
	require.Equal(t, exitUsage, r.code)
	require.Contains(t, r.err, `invalid URL "127.0.0.1:8080"`)
}
