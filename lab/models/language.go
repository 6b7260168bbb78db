package models

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow/lab/program"
)

// Language is a running server of a small language model, with the HTTP API of OpenAI.
type Language struct {
	URL   string // with the path /v1
	Model string

	cmd *exec.Cmd
	in  io.Closer
}

// StartLanguage serves Gemma 3 270M with llama.cpp until ctx ends or Close is called. The first start installs both.
func StartLanguage(ctx context.Context) (*Language, error) {
	python, root, err := environment(ctx, "lab/models/llama/requirements.txt")
	if err != nil {
		return nil, err
	}
	file := filepath.Join(filepath.Dir(python), "gemma.gguf")
	l := &Language{Model: "gemma-3-270m",
		cmd: exec.CommandContext(ctx, python, filepath.Join(root, "lab/models/llama/serve.py"), file)}
	in, err := l.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := l.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	l.in = in
	if err := l.cmd.Start(); err != nil {
		return nil, err
	}
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the language model did not start: %w", err), l.Close())
	}
	l.URL = strings.TrimSpace(address) + "/v1"
	return l, nil
}

// Env returns the variables that make Oxbow use the server.
func (l *Language) Env() []string {
	return []string{"OXBOW_REASONER_PROVIDER=openai", "OXBOW_REASONER_MODEL=" + l.Model, "OXBOW_REASONER_URL=" + l.URL}
}

// Rate says where to find what the server has done so far.
func (l *Language) Rate() string { return "see oxbow.llm_calls for the requests" }

// Close stops the server.
func (l *Language) Close() error {
	_ = l.in.Close()
	timer := time.AfterFunc(10*time.Second, func() { _ = l.cmd.Process.Kill() }) // it may be computing an answer
	defer timer.Stop()
	return l.cmd.Wait()
}

// environment returns the Python with the packages of a file, and the directory of the source.
func environment(ctx context.Context, requirements string) (python, root string, err error) {
	if root, err = program.Root(ctx); err != nil {
		return "", "", err
	}
	install := exec.CommandContext(ctx, filepath.Join(root, "scripts/python-environment"), requirements)
	install.Env = append(os.Environ(), "PIP_NO_DEPS=1")
	install.Stderr = os.Stderr
	venv, err := install.Output()
	if err != nil {
		return "", "", fmt.Errorf("install the models: %w", err)
	}
	return filepath.Join(strings.TrimSpace(string(venv)), "bin/python"), root, nil
}
