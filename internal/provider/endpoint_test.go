package provider

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestEndpointResolve(t *testing.T) {
	t.Parallel()
	good := Endpoint{Protocol: OpenAI, Model: "m", URL: "http://127.0.0.1/v1"}
	for says, change := range map[string]func(*Endpoint){
		"":                      func(*Endpoint) {},
		`model is empty`:        func(e *Endpoint) { e.Model = " " },
		`URL "localhost:11434"`: func(e *Endpoint) { e.URL = "localhost:11434" },
		`URL "http://h:x" is not an http or https address`: func(
			e *Endpoint) {
			e.URL = "http://u:secret@h:x?k=secret"
		},
		`API key is empty: https://api.openai.com/v1`: func(e *Endpoint) { e.URL = "" },
		`API key contains a line break`:               func(e *Endpoint) { e.APIKey = "secret\n" },
		`timeout -1s is negative`:                     func(e *Endpoint) { e.Timeout = -time.Second },
	} {
		e := good
		change(&e)
		url, err := e.Resolve("reasoner")
		if says == "" {
			require.NoError(t, err)
			require.Equal(t, good.URL, url)
			continue
		}
		require.ErrorContains(t, err, says)
		require.Regexp(t, "^reasoner ", err.Error())
		require.NotContains(t, err.Error(), "secret")
	}
	url, err := Endpoint{Protocol: Ollama, Model: "m"}.Resolve("embedding")
	require.NoError(t, err)
	require.Equal(t, "http://127.0.0.1:11434", url)
}
