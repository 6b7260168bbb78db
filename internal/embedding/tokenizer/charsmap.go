package tokenizer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// charsmap replaces characters as SentencePiece does. Its file is a trie of byte strings in a double array (Darts), and
// behind it the replacements, each with a zero byte at its end. The values of the trie are positions in the replacements.
type charsmap struct {
	trie         []uint32
	replacements []byte
}

func newCharsmap(raw []byte) (*charsmap, error) {
	if len(raw) < 8 {
		return nil, errors.New("the precompiled_charsmap is too short")
	}
	size := int(binary.LittleEndian.Uint32(raw))
	if raw = raw[4:]; size > len(raw) || size < 4 || size%4 != 0 {
		return nil, errors.New("the precompiled_charsmap is cut off")
	}
	m := &charsmap{trie: make([]uint32, size/4), replacements: raw[size:]}
	for i := range m.trie {
		m.trie[i] = binary.LittleEndian.Uint32(raw[4*i:])
	}
	return m, nil
}

func (m *charsmap) normalize(text string) string {
	var b strings.Builder
	for each := graphemes.FromString(text); each.Next(); {
		grapheme := each.Value()
		if len(grapheme) < 6 {
			if other, found := m.find(grapheme); found {
				b.Write(other)
				continue
			}
		}
		for _, r := range grapheme {
			if other, found := m.find(string(r)); found {
				b.Write(other)
			} else {
				b.WriteRune(r)
			}
		}
	}
	return b.String()
}

// find returns the replacement of the shortest beginning of s that has one, as the library does.
func (m *charsmap) find(s string) ([]byte, bool) {
	offset := func(unit uint32) uint32 { return unit >> 10 << (unit & (1 << 9) >> 6) }
	at := offset(m.trie[0])
	for i := range len(s) {
		at ^= uint32(s[i])
		if s[i] == 0 || at >= uint32(len(m.trie)) {
			break
		}
		unit := m.trie[at]
		if unit&(1<<31|0xFF) != uint32(s[i]) {
			break
		}
		at ^= offset(unit)
		if unit>>8&1 == 1 && at < uint32(len(m.trie)) { // a leaf: the value is here
			value := m.trie[at] &^ (1 << 31)
			if value >= uint32(len(m.replacements)) {
				break
			}
			other, _, _ := bytes.Cut(m.replacements[value:], []byte{0})
			return other, true
		}
	}
	return nil, false
}
