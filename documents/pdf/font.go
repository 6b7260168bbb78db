package pdf

import (
	"encoding/hex"
	"io"
	"regexp"
	"strings"
	"unicode/utf16"

	"github.com/ledongthuc/pdf"
)

// font maps the bytes of a string to characters and their widths.
type font struct {
	encoder   pdf.TextEncoding
	unicode   *unicodeMap // the font's own mapping; nil without one
	composite bool        // characters have two bytes
	first     int         // code of the first entry of widths
	widths    []float64   // in thousandths of the font size
}

// font returns a font of a page's resources. It reads each font once.
func (r *reader) font(v pdf.Value) *font {
	if v.IsNull() {
		return nil
	}
	key := v.String()
	if f := r.fonts[key]; f != nil {
		return f
	}
	library := pdf.Font{V: v}
	f := &font{composite: v.Key("Subtype").Name() == "Type0", first: library.FirstChar(), widths: library.Widths()}
	f.unicode = readUnicodeMap(v.Key("ToUnicode"))
	switch {
	case f.unicode != nil:
	case !f.composite:
		f.encoder = library.Encoder()
	case utf16Maps.MatchString(v.Key("Encoding").Name()):
		f.encoder = utf16Encoder{}
	default:
		f.encoder = glyphEncoder{}
	}
	r.fonts[key] = f
	return f
}

// utf16Maps matches the predefined mappings (CMaps) of Chinese, Japanese and Korean fonts whose codes are UTF-16.
var utf16Maps = regexp.MustCompile(`^Uni.*-(UCS2|UTF16)-`)

// utf16Encoder decodes the codes of those mappings.
type utf16Encoder struct{}

func (utf16Encoder) Decode(raw string) string { return decodeUTF16(raw) }

// glyphEncoder decodes codes that number glyphs: their characters are unknown.
type glyphEncoder struct{}

func (glyphEncoder) Decode(raw string) string { return strings.Repeat("\ufffd", (len(raw)+1)/2) }

// measured reports whether the widths are known.
func (f *font) measured() bool { return f != nil && len(f.widths) > 0 }

// decode returns a string's text and width.
func (f *font) decode(raw string, size, space, wordy float64) (string, float64) {
	text, codes := raw, len(raw)
	switch {
	case f == nil:
	case f.unicode != nil:
		text = f.unicode.decode(raw)
	default:
		text = f.encoder.Decode(raw)
	}
	text = strings.ToValidUTF8(text, "\ufffd")
	if f != nil && f.composite {
		codes = len(raw) / 2
	}
	width := float64(codes) * space
	if f.measured() && !f.composite {
		for i := range len(raw) {
			if at := int(raw[i]) - f.first; at >= 0 && at < len(f.widths) {
				width += f.widths[at] / 1000 * size
			}
			if raw[i] == ' ' {
				width += wordy
			}
		}
		return text, width
	}
	for _, r := range text { // a guess
		if wide(r) {
			width += size
		} else {
			width += size / 2
		}
	}
	return text, width
}

// unicodeMap is a font's own mapping from codes to text (ToUnicode).
type unicodeMap struct {
	lengths [5]bool // lengths that codes have, in bytes
	texts   map[string]string
}

// The limits of a mapping: its codes, and the bytes of the text of one, of which the format allows 512.
const (
	mostCodes   = 1 << 17
	longestText = 512
)

// readUnicodeMap reads the mapping. It returns nil if the mapping is missing or empty.
func readUnicodeMap(stream pdf.Value) *unicodeMap {
	if stream.Kind() != pdf.Stream {
		return nil
	}
	table, err := io.ReadAll(io.LimitReader(stream.Reader(), maxTable))
	if err != nil {
		return nil
	}
	m := &unicodeMap{texts: map[string]string{}}
	var args []string // since the last keyword, including "[" and "]"
	for _, token := range tableTokens.FindAllString(string(table), -1) {
		switch token[0] {
		case '%', '(':
		case '<', '[', ']':
			args = append(args, token)
		default:
			m.add(token, args)
			args = args[:0]
		}
	}
	if len(m.texts) == 0 {
		return nil
	}
	return m
}

const maxTable = 4 << 20 // bytes

