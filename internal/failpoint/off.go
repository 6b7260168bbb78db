//go:build !failpoints

package failpoint

// Built reports whether the program can be killed at the points.
const Built = false

// Reach does nothing.
func Reach(string) {}
