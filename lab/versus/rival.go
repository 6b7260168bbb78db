package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/oxbow-memory/oxbow/lab/must"
)

// install installs the packages of the adapter.
func (v *rival) install(ctx context.Context, root string) {
	dir := filepath.Join(root, "lab/versus", v.name)
	exists := func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	}
	if exists("main.go") {
		binary := filepath.Join(root, "bin/versus-"+v.name)
		cmd := exec.CommandContext(ctx, "go", "build", "-o", binary, "./versus/"+v.name)
		cmd.Dir = filepath.Join(root, "lab")
		if out, err := cmd.CombinedOutput(); err != nil {
			must.OK(fmt.Errorf("build %s: %w\n%s", v.name, err, out))
		}
		v.command = []string{binary}
		return
	}
	if exists("package.json") {
		if !exists("node_modules/.package-lock.json") {
			cmd := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				must.OK(fmt.Errorf("install %s: %w\n%s", v.name, err, out))
			}
		}
		v.command = []string{"node", filepath.Join(dir, "adapter.mjs")}
		return
	}
	cmd := exec.CommandContext(ctx, filepath.Join(root, "scripts/python-environment"))
	if exists("requirements.txt") { // else the environment of the SDK's tests
		cmd.Args = append(cmd.Args, filepath.Join("lab/versus", v.name, "requirements.txt"))
	}
	cmd.Stderr = os.Stderr
	venv := strings.TrimSpace(string(must.Get(cmd.Output())))
	v.command = []string{filepath.Join(venv, "bin/python"), filepath.Join(dir, "adapter.py")}
}

// adapter is the running process of a rival.
type adapter struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	said bytes.Buffer
}

// answer is the answer to a request.
type answer struct {
	IDs   []string `json:"ids"`
	Error string   `json:"error"`
}

// start runs the adapter of a rival in an empty directory with an empty database, and returns when it is ready.
func (r *run) start(v *rival, dir, databaseURL string) *adapter {
	a := &adapter{cmd: exec.CommandContext(r.ctx, v.command[0], v.command[1:]...)}
	a.cmd.Dir, a.cmd.Stderr = dir, &a.said
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt at the terminal is for the driver
	a.cmd.Env = append(os.Environ(), "HOME="+dir, "MEM0_TELEMETRY=false",
		"PYTHONPATH="+filepath.Join(r.root, "lab/versus/protocol")+":"+filepath.Join(r.root, "sdk/python/src"),
		"DATABASE_URL="+databaseURL, "OXBOW="+r.oxbow,
		"EMBEDDING_URL="+r.models.URL, "EMBEDDING_MODEL="+r.models.Model,
		fmt.Sprint("EMBEDDING_DIMENSION=", r.models.Dimension),
		"QUERY_PREFIX="+r.models.QueryPrefix, "PASSAGE_PREFIX="+r.models.PassagePrefix)
	if v.name == overHTTP {
		a.cmd.Env = append(a.cmd.Env, r.models.Env()...)
	}
	a.in = must.Get(a.cmd.StdinPipe())
	a.out = bufio.NewReader(must.Get(a.cmd.StdoutPipe()))
	must.OK(a.cmd.Start())
	a.read()
	return a
}

// ask sends a request and returns the answer and how long it took.
func (a *adapter) ask(request map[string]any) (answer, time.Duration) {
	line := append(must.Get(json.Marshal(request)), '\n')
	begun := time.Now()
	if _, err := a.in.Write(line); err != nil {
		a.failed(err)
	}
	given := a.read()
	return given, time.Since(begun)
}

func (a *adapter) read() (given answer) {
	line, err := a.out.ReadBytes('\n')
	if err != nil {
		a.failed(err)
	}
	must.OK(json.Unmarshal(line, &given))
	if given.Error != "" {
		a.failed(errors.New(given.Error))
	}
	return given
}

// failed ends the run with what the adapter said.
func (a *adapter) failed(err error) {
	_ = a.cmd.Process.Kill()
	_ = a.cmd.Wait() // said is complete
	said := a.said.String()
	must.OK(fmt.Errorf("%s: %w\n%s", a.cmd.Args[len(a.cmd.Args)-1], err, said[max(0, len(said)-4000):]))
}

func (a *adapter) stop() {
	must.OK(a.in.Close())
	if err := a.cmd.Wait(); err != nil {
		a.failed(err)
	}
}
