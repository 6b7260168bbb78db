// Package jsonl reads JSON Lines files, plain or compressed with gzip.
package jsonl

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// maxLine limits the memory used for one line. A content of 1 MiB is far below it even if every
// byte is escaped.
const maxLine = 64 << 20

// Reader reads a file line by line.
type Reader struct {
	Number int    // of the current line, from 1
	Line   []byte // the current line without surrounding white space, valid until the next call of Next
	Err    error  // why Next returned false; nil at the end of the file

	scanner *bufio.Scanner
}

// NewReader returns a reader of r's lines. It detects gzip by the first two bytes.
func NewReader(r io.Reader) (*Reader, error) {
	buffered := bufio.NewReaderSize(r, 1<<16)
	var plain io.Reader = buffered
	if magic, _ := buffered.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		unpacked, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, fmt.Errorf("the file begins like one compressed with gzip, but: %w", err)
		}
		plain = unpacked
	}
	scanner := bufio.NewScanner(plain)
	scanner.Buffer(make([]byte, 1<<16), maxLine)
	scanner.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		if scanner.Err() != nil && bytes.IndexByte(data, '\n') < 0 {
			return len(data), nil, nil // the beginning of a line whose rest cannot be read
		}
		return bufio.ScanLines(data, atEOF)
	})
	return &Reader{scanner: scanner}, nil
}

// Next reads the next line, and reports whether there was one.
func (r *Reader) Next() bool {
	if !r.scanner.Scan() {
		switch err := r.scanner.Err(); {
		case errors.Is(err, bufio.ErrTooLong):
			r.Err = fmt.Errorf("line %d is longer than 64 MiB", r.Number+1)
		case errors.Is(err, io.ErrUnexpectedEOF):
			r.Err = fmt.Errorf("the file is cut off after line %d: %w", r.Number, err)
		case err != nil:
			r.Err = fmt.Errorf("read after line %d: %w", r.Number, err)
		}
		return false
	}
	r.Number++
	r.Line = r.scanner.Bytes()
	if r.Number == 1 {
		r.Line = bytes.TrimPrefix(r.Line, []byte("\ufeff")) // a byte order mark
	}
	r.Line = bytes.TrimSpace(r.Line)
	return true
}
