package localpg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

type lockMode int

const (
	shared    lockMode = syscall.LOCK_SH
	exclusive lockMode = syscall.LOCK_EX
)

// fileLock is an advisory lock that the kernel releases when the program ends for any reason. Child
// processes do not inherit the file. The file is never deleted: deleting a lock file lets two
// programs hold "the" lock.
type fileLock struct{ file *os.File }

// tryAcquire returns nil if another program holds the lock.
func tryAcquire(path string, mode lockMode) (*fileLock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock file: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), int(mode)|syscall.LOCK_NB)
	if err == nil {
		return &fileLock{file: f}, nil
	}
	_ = f.Close() // nothing was written
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, nil
	}
	return nil, fmt.Errorf("lock %s: %w", path, err)
}

// acquire waits for the lock. It polls, because ctx could not interrupt a blocking flock.
func acquire(ctx context.Context, path string, mode lockMode) (*fileLock, error) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		lock, err := tryAcquire(path, mode)
		if lock != nil || err != nil {
			return lock, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("another program is starting or stopping PostgreSQL and holds %s: %w",
				path, context.Cause(ctx))
		case <-tick.C:
		}
	}
}

func (l *fileLock) release() {
	// Not left to Close: a child process between fork and exec also has the descriptor and would
	// keep the lock.
	_ = syscall.Flock(int(l.file.Fd()), syscall.LOCK_UN)
	_ = l.file.Close() // nothing was written
}
