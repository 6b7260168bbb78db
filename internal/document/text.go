package document

import (
	"bytes"
	"context"
	"strings"
	"unicode"
	"unicode/utf8"
)

func readText(_ context.Context, content []byte) ([]Chunk, error) {
	text, err := decode(content)
	if err != nil {
		return nil, err
	}
	return []Chunk{{Text: text}}, nil
}

// decode returns the text of a file, which must be UTF-8.
func decode(content []byte) (string, error) {
	switch {
	case bytes.HasPrefix(content, []byte("\xff\xfe")), bytes.HasPrefix(content, []byte("\xfe\xff")):
		return "", Errorf(
			"is encoded as UTF-16 instead of UTF-8: convert it, for example with iconv -f UTF-16 -t UTF-8")
	case strange(content) > len(content)/10, bytes.IndexByte(content, 0) >= 0:
		return "", Errorf("is binary, not text: %s", readable)
	}
	for at := 0; at < len(content); {
		r, size := utf8.DecodeRune(content[at:])
		if r == utf8.RuneError && size == 1 {
			return "", Errorf("is not encoded as UTF-8 (byte 0x%02X in line %d): convert it, for example with "+
				"iconv -f WINDOWS-1252 -t UTF-8 (or GB18030, if it is Chinese)", content[at], bytes.Count(content[:at], []byte("\n"))+1)
		}
		at += size
	}
	return strings.TrimPrefix(string(content), "\ufeff"), nil
}

// strange counts bytes that occur in no text of any byte-based encoding.
func strange(content []byte) (n int) {
	for _, b := range content {
		if b < ' ' && !strings.ContainsRune("\t\n\v\f\r\x1b", rune(b)) || b == 0x7f {
			n++
		}
	}
	return n
}

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\f", "\n\n", "\v", "\n", "\u2028", "\n",
	"\u2029", "\n\n", "\u00a0", " ")

// tidy normalises line ends, and removes invisible text: control characters, soft hyphens, spaces
// at line ends, and repeated blank lines.
func tidy(text string) string {
	text = lineEnds.Replace(text)
	text = strings.Map(func(r rune) rune {
		if r == '\u00ad' || r == '\ufeff' || unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text)
	var b strings.Builder
	b.Grow(len(text))
	blank := 0 // blank lines before the current one
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimRight(line, " \t\u3000")
		if line == "" {
			blank++
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n\n"[:min(blank+1, 2)])
		}
		b.WriteString(line)
		blank = 0
	}
	return b.String()
}
