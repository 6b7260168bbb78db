package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
)

// maxInput exceeds the longest memory, in bytes, so that a text that is too long is refused instead
// of cut.
const maxInput = 2 << 20

// text returns an argument, or standard input without its final newline if the argument is "-".
func (a *app) text(ctx context.Context, argument string) (string, error) {
	if argument != "-" {
		return argument, nil
	}
	if terminal(a.in) {
		a.say("Type the text, and end it with Ctrl-D on a line of its own.")
	}
	text, err := io.ReadAll(io.LimitReader(interruptible{ctx, a.in}, maxInput))
	if err != nil {
		return "", fmt.Errorf("standard input cannot be read: %w", err)
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}

// open opens a file for reading, or standard input for "-". It returns the size in bytes, or 0 if
// it is unknown.
func (a *app) open(ctx context.Context, name string) (io.ReadCloser, int64, error) {
	if name == "-" {
		return io.NopCloser(interruptible{ctx, a.in}), 0, nil
	}
	file, err := os.Open(name)
	if err != nil {
		var path *os.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		return nil, 0, fmt.Errorf("%s cannot be opened: %w", name, err)
	}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = errors.New("it is a directory")
	}
	if err != nil {
		_ = file.Close() // the first error is the one to report
		return nil, 0, fmt.Errorf("%s cannot be read: %w", name, err)
	}
	return file, info.Size(), nil
}

func shownName(name string) string {
	if name == "-" {
		return "standard input"
	}
	return strings.TrimPrefix(name, "./")
}

// interruptible stops waiting for input when the command is interrupted. The blocked read is
// abandoned; the process ends soon after.
type interruptible struct {
	ctx context.Context
	in  io.Reader
}

func (r interruptible) Read(p []byte) (int, error) {
	type result struct {
		bytes []byte
		err   error
	}
	read := make(chan result, 1)
	go func() {
		buffer := make([]byte, min(len(p), 1<<16))
		n, err := r.in.Read(buffer)
		read <- result{buffer[:n], err}
	}()
	select {
	case <-r.ctx.Done():
		return 0, r.ctx.Err()
	case got := <-read:
		return copy(p, got.bytes), got.err
	}
}

// countingReader counts the bytes read. Any goroutine may ask for the count.
type countingReader struct {
	io.Reader
	read atomic.Int64
}

func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.read.Add(int64(n))
	return n, err
}

// canAsk reports whether a person can answer on a terminal.
func (a *app) canAsk() bool { return terminal(a.in) && terminal(a.err) }

// confirm asks on the terminal, and returns an error unless the answer is the expected one.
func (a *app) confirm(ctx context.Context, question, expected string) error {
	_, _ = fmt.Fprint(a.err, question)
	answer, err := bufio.NewReader(interruptible{ctx, a.in}).ReadString('\n')
	if ctx.Err() != nil {
		a.say("")
		return ctx.Err()
	}
	if strings.TrimSpace(answer) != expected || (err != nil && !errors.Is(err, io.EOF)) {
		return errors.New("not confirmed, and nothing was changed")
	}
	return nil
}
