package sensitive

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// plain takes from a text everything that does not change how it reads: width and style of letters (NFKD), accents, case,
// invisible characters, letters of other scripts that look like Latin ones, traditional forms of characters. Symbols that
// stand for a word become it.
func plain(text string) []rune {
	rs := make([]rune, 0, len(text))
	if isASCII(text) {
		for i := range len(text) {
			rs = append(rs, lowerASCII(text[i]))
		}
		return rs
	}
	text = strings.ToValidUTF8(text, " ")
	for _, r := range norm.NFKD.String(text) {
		switch {
		case r < utf8.RuneSelf:
			rs = append(rs, lowerASCII(byte(r)))
		case invisible(r):
		default:
			rs = appendPlain(rs, r)
		}
	}
	return rs
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func lowerASCII(b byte) rune {
	if 'A' <= b && b <= 'Z' {
		return rune(b) + 'a' - 'A'
	}
	return rune(b)
}

// invisible tells whether a character takes no room of its own: format characters, marks, and the fillers, which Unicode
// counts as letters.
func invisible(r rune) bool {
	switch r {
	case 0x115F, 0x1160, 0x3164, 0xFFA0, 0x2800:
		return true
	}
	return unicode.In(r, unicode.Cf, unicode.Mn, unicode.Me)
}

func appendPlain(rs []rune, r rune) []rune {
	if word, ok := symbols[r]; ok {
		return append(rs, []rune(" "+word+" ")...)
	}
	if like, ok := lookalikes[r]; ok {
		return append(rs, like)
	}
	if simple, ok := simplified[r]; ok {
		return append(rs, simple)
	}
	r = unicode.ToLower(r)
	if like, ok := lookalikes[r]; ok {
		r = like
	}
	return append(rs, r)
}

// symbols are pictures that say a word of the lists.
var symbols = map[rune]string{
	'💊': "medication", '💉': "injection", '🤰': "pregnant", '🤱': "breastfeeding", '♿': "wheelchair", '🦽': "wheelchair", '🩺': "diagnosis",
	'🕌': "mosque", '⛪': "church", '🕍': "synagogue", '🛕': "temple", '☪': "islam", '✝': "christian", '✡': "jewish", '☦': "orthodox church",
	'🕋': "mecca", '📿': "rosary", '🌈': "rainbow", '🏳': "flag", '⚧': "transgender", '⚢': "lesbian", '⚣': "gay", '☭': "communist", '🗳': "ballot",
}

// lookalikes are Cyrillic, Greek and other letters, with the Latin letter that they pass for.
var lookalikes = pairs(`
	АA аa ВB вb ЕE еe Ёe ёe КK кk МM мm НH нh ОO оo РP рp СC сc ТT тt УY уy ХX хx ЅS ѕs ІI іi ЇI їi ЈJ јj ԁd ԛq ԝw һh ѵv ьb пn гr зz иu
	ΑA αa ΒB βb ΕE εe ΖZ ΗH ηn ΙI ιi ΚK κk ΜM μu ΝN νv ΟO οo ΡP ρp ΤT τt ΥY υu ΧX χx σo ωw ϲc ϳj
	ɑa ɡg ɩi ɪi ʏy ɴn ʀr ꜱs ʜh ʟl ʙb ᴀa ᴄc ᴅd ᴇe ᴊj ᴋk ᴍm ᴏo ᴘp ᴛt ᴜu ᴠv ᴡw ᴢz ɢg ꜰf ıi łl øo đd ħh ŧt ßs æe œe ’' ‘' ʼ' ′' ＇'`)

// pairs reads a list of pairs of characters.
func pairs(list string) map[rune]rune {
	m := map[rune]rune{}
	for pair := range strings.FieldsSeq(list) {
		rs := []rune(pair)
		if len(rs) != 2 {
			panic("sensitive: not a pair: " + pair)
		}
		m[rs[0]] = unicode.ToLower(rs[1])
	}
	return m
}
