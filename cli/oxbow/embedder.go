package main

import (
	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/embedding/providers"
)

// open returns the embedder that the flags choose. Invalid flags are usage errors.
func (f *embeddingFlags) open() (oxbow.Embedder, error) {
	cfg, err := f.config()
	if err != nil {
		return nil, err
	}
	embedder, err := providers.Open(cfg)
	if err != nil {
		return nil, usageError{err}
	}
	return embedder, nil
}
