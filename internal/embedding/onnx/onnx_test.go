//go:build onnx

package onnx

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// write writes files and returns their directory.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return dir
}

func TestReadFolder(t *testing.T) {
	t.Parallel()
	modules := `[{"path": "", "type": "sentence_transformers.models.Transformer"},
		{"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
		{"path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}]`
	for _, c := range []struct {
		files map[string]string
		want  folder
	}{
		{map[string]string{"onnx/model.onnx": "", "tokenizer_config.json": `{"model_max_length": 1e30}`},
			folder{model: "onnx/model.onnx", pooling: "mean", tokens: 512}},
		{map[string]string{"model.onnx": "", "modules.json": modules, "tokenizer_config.json": `{"model_max_length": 128}`,
			"1_Pooling/config.json": `{"word_embedding_dimension": 384, "pooling_mode_cls_token": true,
				"pooling_mode_mean_tokens": false}`},
			folder{model: "model.onnx", pooling: "cls", dimension: 384, tokens: 128}},
		{map[string]string{"model.onnx": "", "modules.json": modules,
			"sentence_bert_config.json": `{"max_seq_length": 256}`, "tokenizer_config.json": `{"model_max_length": 128}`,
			"1_Pooling/config.json":             `{"embedding_dimension": 768, "pooling_mode": "mean", "include_prompt": true}`,
			"config_sentence_transformers.json": `{"prompts": {"query": "query: ", "document": "passage: "}}`},
			folder{model: "model.onnx", pooling: "mean", dimension: 768, tokens: 256, queryPrefix: "query: ",
				passagePrefix: "passage: "}},
	} {
		dir := write(t, c.files)
		c.want.model, c.want.tokenizer = filepath.Join(dir, c.want.model), filepath.Join(dir, "tokenizer.json")
		got, err := readFolder(dir)
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
}

func TestOpenRefusesAFolder(t *testing.T) {
	t.Parallel()
	pooling := `[{"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]`
	for says, files := range map[string]map[string]string{
		"contains neither model.onnx nor onnx/model.onnx": {},
		"1_Pooling/config.json does not exist":            {"model.onnx": "", "modules.json": pooling},
		"a pooling that is not supported": {"model.onnx": "", "modules.json": pooling,
			"1_Pooling/config.json": `{"pooling_mode_max_tokens": true, "pooling_mode_mean_tokens": true}`},
		"the module Dense, which is not supported": {"model.onnx": "", "modules.json": `[{"type": "models.Dense"}]`},
		"modules.json: unexpected end":             {"model.onnx": "", "modules.json": "["},
		"tokenizer.json: no such file":             {"model.onnx": ""},
	} {
		_, err := Open(Config{Folder: write(t, files)})
		require.ErrorContains(t, err, says)
	}
}

func TestPool(t *testing.T) {
	t.Parallel()
	tokens := []float32{1, 2, 3, 4, 5, 6}
	require.Equal(t, []float32{1, 2}, pool("cls", tokens, 2))
	require.Equal(t, []float32{5, 6}, pool("lasttoken", tokens, 2))
	require.Equal(t, []float32{9, 12}, pool("mean", tokens, 2))
}
