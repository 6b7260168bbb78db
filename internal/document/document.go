// Package document reads plain text, Markdown, HTML and PDF files as text and splits the text into
// chunks. It takes bytes and returns chunks; it stores nothing.
//
// Splitting is langchaingo's. Reading is not: its HTML loader runs paragraphs together and escapes
// what it finds. Its PDF loader loses the spaces that TeX sets as distances, and reads each page
// with the fonts of the first.
package document

import (
	"context"
	"fmt"
)

// Version increases when a file would be read or split differently than before, so that files
// ingested by an older program are ingested again instead of counting as unchanged.
const Version = 1

// MaxBytes is the largest file accepted, in bytes.
const MaxBytes = 64 << 20

// Chunk is a piece of a file's text.
type Chunk struct {
	Text string
	// Page is the chunk's page in a PDF, from 1, or 0 for other types.
	Page int
	// Heading is the path of headings above the chunk, "Guide > Setup", in Markdown and HTML.
	Heading string
}

// Error reports a file that cannot be read as a document.
type Error struct {
	// Problem describes the file without its name, such as "is empty".
	Problem string
}

func (e *Error) Error() string { return "the file " + e.Problem }

func problem(format string, args ...any) error { return &Error{Problem: fmt.Sprintf(format, args...)} }

// Read returns the chunks of a file in order. mediaType is one that MediaType returned, and s must
// be valid. An error about the file is an *Error.
func Read(ctx context.Context, mediaType string, content []byte, s Splitting) ([]Chunk, error) {
	switch {
	case len(content) == 0:
		return nil, Empty()
	case len(content) > MaxBytes:
		return nil, TooLarge()
	}
	var pieces []Chunk
	var err error
	switch mediaType {
	case PDF:
		pieces, err = readPDF(ctx, content)
	case HTML:
		pieces, err = readHTML(content)
	case Markdown:
		pieces, err = readMarkdown(content)
	default:
		pieces, err = readText(content)
	}
	if err != nil {
		return nil, err
	}
	chunks, err := s.split(ctx, pieces)
	if err == nil && len(chunks) == 0 {
		err = problem("has no text")
	}
	return chunks, err
}

// Empty returns the error for a file without bytes.
func Empty() error { return problem("is empty") }

// TooLarge returns the error for a file larger than MaxBytes.
func TooLarge() error {
	return problem("is larger than %d MiB, which is the most that is read", MaxBytes>>20)
}
