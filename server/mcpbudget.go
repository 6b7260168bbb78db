package server

import (
	"unicode/utf8"
)

// Budget limits the length of an answer.
type Budget struct {
	MaxTokens int `json:"max_tokens,omitzero" minimum:"200" maximum:"100000" default:"2000" doc:"Longest answer in tokens. Default 2000"`
}

const defaultTokens = 2000

func (b Budget) tokens() int {
	if b.MaxTokens == 0 {
		return defaultTokens
	}
	return b.MaxTokens
}

// envelope is what an answer needs beside its list.
const envelope = 40

// estimateTokens is oxbow.estimate_tokens.
func estimateTokens(text string) int {
	characters, bytes := 0, 0
	for _, r := range text {
		if r >= 0x2E80 && r <= 0x9FFF || r >= 0xAC00 && r <= 0xD7AF || r >= 0xF900 && r <= 0xFAFF ||
			r >= 0xFF00 && r <= 0xFFEF || r >= 0x20000 && r <= 0x3FFFF {
			characters++
		} else {
			bytes += utf8.RuneLen(r)
		}
	}
	return characters + (bytes+3)/4
}

// costOf is the number of tokens of a value as JSON.
func costOf(v any) int {
	text, err := encode(v)
	if err != nil {
		return 0 // the answer cannot be encoded either
	}
	return estimateTokens(string(text))
}

// shortened is part of an item of a list.
type shortened interface {
	content() (text *string, cut *bool)
}

// fit returns the first items that fit into a number of tokens, at least one, and how many it left out. It cuts the
// text of the first item if that alone is too long.
func fit[T any, P interface {
	*T
	shortened
}](items []T, tokens int) (kept []T, leftOut int) {
	kept = []T{}
	left := tokens - envelope
	for i := range items {
		cost := costOf(items[i]) + 1
		if cost > left && i > 0 {
			return kept, len(items) - i
		}
		if cost > left {
			cutText(P(&items[i]), left)
			cost = left
		}
		left -= cost
		kept = append(kept, items[i])
	}
	return kept, 0
}

// cutText cuts the text of an item so that the item has at most the given number of tokens as JSON, if it can.
func cutText(item shortened, tokens int) {
	text, cut := item.content()
	whole := []rune(*text)
	*cut = true
	low, high := 0, len(whole)
	for low < high {
		middle := (low + high + 1) / 2
		*text = string(whole[:middle]) + "…"
		if costOf(item) <= tokens {
			low = middle
		} else {
			high = middle - 1
		}
	}
	*text = string(whole[:low]) + "…"
}
