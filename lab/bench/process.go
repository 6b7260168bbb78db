package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"github.com/oxbow-memory/oxbow/lab/must"
	"github.com/oxbow-memory/oxbow/lab/program"
)

// process is a separate process of oxbow, whose memory can be measured.
type process struct {
	*exec.Cmd
	said *bytes.Buffer
}

// start runs the program on a database, without Oxbow's variables in the environment.
func (b *bench) start(d database, args ...string) process {
	binary := must.Get(program.Build(b.ctx))
	p := process{exec.CommandContext(context.WithoutCancel(b.ctx), binary, args...), &bytes.Buffer{}}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "OXBOW_") && !strings.HasPrefix(v, "OTEL_") {
			p.Env = append(p.Env, v)
		}
	}
	p.Env, p.Stderr = append(p.Env, "DATABASE_URL="+d.dsn), p.said
	// An interrupt at the terminal is for the benchmark, which stops the process.
	p.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	must.OK(p.Start())
	return p
}

// memory returns a value of /proc in MiB: VmRSS, the resident memory, or VmHWM, its maximum.
func (p process) memory(name string) int {
	kib, _ := strconv.Atoi(strings.TrimSuffix(field(fmt.Sprintf("/proc/%d/status", p.Process.Pid), name), " kB"))
	return kib >> 10
}

// stop interrupts the process, which must exit with status 0.
func (p process) stop() {
	must.OK(p.Process.Signal(syscall.SIGTERM))
	p.end()
}

// end waits for the process.
func (p process) end() {
	if err := p.Wait(); err != nil {
		must.OK(fmt.Errorf("oxbow %s: %w: %s", p.Args[1], err, p.said))
	}
}