// tableTokens matches the tokens of a mapping: comments and strings, which are skipped, codes,
// lists and keywords.
var tableTokens = regexp.MustCompile(
	`%[^\r\n]*|\((?:[^()\\]|\\.)*\)|<<|>>|<[0-9A-Fa-f\s]*>|\[|\]|\b(?:begin|end)[a-z]+`)

// add adds the entries that precede a keyword.
func (m *unicodeMap) add(keyword string, args []string) {
	switch keyword {
	case "endcodespacerange":
		for _, code := range args {
			if n := len(unhex(code)); n >= 1 && n <= 4 {
				m.lengths[n] = true
			}
		}
	case "endbfchar":
		for i := 0; i+1 < len(args); i += 2 {
			m.set(unhex(args[i]), unhex(args[i+1]))
		}
	case "endbfrange":
		for i := 0; i+2 < len(args); i += 3 {
			to := []string{unhex(args[i+2])}
			if args[i+2] == "[" {
				end := i + 3
				for to = nil; end < len(args) && args[end] != "]"; end++ {
					to = append(to, unhex(args[end]))
				}
				m.span(unhex(args[i]), unhex(args[i+1]), to, true)
				i = end - 2
				continue
			}
			m.span(unhex(args[i]), unhex(args[i+1]), to, false)
		}
	}
}

// unhex returns the bytes of a token such as <00 4a>.
func unhex(token string) string {
	digits := strings.Join(strings.Fields(strings.Trim(token, "<>")), "")
	if len(digits)%2 == 1 {
		digits += "0"
	}
	code, _ := hex.DecodeString(digits) // cannot fail: the pattern matches only hexadecimal digits
	return string(code)
}

func (m *unicodeMap) set(code, to string) {
	if n := len(code); n < 1 || n > 4 || len(m.texts) >= mostCodes || len(to) > longestText {
		return
	}
	m.lengths[len(code)] = true
	m.texts[code] = decodeUTF16(to)
}

// span maps the codes from low to high to the texts of a list, or to a single text and those that
// follow it.
func (m *unicodeMap) span(low, high string, to []string, list bool) {
	from, until := number(low), number(high)
	if len(low) == 0 || len(low) != len(high) || len(low) > 4 || until < from || until-from > 0xffff ||
		!list && len(to[0]) > longestText {
		return
	}
	for n := from; n <= until; n++ {
		code := bytesOf(n, len(low))
		switch {
		case list && int(n-from) < len(to):
			m.set(code, to[n-from])
		case list:
			return
		case len(to[0]) < 2:
			m.set(code, to[0])
		default:
			start, last := to[0][:len(to[0])-2], to[0][len(to[0])-2:]
			m.set(code, start+bytesOf(number(last)+(n-from), 2))
		}
	}
}

// decode matches the longest known code at each position.
func (m *unicodeMap) decode(raw string) string {
	var text strings.Builder
next:
	for len(raw) > 0 {
		for n := min(4, len(raw)); n >= 1; n-- {
			if to, ok := m.texts[raw[:n]]; ok && m.lengths[n] {
				text.WriteString(to)
				raw = raw[n:]
				continue next
			}
		}
		text.WriteRune('\ufffd')
		skip := 1
		for n := 1; n <= 4; n++ {
			if m.lengths[n] {
				skip = n
				break
			}
		}
		raw = raw[min(skip, len(raw)):]
	}
	return text.String()
}

func number(code string) (n uint32) {
	for i := range len(code) {
		n = n<<8 | uint32(code[i])
	}
	return n
}

func bytesOf(n uint32, length int) string {
	b := make([]byte, length)
	for i := length - 1; i >= 0; i-- {
		b[i], n = byte(n), n>>8
	}
	return string(b)
}

// decodeUTF16 decodes big-endian UTF-16. A single byte is taken as one character.
func decodeUTF16(raw string) string {
	if len(raw) == 1 {
		return string(rune(raw[0]))
	}
	units := make([]uint16, 0, len(raw)/2)
	for i := 0; i+1 < len(raw); i += 2 {
		units = append(units, uint16(raw[i])<<8|uint16(raw[i+1]))
	}
	return string(utf16.Decode(units))
}
