// Package document reads files as text and cuts the text into chunks: plain text, Markdown, HTML and PDF. Bytes in,
// chunks out; what becomes of them is not its concern.
//
// Splitting is langchaingo's. Reading is not: its HTML loader runs paragraphs together and escapes
// what it finds, and its PDF loader loses the spaces that TeX sets as distances, and reads each
// page with the fonts of the first.
package document

import (
	"context"
	"fmt"
)

// Version is raised when the same file would be read or split otherwise than before, so that what was ingested by an
// older program is ingested again and not taken for unchanged.
const Version = 1

// MaxBytes is how large a file may be.
const MaxBytes = 64 << 20

// Chunk is a piece of a file's text.
type Chunk struct {
	Text string
	// Page is where it stands in a PDF, from 1; 0 where there are no pages.
	Page int
	// Heading is the headings above it, "Guide > Setup", in Markdown and HTML.
	Heading string
}

// Error is a file that cannot be read as a document.
type Error struct {
	// Problem is a sentence about the file without its name, such as "is empty".
	Problem string
}

func (e *Error) Error() string { return "the file " + e.Problem }

func problem(format string, args ...any) error { return &Error{Problem: fmt.Sprintf(format, args...)} }

// Read returns the chunks of a file of a media type that MediaType returned, in their order. s
// breaks no rule. An error about the file is an *Error.
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

// Empty is the error about a file of no bytes.
func Empty() error { return problem("is empty") }

// TooLarge is the error about a file of more than MaxBytes.
func TooLarge() error {
	return problem("is larger than %d MiB, which is the most that is read", MaxBytes>>20)
}
