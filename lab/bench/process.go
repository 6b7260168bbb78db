package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"github.com/oxbow-memory/oxbow/lab/program"
)

// process is an oxbow of its own, whose memory nobody shares.
type process struct {
	*exec.Cmd
	said *bytes.Buffer
}

// startProcess runs the program on a database, without the settings that the machine's owner has for another one.
func startProcess(ctx context.Context, dsn string, args ...string) (process, error) {
	binary, err := program.Build(ctx)
	if err != nil {
		return process{}, err
	}
	p := process{exec.CommandContext(context.WithoutCancel(ctx), binary, args...), &bytes.Buffer{}}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "OXBOW_") && !strings.HasPrefix(v, "OTEL_") {
			p.Env = append(p.Env, v)
		}
	}
	p.Env, p.Stderr = append(p.Env, "DATABASE_URL="+dsn), p.said
	// An interrupt at the terminal is for the benchmark, which stops the process.
	p.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return p, p.Start()
}

// peakMiB is the most memory that was resident, on Linux, while the process lives.
func (p process) peakMiB() int {
	kib, _ := strconv.Atoi(strings.TrimSuffix(field(fmt.Sprintf("/proc/%d/status", p.Process.Pid), "VmHWM"), " kB"))
	return kib >> 10
}

// stop interrupts the process, which has to end well.
func (p process) stop() error { return errors.Join(p.Process.Signal(syscall.SIGTERM), p.end()) }

// end waits for the process.
func (p process) end() error {
	if err := p.Wait(); err != nil {
		return fmt.Errorf("oxbow %s: %w: %s", p.Args[1], err, p.said)
	}
	return nil
}
