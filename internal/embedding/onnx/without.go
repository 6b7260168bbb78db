//go:build !onnx

// Package onnx computes vectors inside the process. This is the build without ONNX Runtime.
package onnx

import (
	"errors"

	"github.com/oxbow-memory/oxbow/internal/embedding"
)

// Config has the fields of the build with ONNX Runtime.
type Config struct {
	Name, Folder, Library      string
	Dimension                  int
	QueryPrefix, PassagePrefix string
}

// Open returns an error that says how to build with ONNX Runtime.
func Open(Config) (embedding.Embedder, error) {
	return nil, errors.New("this oxbow was built without ONNX Runtime: use \"make build-onnx\" (go build -tags onnx)")
}
