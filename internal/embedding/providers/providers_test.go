package providers_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/embedding"
	"github.com/oxbow-memory/oxbow/internal/embedding/providers"
)

func TestOpenLocal(t *testing.T) {
	t.Parallel()
	for _, cfg := range []providers.Config{{}, {Provider: "local"},
		{Provider: "local", Model: embedding.LocalModel, Dimension: embedding.LocalDimension}} {
		e := open(t, cfg)
		require.Equal(t, embedding.LocalModel, e.Model())
		require.Equal(t, embedding.LocalDimension, e.Dimension())
	}
	require.Equal(t, 64, open(t, providers.Config{Dimension: 64}).Dimension())
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	good := providers.Config{Provider: "openai", Model: "m", Dimension: 8, URL: "http://127.0.0.1/v1"}
	open(t, good)
	for says, change := range map[string]func(*providers.Config){
		`unknown embedding provider "opnai"`:      func(c *providers.Config) { c.Provider = "opnai" },
		`model is empty`:                          func(c *providers.Config) { c.Model = " " },
		`dimension 0 of openai:m is out of range`: func(c *providers.Config) { c.Dimension = 0 },
		`dimension 3585 of openai:m`: func(
			c *providers.Config) {
			c.Dimension = embedding.MaxDimension + 1
		},
		`dimension -1 is out of range`: func(c *providers.Config) {
			c.Provider, c.Model, c.Dimension = "local", "", -1
		},
		`dimension 3585 is out of range`: func(c *providers.Config) {
			c.Provider, c.Model, c.Dimension = "", "", 3585
		},
		`the local embedding provider has no model "m"`: func(c *providers.Config) { c.Provider = "" },
		`the local embedding provider has no prefixes: omit "passage: "`: func(c *providers.Config) {
			*c = providers.Config{PassagePrefix: "passage: "}
		},
		"must be valid UTF-8 without NUL": func(c *providers.Config) { c.QueryPrefix = "a\xff" },
		`"a\x00" must be valid UTF-8`:     func(c *providers.Config) { c.PassagePrefix = "a\x00" },
		"without NUL, at most 1000 bytes": func(c *providers.Config) { c.PassagePrefix = strings.Repeat("x", 1001) },
		`URL "http://h:x" is not an http or https address`: func(
			c *providers.Config) {
			c.URL = "http://u:secret@h:x?k=secret"
		},
		`only the embedding provider onnx has a path and a library: omit "/m"`: func(c *providers.Config) { c.Path = "/m" },
		`the embedding path is empty`: func(c *providers.Config) {
			*c = providers.Config{Provider: "onnx"}
		},
		`the embedding provider onnx has no URL`: func(c *providers.Config) {
			c.Provider, c.Path = "onnx", "/m"
		},
		`API key is empty: https://api.openai.com/v1`: func(c *providers.Config) { c.URL = "" },
		`batch size 65 is out of range`:               func(c *providers.Config) { c.BatchSize = 65 },
	} {
		cfg := good
		change(&cfg)
		_, err := providers.Open(cfg)
		require.ErrorContains(t, err, says)
		require.NotContains(t, err.Error(), "secret")
	}
}
