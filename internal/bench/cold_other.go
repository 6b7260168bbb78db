//go:build !linux

package bench

// dropCached does nothing: only Linux is known to forget a file on request.
func dropCached(string) (dropped bool, err error) { return false, nil }
