// Package document reads text, Markdown and HTML files, and other types for which a reader is registered, and splits
// their text into chunks. It takes bytes and returns chunks; it stores nothing.
//
// Splitting is langchaingo's. Reading is not, because its HTML loader joins paragraphs and escapes characters.
package document

import (
	"context"
	"fmt"
)

// Version increases when a file would be read or split differently than before, so that files ingested by an older
// program are ingested again instead of counting as unchanged.
const Version = 3

// The limits of a file. The largest has about 75,000 chunks of the default size.
const (
	MaxBytes  = 64 << 20
	MaxChunks = 100_000
)

// Chunk is a piece of a file's text.
type Chunk struct {
	Text string
	// Page is the chunk's page in a PDF, from 1, or 0 for other types.
	Page int
	// Heading is the path of headings above the chunk, "Guide > Setup", in Markdown and HTML. Each is shortened to
	// maxTitle characters.
	Heading string
}

// Error reports a file that cannot be read as a document.
type Error struct {
	// Problem completes a sentence that begins with the file, such as "is empty".
	Problem string
}

func (e *Error) Error() string { return "the file " + e.Problem }

// Errorf returns an *Error.
func Errorf(format string, args ...any) error { return &Error{Problem: fmt.Sprintf(format, args...)} }

// A Reader returns the text of a file in pieces, such as pages. An error about the file is an *Error.
type Reader func(ctx context.Context, content []byte) ([]Chunk, error)

var readers = map[string]Reader{Text: readText, Markdown: readMarkdown, HTML: readHTML}

// Register sets the reader of a media type. Only init functions may call it.
func Register(mediaType string, r Reader) { readers[mediaType] = r }

// Read returns the chunks of a file in order. mediaType is one that MediaType returned, and s must
// be valid. An error about the file is an *Error.
func Read(ctx context.Context, mediaType string, content []byte, s Splitting) ([]Chunk, error) {
	if err := CheckSize(len(content)); err != nil {
		return nil, err
	}
	read := readers[mediaType]
	if read == nil {
		return nil, Errorf("cannot be read as %s: the program does not import a reader for it", mediaType)
	}
	pieces, err := read(ctx, content)
	if err != nil {
		return nil, err
	}
	for i := range pieces {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		pieces[i].Text = tidy(pieces[i].Text)
	}
	chunks, err := s.split(ctx, pieces)
	if err == nil && len(chunks) == 0 {
		err = Errorf("has no text")
	}
	return chunks, err
}

// CheckSize returns an *Error if a file of that many bytes is empty or too large.
func CheckSize(bytes int) error {
	switch {
	case bytes == 0:
		return Errorf("is empty")
	case bytes > MaxBytes:
		return Errorf("is larger than %d MiB", MaxBytes>>20)
	}
	return nil
}
