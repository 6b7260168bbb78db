package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/oxbow-memory/oxbow/lab/must"
)

// nonroot is the user of the image.
const nonroot = 65532

// image is a directory that contains only the program, and what the Dockerfile sets.
type image struct {
	root, program string
	env           []string          // of the Dockerfile
	ports         map[string]string // of the Dockerfile's addresses, and those of this machine that replace them
	started       []*service
}

func newImage(root, oxbow, dockerfile string) *image {
	i := &image{root: root, program: "/usr/local/bin/oxbow", ports: map[string]string{}}
	must.OK(os.MkdirAll(filepath.Join(root, "usr/local/bin"), 0o755))
	must.OK(os.WriteFile(filepath.Join(root, i.program), must.Get(os.ReadFile(oxbow)), 0o755))
	_, stage, _ := cutLast(string(must.Get(os.ReadFile(dockerfile))), "\nFROM ")
	for line := range strings.Lines(stage) {
		if variables, found := strings.CutPrefix(line, "ENV "); found {
			i.env = append(i.env, strings.Fields(variables)...)
		}
	}
	i.choosePorts()
	return i
}

// choosePorts chooses free ports, because programs on one machine share ports and containers do not.
func (i *image) choosePorts() {
	for _, variable := range i.env {
		_, port, found := strings.Cut(variable, "=0.0.0.0:")
		if !found {
			must.OK(fmt.Errorf("the Dockerfile sets %s: expected an address on all interfaces", variable))
		}
		i.ports[port] = freePort()
	}
}

func cutLast(s, separator string) (before, after string, found bool) {
	if at := strings.LastIndex(s, separator); at >= 0 {
		return s[:at], s[at+len(separator):], true
	}
	return s, "", false
}

func freePort() string {
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))
	defer func() { _ = listener.Close() }() // it is used soon
	_, port, err := net.SplitHostPort(listener.Addr().String())
	must.OK(err)
	return port
}

// here replaces the image's ports by the free ones.
func (i *image) here(text string) string {
	for port, free := range i.ports {
		text = strings.ReplaceAll(text, ":"+port, ":"+free)
	}
	return text
}

// command returns a command in the image, whose arguments follow its entry point.
func (i *image) command(ctx context.Context, env []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, i.program)
	for _, arg := range args {
		cmd.Args = append(cmd.Args, i.here(arg))
	}
	for _, variable := range append(i.env, env...) {
		cmd.Env = append(cmd.Env, i.here(variable))
	}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: i.root, Credential: &syscall.Credential{Uid: nonroot, Gid: nonroot}}
	return cmd
}

// run runs a command to its end and returns its output.
func (i *image) run(ctx context.Context, env []string, args ...string) (string, error) {
	out, err := i.command(ctx, env, args...).CombinedOutput()
	return string(out), wrap("oxbow "+strings.Join(args, " ")+": "+string(out), err)
}

// service is a command that runs until it is stopped.
type service struct {
	cmd   *exec.Cmd
	out   strings.Builder
	ended chan error
}

// start starts a service with new ports and waits until ready is nil.
func (i *image) start(ctx context.Context, env []string, ready func() error, args ...string) *service {
	i.choosePorts()
	s := &service{cmd: i.command(ctx, env, args...), ended: make(chan error, 1)}
	s.cmd.Stdout, s.cmd.Stderr = &s.out, &s.out
	must.OK(s.cmd.Start())
	go func() { s.ended <- s.cmd.Wait() }()
	i.started = append(i.started, s)
	must.OK(until(ctx, func() error {
		select {
		case err := <-s.ended:
			return permanent{errors.Join(fmt.Errorf("oxbow %s ended: %s", strings.Join(args, " "), &s.out), err)}
		default:
			return ready()
		}
	}))
	return s
}

// stop sends SIGTERM, as engines do. The service must end within grace, with status 0.
func (s *service) stop(grace time.Duration) error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case err := <-s.ended:
		return wrap("stopped: "+s.out.String(), err)
	case <-time.After(grace):
		_ = s.cmd.Process.Kill()
		return fmt.Errorf("not stopped within %s: %s", grace, &s.out)
	}
}

// kill ends the services that a failure left.
func (i *image) kill() {
	for _, s := range i.started {
		_ = s.cmd.Process.Kill() // most have ended
	}
}

// permanent is an error that waiting does not end.
type permanent struct{ error }

// until calls do until it returns nil or a permanent error, or patience ends.
func until(ctx context.Context, do func() error) error {
	for deadline := time.Now().Add(patience); ; {
		err := do()
		if err == nil || errors.As(err, &permanent{}) || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}
