package chaos

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
)

// crew runs processes of one kind, workers or servers. A slot restarts its process whenever it ends.
type crew struct {
	run     *run
	name    string
	login   string
	slots   []slot
	program func(slot int, now string) (args, environment []string)
	done    sync.WaitGroup

	mu     sync.Mutex
	wanted int // slots with a worker
}

type slot struct {
	mu      sync.Mutex
	wanted  bool
	point   string // failpoint of the next start
	now     string // clock of the next start
	armed   string // failpoint of the one that runs
	process *os.Process
	starts  int
	running bool // the goroutine of the slot
}

// environment returns the environment of the programs, which inherit nothing else.
func (r *run) environment(dsn string) []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.dir, "TZ=UTC", "LC_ALL=C", "DATABASE_URL=" + dsn,
		"OXBOW_EMBEDDING_PROVIDER=openai", "OXBOW_EMBEDDING_MODEL=" + embeddingModel,
		fmt.Sprintf("OXBOW_EMBEDDING_DIMENSION=%d", dimension),
		"OXBOW_EMBEDDING_URL=" + r.provider.url(), "OXBOW_EMBEDDING_API_KEY=none", "OXBOW_EMBEDDING_TIMEOUT=1500ms",
		"OXBOW_EMBEDDING_BATCH_SIZE=48"}
	if cover := os.Getenv("GOCOVERDIR"); cover != "" {
		env = append(env, "GOCOVERDIR="+cover)
	}
	return env
}

// command returns a program in its own process group, so that an interrupt at the terminal reaches only the driver.
func (r *run) command(ctx context.Context, dsn string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, r.options.Binary, args...)
	cmd.Env, cmd.Dir, cmd.SysProcAttr = r.environment(dsn), r.dir, &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// set changes how many slots have a worker.
func (c *crew) set(ctx context.Context, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wanted = n
	for i := range c.slots {
		if i < n {
			c.start(ctx, i)
		} else {
			c.stop(i, syscall.SIGTERM)
		}
	}
}

func (c *crew) start(ctx context.Context, i int) {
	s := &c.slots[i]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wanted = true
	if !s.running {
		s.running = true
		c.done.Go(func() { c.keep(ctx, i) })
	}
}

func (c *crew) stop(i int, sig syscall.Signal) {
	s := &c.slots[i]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wanted = false
	s.signal(sig)
}

// signal is called with the slot locked.
func (s *slot) signal(sig syscall.Signal) {
	if s.process != nil {
		s.armed = "" // the signal ends it, not the failpoint
		_ = s.process.Signal(sig)
	}
}

// restart ends the worker of a slot. Its successor has the failpoint, or the clock.
func (c *crew) restart(i int, sig syscall.Signal, point, now string) {
	s := c.choose(i)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.point, s.now = point, now
	s.signal(sig)
}

// choose returns a slot with a worker, if possible one without a pending failpoint.
func (c *crew) choose(i int) *slot {
	c.mu.Lock()
	n := max(c.wanted, 1)
	c.mu.Unlock()
	for k := range n {
		s := &c.slots[(i+k)%n]
		s.mu.Lock()
		free := s.armed == "" && s.point == ""
		s.mu.Unlock()
		if free {
			return s
		}
	}
	return &c.slots[i%n]
}

// keep starts the worker of a slot as long as one is wanted.
func (c *crew) keep(ctx context.Context, i int) {
	s := &c.slots[i]
	for {
		s.mu.Lock()
		if !s.wanted || ctx.Err() != nil {
			s.running = false
			s.mu.Unlock()
			return
		}
		s.starts++
		cmd, log, err := c.prepare(ctx, i, s)
		if err == nil {
			if err = cmd.Start(); err == nil {
				s.process = cmd.Process
			}
		}
		s.mu.Unlock()
		if err == nil {
			err = cmd.Wait()
		}
		if log != nil {
			_ = log.Close() // the process has its own
		}
		s.mu.Lock()
		s.process = nil
		if armed := s.armed; armed != "" {
			s.armed = ""
			if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() &&
				status.Signal() == syscall.SIGKILL {
				c.run.reached(armed)
			}
		}
		wanted := s.wanted
		s.mu.Unlock()
		if wanted && err != nil && cmd.ProcessState != nil && cmd.ProcessState.Exited() {
			sleep(ctx, 300*time.Millisecond) // it could not start
		}
		sleep(ctx, 100*time.Millisecond)
	}
}

// workerProgram returns the arguments and the environment of a worker. Even slots reason by rules, odd ones ask a model.
func (r *run) workerProgram(slot int, now string) (args, environment []string) {
	args = []string{"work", "--concurrency", "2", "--stop-timeout", "5s", "--webhook-private"}
	if now != "" {
		args = append(args, "--now", now)
	}
	if slot == 2 {
		args = append(args, "--poll-only")
	}
	if slot%2 == 1 {
		environment = []string{"OXBOW_REASONER_PROVIDER=openai", "OXBOW_REASONER_MODEL=chaos",
			"OXBOW_REASONER_URL=" + r.provider.url(), "OXBOW_REASONER_API_KEY=none", "OXBOW_REASONER_TIMEOUT=2s"}
	}
	return args, environment
}

func (r *run) serverProgram(slot int, _ string) (args, environment []string) {
	return []string{"serve", "--addr", r.api.addresses[slot], "--connections", "4", "--requests-per-second", "10000",
		"--stop-timeout", "5s"}, nil
}

// prepare returns the command of a slot's next process.
func (c *crew) prepare(ctx context.Context, i int, s *slot) (*exec.Cmd, *os.File, error) {
	args, environment := c.program(i, s.now)
	cmd := c.run.command(context.WithoutCancel(ctx), c.run.proxy.dsn(c.login), args...)
	cmd.Env = append(cmd.Env, environment...)
	if s.point != "" {
		cmd.Env = append(cmd.Env, failpoint.Variable+"="+s.point)
	}
	s.armed, s.point, s.now = s.point, "", ""
	log, err := os.OpenFile(filepath.Join(c.run.dir, fmt.Sprintf("%s-%d.log", c.name, i)),
		os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return cmd, nil, err
	}
	fmt.Fprintf(log, "--- %s start %d, failpoint %q, %v\n", time.Now().UTC().Format("15:04:05.000"), s.starts, s.armed,
		args)
	cmd.Stdout, cmd.Stderr = log, log
	return cmd, log, nil
}

// end stops all workers and waits for them. It kills those that do not end in time, and returns their slots.
func (c *crew) end(limit time.Duration) (stuck []int) {
	for i := range c.slots {
		c.stop(i, syscall.SIGTERM)
	}
	ended := make(chan struct{})
	go func() { c.done.Wait(); close(ended) }()
	select {
	case <-ended:
		return nil
	case <-time.After(limit):
	}
	for i := range c.slots {
		c.slots[i].mu.Lock()
		if c.slots[i].process != nil {
			stuck = append(stuck, i)
		}
		c.slots[i].mu.Unlock()
		c.stop(i, syscall.SIGKILL)
	}
	<-ended
	return stuck
}
