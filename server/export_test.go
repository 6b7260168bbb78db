package server

import "time"

// Hurry shortens the time that a request may take, and that it waits for its turn.
func (cfg *Config) Hurry(timeout, wait time.Duration) { cfg.timeout, cfg.wait = timeout, wait }
