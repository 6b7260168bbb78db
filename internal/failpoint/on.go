//go:build failpoints

package failpoint

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Built reports whether the program can be killed at the points.
const Built = true

var (
	chosen, nth = parse(os.Getenv(Variable))
	reached     atomic.Int64
)

func parse(text string) (names []string, nth int64) {
	text, times, ok := strings.Cut(text, ":")
	names = strings.Split(text, ",")
	if n, err := strconv.ParseInt(times, 10, 64); ok && err == nil {
		return names, n
	}
	return names, 1
}

// Reach kills the program if this is the chosen visit to the chosen point, or the first to any of several.
func Reach(name string) {
	if !slices.Contains(chosen, name) || reached.Add(1) != nth {
		return
	}
	fmt.Fprintln(os.Stderr, "killed at", name)
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // our own process: always allowed
	time.Sleep(time.Hour)                          // the signal is on its way
}
