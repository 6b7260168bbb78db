package tokenizer

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// spec describes a normalizer or a pre-tokenizer: its type, and the fields of all types.
type spec struct {
	Type string `json:"type"`
	// Of Sequence.
	Normalizers   []spec `json:"normalizers"`
	PreTokenizers []spec `json:"pretokenizers"`
	// Of BertNormalizer.
	CleanText          bool  `json:"clean_text"`
	HandleChineseChars bool  `json:"handle_chinese_chars"`
	StripAccents       *bool `json:"strip_accents"`
	Lowercase          bool  `json:"lowercase"`
	// Of Precompiled, in base64.
	Charsmap []byte `json:"precompiled_charsmap"`
	// Of Strip.
	Left  bool `json:"strip_left"`
	Right bool `json:"strip_right"`
	// Of Replace.
	Pattern struct{ String, Regex string } `json:"pattern"`
	Content string                         `json:"content"`
	// Of Metaspace.
	Replacement    string `json:"replacement"`
	AddPrefixSpace *bool  `json:"add_prefix_space"`
	PrependScheme  string `json:"prepend_scheme"`
	Split          *bool  `json:"split"`
}

func normalizer(s *spec) (func(string) string, error) {
	if s == nil {
		return func(text string) string { return text }, nil
	}
	switch s.Type {
	case "Sequence":
		var steps []func(string) string
		for i := range s.Normalizers {
			step, err := normalizer(&s.Normalizers[i])
			if err != nil {
				return nil, err
			}
			steps = append(steps, step)
		}
		return func(text string) string {
			for _, step := range steps {
				text = step(text)
			}
			return text
		}, nil
	case "BertNormalizer":
		return s.bert, nil
	case "Precompiled":
		m, err := newCharsmap(s.Charsmap)
		return m.normalize, err
	case "Lowercase":
		return strings.ToLower, nil
	case "StripAccents":
		return withoutAccents, nil
	case "NFC":
		return norm.NFC.String, nil
	case "NFD":
		return norm.NFD.String, nil
	case "NFKC":
		return norm.NFKC.String, nil
	case "NFKD":
		return norm.NFKD.String, nil
	case "Strip":
		return func(text string) string {
			if s.Left {
				text = strings.TrimLeftFunc(text, unicode.IsSpace)
			}
			if s.Right {
				text = strings.TrimRightFunc(text, unicode.IsSpace)
			}
			return text
		}, nil
	case "Replace":
		if s.Pattern.Regex == "" {
			return strings.NewReplacer(s.Pattern.String, s.Content).Replace, nil
		}
		pattern, err := regexp.Compile(s.Pattern.Regex)
		return func(text string) string { return pattern.ReplaceAllLiteralString(text, s.Content) }, err
	}
	return nil, fmt.Errorf("the normalizer %q is not supported", s.Type)
}

func (s *spec) bert(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case s.CleanText && (r == '\t' || r == '\n' || r == '\r' || unicode.IsSpace(r) && !unicode.IsControl(r)):
			b.WriteByte(' ')
		case s.CleanText && (r == unicode.ReplacementChar || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co)):
		case s.HandleChineseChars && unicode.Is(chinese, r):
			b.WriteByte(' ')
			b.WriteRune(r)
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	text = b.String()
	if s.StripAccents == nil && s.Lowercase || s.StripAccents != nil && *s.StripAccents {
		text = withoutAccents(norm.NFD.String(text))
	}
	if s.Lowercase {
		text = strings.ToLower(text)
	}
	return text
}

// chinese holds the characters that BERT treats as words. unicode.Han has more.
var chinese = &unicode.RangeTable{
	R16: []unicode.Range16{{Lo: 0x3400, Hi: 0x4DBF, Stride: 1}, {Lo: 0x4E00, Hi: 0x9FFF, Stride: 1},
		{Lo: 0xF900, Hi: 0xFAFF, Stride: 1}},
	R32: []unicode.Range32{{Lo: 0x20000, Hi: 0x2A6DF, Stride: 1}, {Lo: 0x2A700, Hi: 0x2B81F, Stride: 1},
		{Lo: 0x2B920, Hi: 0x2CEAF, Stride: 1}, {Lo: 0x2F800, Hi: 0x2FA1F, Stride: 1}},
}

func withoutAccents(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, text)
}

// splitter returns a function that splits texts into words.
func splitter(s *spec) (func([]string) []string, error) {
	if s == nil {
		return func(texts []string) []string { return texts }, nil
	}
	switch s.Type {
	case "Sequence":
		var steps []func([]string) []string
		for i := range s.PreTokenizers {
			step, err := splitter(&s.PreTokenizers[i])
			if err != nil {
				return nil, err
			}
			steps = append(steps, step)
		}
		return func(texts []string) []string {
			for _, step := range steps {
				texts = step(texts)
			}
			return texts
		}, nil
	case "BertPreTokenizer":
		return each(bertWords), nil
	case "WhitespaceSplit":
		return each(strings.Fields), nil
	case "Metaspace":
		return s.metaspace()
	}
	return nil, fmt.Errorf("the pre-tokenizer %q is not supported", s.Type)
}

func each(split func(string) []string) func([]string) []string {
	return func(texts []string) (words []string) {
		for _, text := range texts {
			words = append(words, split(text)...)
		}
		return words
	}
}

// bertWords splits at spaces and around punctuation.
func bertWords(text string) (words []string) {
	for _, field := range strings.Fields(text) {
		begin := 0
		for i, r := range field {
			if r < 0x80 && unicode.In(r, unicode.P, unicode.S) || unicode.IsPunct(r) {
				if begin < i {
					words = append(words, field[begin:i])
				}
				begin = i + len(string(r))
				words = append(words, field[i:begin])
			}
		}
		if begin < len(field) {
			words = append(words, field[begin:])
		}
	}
	return words
}

// metaspace splits before spaces, which it replaces by another character.
func (s *spec) metaspace() (func([]string) []string, error) {
	prepend := s.PrependScheme != "never"
	if s.PrependScheme == "" && s.AddPrefixSpace != nil {
		prepend = *s.AddPrefixSpace
	}
	if s.Replacement == "" || s.Split != nil && !*s.Split || s.PrependScheme == "first" {
		return nil, fmt.Errorf("a pre-tokenizer Metaspace with replacement %q, split and prepend_scheme %q is not supported",
			s.Replacement, s.PrependScheme)
	}
	return each(func(text string) (words []string) {
		text = strings.ReplaceAll(text, " ", s.Replacement)
		if prepend && text != "" && !strings.HasPrefix(text, s.Replacement) {
			text = s.Replacement + text
		}
		for text != "" {
			end := strings.Index(text[1:], s.Replacement) + 1
			if end == 0 {
				end = len(text)
			}
			words = append(words, text[:end])
			text = text[end:]
		}
		return words
	}), nil
}
