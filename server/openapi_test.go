package server_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/server"
)

func TestOpenAPIIsCommitted(t *testing.T) {
	t.Parallel()
	now, err := server.OpenAPI()
	require.NoError(t, err)
	committed, err := os.ReadFile("openapi.json")
	require.NoError(t, err)
	require.True(t, string(committed) == string(now),
		"the API differs from server/openapi.json: go run ./cli/oxbow serve --print-openapi > server/openapi.json")
}
