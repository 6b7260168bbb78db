package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// process is an oxbow of its own, so that what it takes is known, and nobody shares its memory.
type process struct {
	command string
	cmd     *exec.Cmd
	said    bytes.Buffer // read after it has ended
	ended   chan struct{}
	err     error        // after it has ended
	peak    atomic.Int64 // of resident memory, in bytes; 0: not known
}

// oxbow starts the program on a database, with nothing set that the machine's owner may have set for another one.
func (b *bench) oxbow(ctx context.Context, dsn string, args ...string) (*process, error) {
	if strings.HasSuffix(b.Program, ".test") { // it would run all tests again, and they it
		return nil, errors.New("a test has to say which oxbow is to be run")
	}
	p := &process{command: "oxbow " + args[0], ended: make(chan struct{})}
	p.cmd = exec.CommandContext(context.WithoutCancel(ctx), b.Program, args...) // the program itself
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); !strings.HasPrefix(name, "OXBOW_") && !strings.HasPrefix(name, "OTEL_") {
			p.cmd.Env = append(p.cmd.Env, v)
		}
	}
	p.cmd.Env = append(p.cmd.Env, "DATABASE_URL="+dsn)
	p.cmd.Stdout, p.cmd.Stderr = &p.said, &p.said
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt at the terminal is for this program, which then stops it
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	go p.watch()
	return p, nil
}

// watch notes the peak as long as the process lives: the system forgets it with the process. What the system says of an ended
// child counts in the memory of the one that made it.
func (p *process) watch() {
	for {
		if kib, err := strconv.ParseInt(strings.TrimSuffix(p.status("VmHWM"), " kB"), 10, 64); err == nil {
			p.peak.Store(kib << 10)
		}
		select {
		case <-p.ended:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// status is what Linux says of the process under a name; elsewhere nothing.
func (p *process) status(name string) string {
	return field(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid), name)
}

// peakMB is the most memory that was resident.
func (p *process) peakMB() string {
	if p.peak.Load() == 0 {
		return "not measured"
	}
	return fmt.Sprintf("%.0f", float64(p.peak.Load())/1e6)
}

// wait returns when the process has ended, or ends it with ctx.
func (p *process) wait(ctx context.Context) error {
	select {
	case <-p.ended:
	case <-ctx.Done():
		return errors.Join(ctx.Err(), p.stop())
	}
	if p.err != nil {
		return fmt.Errorf("%s: %w: %s", p.command, p.err, last(p.said.String()))
	}
	return nil
}

// stop interrupts the process, as a person would, and waits for its end.
func (p *process) stop() error {
	select {
	case <-p.ended:
		return fmt.Errorf("%s has ended by itself: %s", p.command, last(p.said.String()))
	default:
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-p.ended:
	case <-time.After(time.Minute):
		return errors.Join(fmt.Errorf("%s does not stop", p.command), p.cmd.Process.Kill())
	}
	return p.wait(context.Background())
}

// last is the last line of a text.
func last(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
