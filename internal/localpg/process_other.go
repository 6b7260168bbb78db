//go:build !linux

package localpg

import (
	"os/exec"
	"strconv"
	"strings"
)

// isPostmaster reports whether the process is a PostgreSQL running in this data directory. Without
// /proc it checks the command line, because this package always starts PostgreSQL with -D and the
// full path.
func isPostmaster(pid int, data string) bool {
	out, err := exec.Command("ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return false // gone
	}
	program, args, _ := strings.Cut(strings.TrimSpace(string(out)), " -D ")
	return strings.HasSuffix(program, "postgres") && (args == data || strings.HasPrefix(args, data+" "))
}
