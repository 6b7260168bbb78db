//go:build onnx

package onnx

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// folder is what the files of sentence-transformers in a model's folder say about the model.
type folder struct {
	model     string // path of the ONNX file
	tokenizer string // path of tokenizer.json
	pooling   string // "mean", "cls" or "lasttoken": which vectors of tokens make that of the text
	dimension int    // 0 if the files do not state it
	tokens    int    // maximum of a text

	queryPrefix, passagePrefix string
}

// defaultTokens is the maximum of most models.
const defaultTokens = 512

func readFolder(path string) (folder, error) {
	f := folder{tokenizer: filepath.Join(path, "tokenizer.json")}
	for _, name := range []string{"model.onnx", "onnx/model.onnx"} {
		if _, err := os.Stat(filepath.Join(path, name)); err == nil {
			f.model = filepath.Join(path, name)
			break
		}
	}
	if f.model == "" {
		return f, fmt.Errorf("%s contains neither model.onnx nor onnx/model.onnx", path)
	}
	if err := f.readModules(path); err != nil {
		return f, err
	}

	var transformer struct {
		Tokens int `json:"max_seq_length"`
	}
	var tokenizer struct {
		Tokens float64 `json:"model_max_length"` // 1e30 for no limit
	}
	var prompts struct {
		Prompts struct{ Query, Document, Passage string } `json:"prompts"`
	}
	err := errors.Join(
		readJSON(filepath.Join(path, "sentence_bert_config.json"), &transformer),
		readJSON(filepath.Join(path, "tokenizer_config.json"), &tokenizer),
		readJSON(filepath.Join(path, "config_sentence_transformers.json"), &prompts))
	if tokenizer.Tokens < 1 || tokenizer.Tokens > 1e6 {
		tokenizer.Tokens = defaultTokens
	}
	f.tokens = cmp.Or(transformer.Tokens, int(tokenizer.Tokens))
	f.queryPrefix = prompts.Prompts.Query
	f.passagePrefix = cmp.Or(prompts.Prompts.Document, prompts.Prompts.Passage)
	return f, err
}

// readModules reads the modules after the transformer. Without a list of modules the pooling is the mean, as in
// sentence-transformers.
func (f *folder) readModules(path string) error {
	f.pooling = "mean"
	var modules []struct{ Path, Type string }
	if err := readJSON(filepath.Join(path, "modules.json"), &modules); err != nil {
		return err
	}
	for _, m := range modules {
		switch kind := m.Type[strings.LastIndex(m.Type, ".")+1:]; kind {
		case "Transformer", "Normalize": // all vectors are normalized
		case "Pooling":
			if err := f.readPooling(filepath.Join(path, m.Path, "config.json")); err != nil {
				return err
			}
		default:
			return fmt.Errorf("%s/modules.json has the module %s, which is not supported", path, kind)
		}
	}
	return nil
}

func (f *folder) readPooling(path string) error {
	var config map[string]any
	if err := readJSON(path, &config); err != nil {
		return err
	}
	if config == nil {
		return fmt.Errorf("%s does not exist", path)
	}
	mode, _ := config["pooling_mode"].(string)
	for key, value := range config { // older releases have a switch for each mode
		if name, is := strings.CutPrefix(key, "pooling_mode_"); is && value == true {
			mode += strings.TrimSuffix(name, "_tokens")
			mode = strings.TrimSuffix(mode, "_token")
		}
	}
	if mode != "mean" && mode != "cls" && mode != "lasttoken" || config["include_prompt"] == false {
		return fmt.Errorf("%s describes a pooling that is not supported: only mean, cls and lasttoken are, with the prompt",
			path)
	}
	dimension, _ := cmp.Or(config["embedding_dimension"], config["word_embedding_dimension"]).(float64)
	f.pooling, f.dimension = mode, int(dimension)
	return nil
}

// readJSON decodes a file into to. If the file does not exist, it leaves to unchanged.
func readJSON(path string, to any) error {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(raw, to)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
