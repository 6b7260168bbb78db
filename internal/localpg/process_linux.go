package localpg

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// isPostmaster says whether the process is PostgreSQL at work in this data directory, which a postmaster makes its
// working directory.
func isPostmaster(pid int, data string) bool {
	cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	if err != nil || cwd != data {
		return false // gone, or of another user and so not ours
	}
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	exe = strings.TrimSuffix(exe, " (deleted)") // the package was upgraded while it ran
	return err == nil && filepath.Base(exe) == "postgres"
}
