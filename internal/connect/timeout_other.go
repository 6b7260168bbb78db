//go:build !linux

package connect

import "time"

// setUserTimeout does nothing: keep-alive still finds a connection that waits for an answer.
func setUserTimeout(uintptr, time.Duration) error { return nil }
