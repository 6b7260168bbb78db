// Package llm: placeholder until the real one is written; overwrite or delete this file.
package llm

import (
	"time"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// DefaultTimeout limits one request.
const DefaultTimeout = 2 * time.Minute

// Config is a placeholder.
type Config struct {
	Provider, Model, URL, APIKey string
	Timeout                      time.Duration
}

// Open is a placeholder.
func Open(Config) (reasoner.Reasoner, error) { return nil, nil }
