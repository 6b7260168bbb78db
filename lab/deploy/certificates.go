package main

import (
	"context"
	"encoding/pem"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/oxbow-memory/oxbow/lab/must"
)

// tryCertificates checks that the program verifies TLS with the authorities where the base image has them, and with no
// others: an empty root has none.
func tryCertificates(ctx context.Context, image *image) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // the refused connection
	server.StartTLS()
	defer server.Close()
	out, err := image.run(ctx, nil, "health", server.URL)
	if err == nil || !strings.Contains(out, "unknown authority") {
		must.OK(errors.New("a server of an unknown authority is trusted: " + out))
	}
	file := filepath.Join(image.root, "etc/ssl/certs/ca-certificates.crt")
	must.OK(os.MkdirAll(filepath.Dir(file), 0o755))
	must.OK(os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o644))
	must.Get(image.run(ctx, nil, "health", server.URL))
	must.OK(os.RemoveAll(filepath.Join(image.root, "etc")))
}
