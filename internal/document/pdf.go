package document

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
)

const (
	pdfTime  = 2 * time.Minute // for a whole file: a crafted one could take forever
	maxPages = 50_000
	maxDepth = 40 // of nested pages and nested forms
)

var pdfHeader = []byte("%PDF-")

// readPDF returns the text of each page.
func readPDF(ctx context.Context, content []byte) ([]Chunk, error) {
	if at := bytes.Index(content[:min(len(content), 1024)], pdfHeader); at < 0 {
		return nil, problem("is no PDF: it does not begin with %s", pdfHeader)
	} else if at > 0 { // offsets in the file ignore what some programs put before the header
		content = content[at:]
	}
	ctx, cancel := context.WithTimeoutCause(ctx, pdfTime, problem("takes longer than %s to read", pdfTime))
	defer cancel()
	type result struct {
		chunks []Chunk
		err    error
	}
	done := make(chan result, 1)
	go func() { // cannot be interrupted; abandoned when ctx ends
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

func pagesOf(ctx context.Context, content []byte) (chunks []Chunk, err error) {
	defer func() {
		if broken := recover(); broken != nil {
			chunks, err = nil, problem("is a broken PDF: %v", broken)
		}
	}()
	reader, err := pdf.NewReader(&oldHeader{bytes.NewReader(content)}, int64(len(content)))
	switch {
	case errors.Is(err, pdf.ErrInvalidPassword), err != nil && strings.Contains(err.Error(), "ncrypt"):
		return nil, problem("is an encrypted PDF: remove its password, for example with qpdf --decrypt")
	case err != nil:
		return nil, problem("is a broken PDF: %s", strings.TrimPrefix(err.Error(), "malformed PDF: "))
	}
	r := &pdfReader{ctx: ctx, fonts: map[string]*pdfFont{}}
	if err := r.walk(reader.Trailer().Key("Root").Key("Pages"), pdf.Value{}, 0); err != nil {
		return nil, err
	}
	var seen, unknown int
	for _, c := range r.chunks {
		for _, char := range c.Text {
			if seen++; char == unicode.ReplacementChar || unicode.IsControl(char) && char != '\n' || unicode.Is(unicode.Co, char) {
				unknown++
			}
		}
	}
	switch {
	case r.pages == 0:
		return nil, problem("is a PDF without pages")
	case seen == 0:
		return nil, problem("is a PDF without text, perhaps of scanned pages: it needs text recognition (OCR) first")
	case unknown > seen/4:
		return nil, problem("is a PDF whose fonts do not tell which characters they show: it needs text recognition (OCR) first")
	}
	for i := range r.chunks {
		r.chunks[i].Text = tidy(strings.ReplaceAll(r.chunks[i].Text, string(unicode.ReplacementChar), ""))
	}
	return r.chunks, nil
}

// oldHeader presents a file of any version as 1.7, the last that the library accepts: later
// versions do not differ in anything that affects text.
type oldHeader struct{ *bytes.Reader }

func (h *oldHeader) ReadAt(p []byte, offset int64) (int, error) {
	n, err := h.Reader.ReadAt(p, offset)
	const header = "%PDF-1.7\n"
	if offset < int64(len(header)) && n > 0 {
		copy(p[:n], header[offset:])
	}
	return n, err
}

// pdfReader collects the text of pages.
type pdfReader struct {
	ctx    context.Context
	chunks []Chunk
	pages  int
	fonts  map[string]*pdfFont // by the contents of their dictionaries
}

// walk walks a tree of pages. Pages inherit resources.
func (r *pdfReader) walk(node, resources pdf.Value, depth int) error {
	if own := node.Key("Resources"); !own.IsNull() {
		resources = own
	}
	kids := node.Key("Kids")
	switch {
	case r.ctx.Err() != nil:
		return context.Cause(r.ctx)
	case depth > maxDepth:
		return problem("is a broken PDF: its pages lie within each other")
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
		return problem("has more than %d pages", maxPages)
	}
	text, err := r.page(node.Key("Contents"), resources)
	if err != nil {
		return problem("is a broken PDF: page %d cannot be read: %v", r.pages, err)
	}
	if strings.TrimSpace(text) != "" {
		r.chunks = append(r.chunks, Chunk{Text: text, Page: r.pages})
	}
	return nil
}

func (r *pdfReader) page(contents, resources pdf.Value) (text string, err error) {
	defer func() {
		if broken := recover(); broken != nil {
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
	ligatures  = strings.NewReplacer("ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl", "ﬅ", "ft", "ﬆ", "st")
	hyphenated = regexp.MustCompile(`(\p{L})[-‐]\n(\p{Ll})`)
	wideBreak  = regexp.MustCompile(`([\p{Han}\p{Hiragana}\p{Katakana}，。、；：！？）」』》”])\n([\p{Han}\p{Hiragana}\p{Katakana}（「『《“，。、；：！？）」』》”])`)
)

// joined joins words and Chinese sentences broken at the end of a line.
func joined(text string) string {
	text = hyphenated.ReplaceAllString(ligatures.Replace(text), "$1$2")
	for wideBreak.MatchString(text) { // matches overlap at a line of one character
		text = wideBreak.ReplaceAllString(text, "$1$2")
	}
	return text
}
