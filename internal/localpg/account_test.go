package localpg

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Other tests run as the current user. If that is root, this one covers an ordinary user.
func TestOrdinaryUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		acct, err := accountFor(t.TempDir())
		require.NoError(t, err)
		require.False(t, acct.switched, "an ordinary user runs PostgreSQL as himself")
		return
	}
	const uid = 65534
	home := openTempDir(t)
	require.NoError(t, os.Chown(home, uid, uid))
	binary := filepath.Join(home, "helper") // root owns the directory of the original
	// The copy is made by cp: a descriptor open for writing here could leak into a child of a
	// parallel test, and a program cannot run while one is open ("text file busy").
	require.NoError(t, exec.Command("cp", os.Args[0], binary).Run())
	require.NoError(t, os.Chmod(binary, 0o755))

	dir := filepath.Join(home, "cluster")
	attr := &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	program, dsn := startHelper(t, binary, dir, attr)
	require.Equal(t, 1, get[int](t, dsn, "select 1"))

	// root runs a user's cluster as that user and does not change its owner.
	s := start(t, dir)
	require.False(t, s.Started())
	require.Equal(t, uint32(uid), s.cluster.account.uid)
	require.NoError(t, s.Stop(t.Context()))
	require.Equal(t, 1, get[int](t, dsn, "select 1"))
	require.NoError(t, program.Process.Kill())
	require.Error(t, program.Wait())
	require.NoError(t, Shutdown(t.Context(), dir))
}

func TestRootGivesUpItsPrivileges(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	s := start(t, dir)
	info, err := os.Stat(filepath.Join(dir, "data"))
	require.NoError(t, err)
	st, ok := info.Sys().(*syscall.Stat_t)
	require.True(t, ok)
	require.NotZero(t, st.Uid)
	require.Equal(t, s.cluster.account.uid, st.Uid)
}

func TestClosedParentIsNamed(t *testing.T) {
	t.Parallel()
	home := filepath.Join(openTempDir(t), "home")
	require.NoError(t, os.Mkdir(home, 0o700))
	acct := account{name: "postgres", uid: 4711, gid: 4711, switched: true}
	require.ErrorContains(t, acct.reaches(filepath.Join(home, "cluster")),
		"but as postgres, which may not traverse "+home)
	require.NoError(t, os.Chmod(home, 0o711))
	require.NoError(t, acct.reaches(filepath.Join(home, "cluster")))
}

func TestSocketDirectoryOfAnotherUserIsRefused(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "socket")
	require.NoError(t, os.Symlink(t.TempDir(), dir))
	acct := account{uid: uint32(os.Geteuid())}
	require.ErrorContains(t, acct.own(dir), "is not a directory owned by")
}
