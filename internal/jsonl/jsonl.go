// Package jsonl reads JSON Lines files, plain or compressed with gzip, and checks JSON before it is decoded.
package jsonl

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// The limits of a file. A content of 1 MiB is far below the longest line even if every byte is escaped. Texts are
// compressed to a third or a tenth of their size; only a crafted file exceeds maxRatio after its first maxStart bytes.
const (
	maxLine  = 64 << 20
	maxStart = 16 << 20
	maxRatio = 50
)

// ErrTooLarge reports that a file has more than the given number of bytes after unpacking.
var ErrTooLarge = errors.New("the file is too large")

// Error reports a file that is not JSON Lines, is broken, or exceeds a limit.
type Error struct {
	Problem string
	Err     error // what reported it; may be nil
}

func (e *Error) Error() string { return e.Problem }

// Unwrap returns what reported the problem.
func (e *Error) Unwrap() error { return e.Err }

func problem(err error, format string, args ...any) error {
	return &Error{fmt.Sprintf(format, args...), err}
}

// Limits are stricter bounds, for a file that is not the operator's own. Zero means no limit.
type Limits struct {
	Bytes int64 // of all lines, after unpacking
	Line  int   // bytes of the longest line
}

// Reader reads a file line by line.
type Reader struct {
	Number int    // of the current line, from 1
	Line   []byte // the current line without surrounding white space, valid until the next call of Next
	Err    error  // why Next returned false; nil at the end of the file

	scanner *bufio.Scanner
	longest int // bytes of a line
}

// NewReader returns a reader of r's lines. It detects gzip by the first two bytes.
func NewReader(r io.Reader) (*Reader, error) { return NewLimited(r, Limits{}) }

// NewLimited is NewReader with limits.
func NewLimited(r io.Reader, limits Limits) (*Reader, error) {
	plain, err := Unpack(r)
	if err != nil {
		return nil, err
	}
	if limits.Bytes > 0 {
		plain = &bounded{plain, limits.Bytes}
	}
	longest := maxLine
	if limits.Line > 0 {
		longest = limits.Line
	}
	scanner := bufio.NewScanner(plain)
	scanner.Buffer(make([]byte, min(1<<16, longest)), longest)
	scanner.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		if scanner.Err() != nil && bytes.IndexByte(data, '\n') < 0 {
			return len(data), nil, nil // the beginning of a line whose rest cannot be read
		}
		return bufio.ScanLines(data, atEOF)
	})
	return &Reader{scanner: scanner, longest: longest}, nil
}

// Next reads the next line, and reports whether there was one.
func (r *Reader) Next() bool {
	if !r.scanner.Scan() {
		_, corrupt := errors.AsType[flate.CorruptInputError](r.scanner.Err())
		switch err := r.scanner.Err(); {
		case errors.Is(err, bufio.ErrTooLong):
			r.Err = problem(err, "line %d is longer than %d MiB", r.Number+1, r.longest>>20)
		case errors.Is(err, io.ErrUnexpectedEOF):
			r.Err = problem(err, "the file is cut off after line %d: %v", r.Number, err)
		case corrupt, errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader):
			r.Err = problem(err, "the file is broken after line %d: %v", r.Number, err)
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

// Unpack returns the content of r, unpacked if it is compressed with gzip. Reading fails if the content is out of
// proportion to its compressed size.
func Unpack(r io.Reader) (io.Reader, error) {
	packed := &counter{Reader: r}
	buffered := bufio.NewReaderSize(packed, 1<<16)
	if magic, _ := buffered.Peek(2); !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		return buffered, nil
	}
	unpacked, err := gzip.NewReader(buffered)
	if err != nil {
		return nil, problem(err, "the file begins like one compressed with gzip, but: %v", err)
	}
	return &ratio{Reader: unpacked, packed: packed}, nil
}

// counter counts the bytes read.
type counter struct {
	io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}

// ratio fails once a compressed file has unpacked to too many bytes.
type ratio struct {
	io.Reader
	packed *counter
	n      int64
}

func (r *ratio) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.n += int64(n)
	if err := CheckRatio(r.packed.n, r.n); err != nil {
		return 0, err
	}
	return n, err
}

// CheckRatio returns an error if packed bytes unpack to too many.
func CheckRatio(packed, unpacked int64) error {
	if unpacked > maxStart+maxRatio*packed {
		return problem(nil, "it unpacks to more than %d times its size: if that is right, unpack it first", maxRatio)
	}
	return nil
}

// bounded fails after a number of bytes.
type bounded struct {
	io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, ErrTooLarge
	}
	return n, err
}

// The limits of a JSON text. An empty object takes 3 bytes of text and 50 bytes of memory once it is decoded.
const (
	maxValues = 100_000
	maxDepth  = 1000
)

// Check returns an error, worded to follow "the text", if JSON has so many values or is nested so deeply that decoding
// it would take memory out of proportion to its length. It does not check the syntax.
func Check(text []byte) error {
	values, depth := 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			values++
			depth++
		case '}', ']':
			depth--
		case ',':
			values++
		}
		if depth > maxDepth {
			return fmt.Errorf("is nested deeper than %d", maxDepth)
		}
		if values > maxValues {
			return fmt.Errorf("has more than %d values", maxValues)
		}
	}
	return nil
}
