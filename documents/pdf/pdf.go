// Package pdf makes package documents read PDF files. Import it for that effect:
//
//	import _ "github.com/oxbow-memory/oxbow/documents/pdf"
//
// It reads the text layer of each page, in English, Chinese and other scripts whose fonts state their characters.
// Objects, fonts and operators are parsed by ledongthuc/pdf; the order of letters, spaces and lines follows from their
// positions. Scanned pages need text recognition (OCR) first, and encrypted files must be decrypted.
package pdf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/ledongthuc/pdf"
	"golang.org/x/text/unicode/norm"

	"github.com/oxbow-memory/oxbow/internal/document"
)

func init() { document.Register(document.PDF, read) }

const (
	timeout   = 2 * time.Minute // for a whole file: a crafted one could take forever
	maxPages  = 50_000
	maxDepth  = 40       // of nested pages and nested forms
	maxStates = 1000     // of nested graphics states; the format allows 28
	maxStream = 32 << 20 // bytes of a page's or form's operators, unpacked
	maxText   = document.MaxBytes
)

var header = []byte("%PDF-")

// read returns the text of each page.
func read(ctx context.Context, content []byte) ([]document.Chunk, error) {
	if at := bytes.Index(content[:min(len(content), 1024)], header); at < 0 {
		return nil, document.Errorf("is not a PDF: it does not begin with %s", header)
	} else if at > 0 { // offsets in the file ignore what some programs put before the header
		content = content[at:]
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, document.Errorf("takes longer than %s to read", timeout))
	defer cancel()
	type result struct {
		chunks []document.Chunk
		err    error
	}
	done := make(chan result, 1)
	go func() { // ends soon after ctx, except in loops of the library that read nothing
		chunks, err := pagesOf(ctx, content)
		done <- result{chunks, err}
	}()
	select {
	case r := <-done:
		return r.chunks, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

var errEncrypted = document.Errorf("is an encrypted PDF: decrypt it, for example with qpdf --decrypt")

func pagesOf(ctx context.Context, content []byte) (chunks []document.Chunk, err error) {
	defer func() {
		if broken := recover(); broken != nil {
			chunks, err = nil, document.Errorf("is a broken PDF: %v", broken)
		}
		if ctx.Err() != nil {
			chunks, err = nil, context.Cause(ctx)
		}
	}()
	file, err := pdf.NewReader(&oldHeader{ctx, bytes.NewReader(content)}, int64(len(content)))
	switch {
	case errors.Is(err, pdf.ErrInvalidPassword), err != nil && strings.Contains(err.Error(), "ncrypt"):
		return nil, errEncrypted
	case err != nil:
		return nil, document.Errorf("is a broken PDF: %s", strings.TrimPrefix(err.Error(), "malformed PDF: "))
	}
	r := &reader{ctx: ctx, fonts: map[string]*font{}}
	err = r.walk(file.Trailer().Key("Root").Key("Pages"), pdf.Value{}, 0)
	if !file.Trailer().Key("Encrypt").IsNull() && ctx.Err() == nil && (err != nil || len(r.chunks) == 0) {
		return nil, errEncrypted // the library opens files with an empty password, but not all of them correctly
	} else if err != nil {
		return nil, err
	}
	var seen, unknown int
	for _, c := range r.chunks {
		for _, char := range c.Text {
			seen++
			if char == unicode.ReplacementChar || unicode.Is(unicode.Co, char) ||
				unicode.IsControl(char) && char != '\n' {
				unknown++
			}
		}
	}
	switch {
	case r.pages == 0:
		return nil, document.Errorf("is a PDF without pages")
	case seen == 0:
		return nil, document.Errorf("is a PDF without text, perhaps of scanned pages: it needs text recognition (OCR)")
	case unknown > seen/4:
		return nil, document.Errorf(
			"is a PDF whose fonts do not state their characters: it needs text recognition (OCR)")
	}
	for i := range r.chunks {
		r.chunks[i].Text = strings.ReplaceAll(r.chunks[i].Text, string(unicode.ReplacementChar), "")
	}
	return r.chunks, nil
}

// oldHeader presents a file of any version as 1.7, the last that the library accepts: later
// versions do not differ in anything that affects text. It cannot be read after ctx has ended.
type oldHeader struct {
	ctx context.Context
	*bytes.Reader
}

func (h *oldHeader) ReadAt(p []byte, offset int64) (int, error) {
	if h.ctx.Err() != nil {
		return 0, context.Cause(h.ctx)
	}
	n, err := h.Reader.ReadAt(p, offset)
	const accepted = "%PDF-1.7\n"
	if offset < int64(len(accepted)) && n > 0 {
		copy(p[:n], accepted[offset:])
	}
	return n, err
}

// reader collects the text of pages.
type reader struct {
	ctx    context.Context
	chunks []document.Chunk
	pages  int
	bytes  int              // of text
	fonts  map[string]*font // by the contents of their dictionaries
}

// walk walks a tree of pages. Pages inherit resources.
func (r *reader) walk(node, resources pdf.Value, depth int) error {
	if own := node.Key("Resources"); !own.IsNull() {
		resources = own
	}
	kids := node.Key("Kids")
	switch {
	case r.ctx.Err() != nil:
		return context.Cause(r.ctx)
	case depth > maxDepth:
		return document.Errorf("is a broken PDF: its pages are nested in a cycle")
	case kids.Kind() == pdf.Array:
		for i := range kids.Len() {
			if err := r.walk(kids.Index(i), resources, depth+1); err != nil {
				return err
			}
		}
		return nil
	case node.Key("Type").Name() != "Page":
		return nil
	}
	if r.pages++; r.pages > maxPages {
		return document.Errorf("has more than %d pages", maxPages)
	}
	text, err := r.page(node.Key("Contents"), resources)
	if _, known := errors.AsType[*document.Error](err); known {
		return err
	} else if err != nil {
		return document.Errorf("is a broken PDF: page %d cannot be read: %v", r.pages, err)
	}
	if strings.TrimSpace(text) != "" {
		r.chunks = append(r.chunks, document.Chunk{Text: text, Page: r.pages})
	}
	return nil
}

func (r *reader) page(contents, resources pdf.Value) (text string, err error) {
	defer func() {
		switch broken := recover().(type) {
		case nil:
		case *document.Error:
			err = broken
		default:
			err = fmt.Errorf("%v", broken)
		}
	}()
	if contents.IsNull() {
		return "", nil
	}
	p := pen{reader: r, state: state{ctm: identity, scale: 1}}
	p.draw(contents, resources, 0)
	return joined(p.text.String()), nil
}

var (
	hyphenated = regexp.MustCompile(`(\p{L})[-‐]\n(\p{Ll})`)
	// Ligatures, and the radicals that Chromium writes for the characters they look like.
	compatible = regexp.MustCompile(`[\x{FB00}-\x{FB06}\x{2E80}-\x{2FDF}\x{F900}-\x{FAFF}]`)
	wideBreak  = regexp.MustCompile(`([` + wideLetters + `])\n([` + wideLetters + `（「『《“])`)
)

const wideLetters = `\p{Han}\p{Hiragana}\p{Katakana}，。、；：！？）」』》”`

// joined joins words and Chinese sentences broken at the end of a line.
func joined(text string) string {
	text = compatible.ReplaceAllStringFunc(text, norm.NFKC.String)
	text = hyphenated.ReplaceAllString(text, "$1$2")
	for wideBreak.MatchString(text) { // matches overlap at a line of one character
		text = wideBreak.ReplaceAllString(text, "$1$2")
	}
	return text
}
