//go:build !linux

package localpg

import (
	"os/exec"
	"strconv"
	"strings"
)

// isPostmaster says whether the process is PostgreSQL at work in this data directory. Without /proc, its command line
// tells: this package always starts it with -D and the full path.
func isPostmaster(pid int, data string) bool {
	out, err := exec.Command("ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return false // gone
	}
	program, args, _ := strings.Cut(strings.TrimSpace(string(out)), " -D ")
	return strings.HasSuffix(program, "postgres") && (args == data || strings.HasPrefix(args, data+" "))
}
