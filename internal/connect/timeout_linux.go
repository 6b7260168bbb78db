package connect

import (
	"syscall"
	"time"
)

// userTimeout is Linux's TCP_USER_TIMEOUT, which package syscall lacks.
const userTimeout = 0x12

func setUserTimeout(fd uintptr, limit time.Duration) error {
	return syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, userTimeout, int(limit.Milliseconds()))
}
