package localpg

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// isPostmaster reports whether the process is a PostgreSQL running in this data directory, which is
// a postmaster's working directory.
func isPostmaster(pid int, data string) bool {
	cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	if err != nil || cwd != data {
		return false // gone, or another user's and so not ours
	}
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	exe = strings.TrimSuffix(exe, " (deleted)") // the package was upgraded while the process ran
	return err == nil && filepath.Base(exe) == "postgres"
}
