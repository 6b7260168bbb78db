package localpg

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is the system user that runs PostgreSQL: the current user, or another if that is root,
// which PostgreSQL refuses.
type account struct {
	name     string
	uid, gid uint32
	switched bool // runs as another user than this program
}

// accountFor returns the account that runs the cluster of dir. It is the owner of existing data, so
// that root runs a user's cluster as that user. For new data it is the current user or, for root,
// postgres or nobody.
func accountFor(dir string) (account, error) {
	euid := os.Geteuid()
	if euid != 0 {
		return account{uid: uint32(euid), gid: uint32(os.Getegid())}, nil
	}
	if info, err := os.Stat(filepath.Join(dir, "data")); err == nil {
		if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 {
			return account{name: fmt.Sprintf("user %d", st.Uid), uid: st.Uid, gid: st.Gid, switched: true}, nil
		}
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uerr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gerr := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(uerr, gerr); err != nil {
			return account{}, fmt.Errorf("read the ids of user %s: %w", name, err)
		}
		return account{name: name, uid: uint32(uid), gid: uint32(gid), switched: true}, nil
	}
	return account{}, errors.New("PostgreSQL does not run as root, and neither user postgres nor nobody exists: " +
		"run this as another user, or set DATABASE_URL to an existing database")
}

// attributes makes a child process run as the account, in its own session: a Ctrl-C in the terminal
// then reaches only this program, which shuts the server down in order.
func (a account) attributes() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if a.switched {
		attr.Credential = &syscall.Credential{Uid: a.uid, Gid: a.gid}
	}
	return attr
}

// own creates a directory with mode 0700 that belongs to the account. An existing directory must
// belong to the account or, if this program runs as root, to root: another user could have created
// it.
func (a account) own(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if err == nil && a.switched {
		err = os.Chown(dir, int(a.uid), int(a.gid))
	}
	if err == nil {
		return nil
	}
	if !errors.Is(err, os.ErrExist) {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || (st.Uid != a.uid && st.Uid != 0) || (st.Uid == 0 && os.Geteuid() != 0) {
		return fmt.Errorf("%s is not a directory owned by %s: remove it", dir, a)
	}
	if a.switched && st.Uid != a.uid {
		if err := os.Chown(dir, int(a.uid), int(a.gid)); err != nil {
			return err
		}
	}
	return os.Chmod(dir, 0o700)
}

func (a account) String() string {
	if a.name != "" {
		return a.name
	}
	return fmt.Sprintf("user %d", a.uid)
}

// reaches returns an error that names the first directory above dir that the account may not enter.
func (a account) reaches(dir string) error {
	if !a.switched {
		return nil
	}
	for parent := filepath.Dir(dir); ; parent = filepath.Dir(parent) {
		info, err := os.Stat(parent)
		if err != nil {
			return err
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if ok && !mayPass(st, a) {
			return fmt.Errorf("PostgreSQL does not run as root but as %s, which may not traverse %s to %s: "+
				"choose another directory, or run this as another user", a, parent, dir)
		}
		if parent == filepath.Dir(parent) {
			return nil
		}
	}
}

func mayPass(st *syscall.Stat_t, a account) bool {
	switch {
	case st.Uid == a.uid:
		return st.Mode&0o100 != 0
	case st.Gid == a.gid:
		return st.Mode&0o010 != 0
	default:
		return st.Mode&0o001 != 0
	}
}
