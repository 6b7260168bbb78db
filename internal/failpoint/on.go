//go:build failpoints

package failpoint

import (
	"os"
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

func parse(text string) (name string, nth int64) {
	name, times, ok := strings.Cut(text, ":")
	if n, err := strconv.ParseInt(times, 10, 64); ok && err == nil {
		return name, n
	}
	return name, 1
}

// Reach kills the program if this is the chosen visit to the chosen point.
func Reach(name string) {
	if name != chosen || reached.Add(1) != nth {
		return
	}
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // our own process: always allowed
	time.Sleep(time.Hour)                          // the signal is on its way
}
