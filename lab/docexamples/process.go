package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	readyTimeout = 5 * time.Minute // long enough for a busy machine
	stopTimeout  = 2 * time.Minute
)

// A service is a program that runs until it is interrupted.
type service struct {
	cmd  *exec.Cmd
	out  *output
	done chan struct{} // closed when it has ended
	err  error         // its exit error, valid after done
}

// startService starts a program and waits until its output contains ready.
func startService(ctx context.Context, cmd *exec.Cmd, ready string) (*service, error) {
	s := &service{cmd: cmd, out: newOutput(ready), done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = s.out, s.out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // its own process group, to interrupt it as a terminal does
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		s.err = cmd.Wait()
		close(s.done)
	}()
	timeout := time.NewTimer(readyTimeout)
	defer timeout.Stop()
	var err error
	select {
	case <-s.out.found:
		return s, nil
	case <-s.done:
		return nil, fmt.Errorf("it ended before it printed %q (%s):\n%s", ready, cmd.ProcessState, s.out)
	case <-timeout.C:
		err = fmt.Errorf("in %s it did not print %q:\n%s", readyTimeout, ready, s.out)
	case <-ctx.Done():
		err = ctx.Err()
	}
	return nil, errors.Join(err, s.stop())
}

// stop interrupts the program, which must exit with status 0.
func (s *service) stop() error {
	if err := syscall.Kill(-s.cmd.Process.Pid, syscall.SIGINT); err != nil && !errors.Is(err, os.ErrProcessDone) &&
		!errors.Is(err, syscall.ESRCH) {
		return err
	}
	select {
	case <-s.done:
	case <-time.After(stopTimeout):
		_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
		<-s.done
		return fmt.Errorf("it did not end within %s of an interrupt:\n%s", stopTimeout, s.out)
	}
	if s.err != nil {
		return fmt.Errorf("interrupted, it ended with %w:\n%s", s.err, s.out)
	}
	return nil
}

// output keeps the output of a program and detects a text in it.
type output struct {
	mu    sync.Mutex
	text  bytes.Buffer
	want  string
	found chan struct{}
	once  sync.Once
}

func newOutput(want string) *output { return &output{want: want, found: make(chan struct{})} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(p)
	if strings.Contains(o.text.String(), o.want) {
		o.once.Do(func() { close(o.found) })
	}
	return len(p), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
