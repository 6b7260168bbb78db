package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
)

// maxInput exceeds the longest memory, in bytes, so that a text that is too long is refused instead of cut.
const maxInput = 2 << 20

// text returns an argument, or standard input without its final newline if the argument is "-".
func (a *app) text(ctx context.Context, argument string) (string, error) {
	if argument != "-" {
		return argument, nil
	}
	if terminal(a.in) {
		a.say("Type the text, then press Ctrl-D on an empty line.")
	}
	text, err := io.ReadAll(io.LimitReader(interruptible{ctx, a.in}, maxInput))
	if err != nil {
		return "", fmt.Errorf("read standard input: %w", err)
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}

// query is text for what to search, which must not be blank.
func (a *app) query(ctx context.Context, argument string) (string, error) {
	text, err := a.text(ctx, argument)
	if err == nil && strings.TrimSpace(text) == "" {
		err = usagef("the text to search for must not be blank")
	}
	return text, err
}

// open opens a file for reading, or standard input for "-". It returns the size in bytes, or 0 if it is unknown.
func (a *app) open(ctx context.Context, name string) (io.ReadCloser, int64, error) {
	if name == "-" {
		return io.NopCloser(interruptible{ctx, a.in}), 0, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, 0, fmt.Errorf("open %s: %w", name, cause(err))
	}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = errors.New("is a directory: name its files")
	}
	if err != nil {
		_ = file.Close() // the first error is the one to report
		return nil, 0, fmt.Errorf("read %s: %w", name, err)
	}
	return file, info.Size(), nil
}

// cause returns the cause of an error about a path, without the path.
func cause(err error) error {
	if path, ok := errors.AsType[*os.PathError](err); ok {
		return path.Err
	}
	return err
}

func shownName(name string) string {
	if name == "-" {
		return "standard input"
	}
	return strings.TrimPrefix(name, "./")
}

// writeFile writes the whole file or none of it: it writes a temporary file in the same directory and renames it. Only
// the owner may read the file.
func writeFile(name string, write func(io.Writer) error) error {
	file, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, cause(err))
	}
	//nolint:errcheck // after a success the file is gone
	defer os.Remove(file.Name())
	out := bufio.NewWriter(file)
	if err := write(out); err != nil {
		_ = file.Close() // the first error is the one to report
		return err
	}
	if err = out.Flush(); err == nil {
		err = file.Sync()
	}
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// interruptible stops waiting for input when the command is interrupted. The blocked read is abandoned; the process
// ends soon after.
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

// countingReader counts the bytes read and keeps the error. Any goroutine may ask for the count.
type countingReader struct {
	io.Reader
	read atomic.Int64
	err  error
}

func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.read.Add(int64(n))
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

// confirm asks on the terminal, and returns an error unless the answer is the expected one.
func (a *app) confirm(ctx context.Context, question, expected string) error {
	_, _ = fmt.Fprint(a.err, question)
	answer, err := bufio.NewReader(interruptible{ctx, a.in}).ReadString('\n')
	if ctx.Err() != nil {
		a.say("")
		return ctx.Err()
	}
	if strings.TrimSpace(answer) != expected || (err != nil && !errors.Is(err, io.EOF)) {
		return errors.New("not confirmed: nothing was changed")
	}
	return nil
}

// confirmErasure shows the text that is to be erased, and asks for yes.
func (a *app) confirmErasure(ctx context.Context, text, what string) error {
	return a.confirm(ctx, fmt.Sprintf("%s\nThis permanently erases %s. Type yes to continue: ",
		joinLines(wrap(printable(text), 100, textRows)), what), "yes")
}

// confirmable returns an error unless --yes is given or a person can be asked.
func (a *app) confirmable(command string, yes bool) error {
	if !yes && (!terminal(a.in) || !terminal(a.err)) {
		return usagef("%q deletes data: add --yes to confirm", command)
	}
	return nil
}
