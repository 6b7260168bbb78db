package connect_test

import (
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/connect"
)

// A connection to a machine that is gone breaks after 30 seconds, whether it sends or waits.
func TestSilenceIsLimited(t *testing.T) {
	t.Parallel()
	address := silent(t)
	cfg, err := connect.One("postgres://ada@"+address+"/ada", "test")
	require.NoError(t, err)
	conn, err := cfg.DialFunc(t.Context(), "tcp", address)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	require.NoError(t, err)
	require.NoError(t, raw.Control(func(fd uintptr) {
		for _, o := range []struct{ level, name, want int }{
			{syscall.IPPROTO_TCP, 0x12, 30_000}, // TCP_USER_TIMEOUT
			{syscall.SOL_SOCKET, syscall.SO_KEEPALIVE, 1},
			{syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE, 15},
			{syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL, 5},
			{syscall.IPPROTO_TCP, syscall.TCP_KEEPCNT, 3},
		} {
			value, err := syscall.GetsockoptInt(int(fd), o.level, o.name)
			require.NoError(t, err)
			require.Equal(t, o.want, value, o.name)
		}
	}))
}
