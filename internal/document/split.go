package document

import (
	"context"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tmc/langchaingo/textsplitter"
)

// Splitting sets the size of chunks, in characters.
type Splitting struct {
	// Size is the largest chunk, 100 to 20,000.
	Size int
	// Overlap is how much of a chunk's end the next chunk may repeat, in whole sentences: 0 to half
	// of Size.
	Overlap int
	// MaxChunks is the maximum number of chunks. Zero means the constant MaxChunks.
	MaxChunks int
}

// The limits of Splitting.
const (
	MinSize, MaxSize = 100, 20_000
	DefaultSize      = 1000
)

// SizeRule returns the rule that Size breaks, or "" if it is valid.
func (s Splitting) SizeRule() string {
	if s.Size < MinSize || s.Size > MaxSize {
		return fmt.Sprintf("must be between %d and %d characters", MinSize, MaxSize)
	}
	return ""
}

// OverlapRule returns the rule that Overlap breaks, or "" if it is valid.
func (s Splitting) OverlapRule() string {
	if s.Overlap < 0 || s.Overlap > s.Size/2 {
		return fmt.Sprintf("must be between 0 and half of the chunk size, %d", s.Size/2)
	}
	return ""
}

// Marks are inserted into the text while it is split, because the splitter drops a separator or
// moves it to the next chunk, which must not begin with a full stop. The text has no control
// characters.
const (
	endOfSentence = '\x1d'
	endOfClause   = '\x1e'
	anywhere      = '\x1f' // in a run without a place to cut
	marks         = string(endOfSentence) + string(endOfClause) + string(anywhere)
)

// split splits pieces that are too long: between paragraphs, else lines, sentences, clauses, words,
// else anywhere.
func (s Splitting) split(ctx context.Context, pieces []Chunk) ([]Chunk, error) {
	splitter := textsplitter.NewRecursiveCharacter(
		// The splitter does not count the separator after the repeated text.
		textsplitter.WithChunkSize(s.Size-len("\n\n")),
		textsplitter.WithChunkOverlap(s.Overlap),
		textsplitter.WithSeparators([]string{
			"\n\n", "\n", string(endOfSentence), string(endOfClause), " ", string(anywhere)}),
		textsplitter.WithLenFunc(length),
	)
	var chunks []Chunk
	read, headings := 0, 0 // bytes
	for _, piece := range pieces {
		read += len(piece.Text)
		for rest := piece.Text; rest != ""; {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			var block string
			block, rest = cutBlock(rest)
			texts := []string{block}
			if length(block) > s.Size {
				var err error
				if texts, err = splitter.SplitText(marked(block, max(1, s.Size/8))); err != nil {
					return nil, err
				}
			}
			for _, text := range texts {
				piece.Text = strings.Clone(strings.TrimSpace(strings.Map(unmark, text)))
				if piece.Text != "" {
					chunks = append(chunks, piece)
					headings += len(piece.Heading)
				}
			}
			if err := checkChunks(len(chunks), s.most(), headings, read); err != nil {
				return nil, err
			}
		}
	}
	return chunks, nil
}

// maxBlock is the longest text, in bytes, that is split at once. The splitter cannot be interrupted, and its memory is
// many times the length of the text.
const maxBlock = 1 << 20

// cutBlock returns the beginning of a text, at most maxBlock bytes, and the rest. It cuts after a paragraph, else a
// line, a word, or anywhere.
func cutBlock(text string) (block, rest string) {
	if len(text) <= maxBlock {
		return text, ""
	}
	at := maxBlock
	for !utf8.RuneStart(text[at]) {
		at--
	}
	for _, separator := range []string{"\n\n", "\n", " "} {
		if last := strings.LastIndex(text[maxBlock/2:at], separator); last >= 0 {
			at = maxBlock/2 + last + len(separator)
			break
		}
	}
	return text[:at], text[at:]
}

// most returns the maximum number of chunks.
func (s Splitting) most() int {
	if s.MaxChunks > 0 {
		return min(s.MaxChunks, MaxChunks)
	}
	return MaxChunks
}

// length returns the number of characters.
func length(text string) int {
	n := utf8.RuneCountInString(text)
	for _, mark := range marks {
		n -= strings.Count(text, string(mark))
	}
	return n
}

func unmark(r rune) rune {
	switch r {
	case endOfSentence, endOfClause, anywhere:
		return -1
	}
	return r
}

// marked adds a mark after each sentence and clause, and after every run characters without one.
func marked(text string, run int) string {
	var b strings.Builder
	b.Grow(len(text) + len(text)/16)
	var before rune // last character that is not a closing quote or a space
	since := 0      // characters since the last place to cut
	for text != "" {
		r, size := utf8.DecodeRuneInString(text)
		text = text[size:]
		b.WriteRune(r)
		next := ' '
		if text != "" {
			next, _ = utf8.DecodeRuneInString(text)
		}
		if since++; r == ' ' || r == '\n' {
			since = 0
		}
		if !closing(r) && !unicode.IsSpace(r) {
			before = r
		}
		switch {
		case since < run && (closing(next) || unicode.IsSpace(next) || sentenceEnd(next)):
			continue // the mark comes after it
		case sentenceEnd(before):
			b.WriteRune(endOfSentence)
		case strings.ContainsRune("，、；：", before):
			b.WriteRune(endOfClause)
		case unicode.IsSpace(r) && strings.ContainsRune(".!?", before):
			b.WriteRune(endOfSentence)
		case unicode.IsSpace(r) && strings.ContainsRune(",;:", before):
			b.WriteRune(endOfClause)
		case since >= run:
			b.WriteRune(anywhere)
		default:
			continue
		}
		since = 0
	}
	return b.String()
}

func closing(r rune) bool {
	switch r {
	case '”', '’', '」', '』', '）', '》', '】', '"', '\'', ')', ']':
		return true
	}
	return false
}

func sentenceEnd(r rune) bool { return r == '。' || r == '！' || r == '？' || r == '…' }
