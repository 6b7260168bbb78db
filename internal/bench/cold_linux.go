package bench

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// dropCached asks the system to forget what it keeps in memory of the files of a directory. They must be on the disk.
func dropCached(dir string) (dropped bool, err error) {
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		file, err := os.Open(path) // a file of the bench's own PostgreSQL
		if err != nil {
			return err
		}
		return errors.Join(unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_DONTNEED), file.Close())
	})
	return err == nil, err
}
