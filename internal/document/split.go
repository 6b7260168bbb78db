package document

import (
	"context"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tmc/langchaingo/textsplitter"
)

// Splitting says how large chunks are, in characters.
type Splitting struct {
	// Size is the most that a chunk has, 100 to 20,000.
	Size int
	// Overlap is how much of the end of a chunk the next one may repeat, in whole sentences: 0 to half of Size.
	Overlap int
}

// The limits of Splitting.
const (
	MinSize, MaxSize = 100, 20_000
	DefaultSize      = 1000
)

// SizeRule is the rule that Size breaks, "" if it breaks none.
func (s Splitting) SizeRule() string {
	if s.Size < MinSize || s.Size > MaxSize {
		return fmt.Sprintf("must be between %d and %d characters", MinSize, MaxSize)
	}
	return ""
}

// OverlapRule is the rule that Overlap breaks, "" if it breaks none.
func (s Splitting) OverlapRule() string {
	if s.Overlap < 0 || s.Overlap > s.Size/2 {
		return fmt.Sprintf("must be between 0 and half of the chunk size, %d", s.Size/2)
	}
	return ""
}

// Marks stand in the text while it is split, since a separator of the splitter's own is lost or begins the next chunk,
// where a full stop has no business. The text has no control characters.
const (
	endOfSentence = '\x1d'
	endOfClause   = '\x1e'
	anywhere      = '\x1f' // in what has no place to be cut at
	marks         = string(endOfSentence) + string(endOfClause) + string(anywhere)
)

// split cuts pieces that are too long: between paragraphs, else lines, sentences, clauses, words, else anywhere.
func (s Splitting) split(ctx context.Context, pieces []Chunk) ([]Chunk, error) {
	splitter := textsplitter.NewRecursiveCharacter(
		// the splitter forgets to count the separator after what it repeats
		textsplitter.WithChunkSize(s.Size-len("\n\n")),
		textsplitter.WithChunkOverlap(s.Overlap),
		textsplitter.WithSeparators([]string{"\n\n", "\n", string(endOfSentence), string(endOfClause), " ", string(anywhere)}),
		textsplitter.WithLenFunc(length),
	)
	var chunks []Chunk
	for _, piece := range pieces {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		texts := []string{piece.Text}
		if length(piece.Text) > s.Size {
			var err error
			if texts, err = splitter.SplitText(marked(piece.Text, max(1, s.Size/8))); err != nil {
				return nil, err
			}
		}
		for _, text := range texts {
			piece.Text = strings.TrimSpace(strings.Map(unmark, text))
			if piece.Text != "" {
				chunks = append(chunks, piece)
			}
		}
	}
	return chunks, nil
}

// length counts characters.
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

// marked puts a mark after each sentence and each clause, and after every run of that many characters without one.
func marked(text string, run int) string {
	var b strings.Builder
	b.Grow(len(text) + len(text)/16)
	var before rune // the last character that was neither a closing quote nor a space
	since := 0      // characters without a place to cut at
	runes := []rune(text)
	for i, r := range runes {
		b.WriteRune(r)
		next := ' '
		if i+1 < len(runes) {
			next = runes[i+1]
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
