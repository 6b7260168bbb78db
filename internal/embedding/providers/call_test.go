package providers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/embedding/providers"
)

func TestCallLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cfg   providers.Config
		time  time.Duration
		texts int
	}{
		{providers.Config{}, 10 * time.Second, 128},
		{providers.Config{Provider: "local"}, 10 * time.Second, 128},
		{providers.Config{Provider: "onnx"}, 2 * time.Minute, 16},
		{providers.Config{Provider: "openai"}, 35 * time.Second, 64},
		{providers.Config{Provider: "openai", Timeout: time.Minute}, 65 * time.Second, 64},
		{providers.Config{Provider: "ollama"}, 2*time.Minute + 5*time.Second, 8},
	} {
		require.Equal(t, c.time, c.cfg.CallTime(), c.cfg.Provider)
		require.Equal(t, c.texts, c.cfg.CallTexts(), c.cfg.Provider)
	}
}
