package tokenizer

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"
)

// wordPiece splits a word greedily: it takes the longest token at the beginning of the word, then that of the rest, and so on.
type wordPiece struct {
	ids      map[string]int64
	prefix   string // of tokens that continue a word
	maxRunes int    // of a word
	unknown  int64  // token of a word that cannot be split
}

type wordPieceFile struct {
	UnknownToken string `json:"unk_token"`
	Prefix       string `json:"continuing_subword_prefix"`
	MaxRunes     int    `json:"max_input_chars_per_word"`
}

func newWordPiece(file wordPieceFile, vocabulary json.RawMessage) (*wordPiece, error) {
	m := &wordPiece{prefix: file.Prefix, maxRunes: file.MaxRunes}
	if err := json.Unmarshal(vocabulary, &m.ids); err != nil {
		return nil, fmt.Errorf("the vocabulary: %w", err)
	}
	unknown, found := m.ids[file.UnknownToken]
	if !found {
		return nil, fmt.Errorf("the vocabulary lacks %q", file.UnknownToken)
	}
	if m.maxRunes < 1 {
		return nil, fmt.Errorf("max_input_chars_per_word is %d: it must be 1 or more", m.maxRunes)
	}
	m.unknown = unknown
	return m, nil
}

func (m *wordPiece) tokens(word string) (ids []int64) {
	if utf8.RuneCountInString(word) > m.maxRunes {
		return []int64{m.unknown}
	}
	for prefix := ""; word != ""; prefix = m.prefix {
		end, id, found := len(word), int64(0), false
		for ; end > 0; end-- {
			if end < len(word) && !utf8.RuneStart(word[end]) {
				continue
			}
			if id, found = m.ids[prefix+word[:end]]; found {
				break
			}
		}
		if !found {
			return []int64{m.unknown}
		}
		ids, word = append(ids, id), word[end:]
	}
	return ids
}

// unigram splits a word into the tokens whose scores have the highest sum.
type unigram struct {
	ids          map[string]int64
	scores       []float64
	longest      int // bytes of a token
	unknown      int64
	unknownScore float64 // of a character
}

type unigramFile struct {
	UnknownID    *int64 `json:"unk_id"`
	ByteFallback bool   `json:"byte_fallback"`
}

func newUnigram(file unigramFile, vocabulary json.RawMessage) (*unigram, error) {
	var entries [][2]any
	if err := json.Unmarshal(vocabulary, &entries); err != nil {
		return nil, fmt.Errorf("the vocabulary: %w", err)
	}
	if file.UnknownID == nil || file.ByteFallback {
		return nil, fmt.Errorf("a Unigram tokenizer without unk_id, or with byte_fallback, is not supported")
	}
	m := &unigram{ids: make(map[string]int64, len(entries)), unknown: *file.UnknownID, unknownScore: math.Inf(1)}
	for i, entry := range entries {
		token, ok1 := entry[0].(string)
		score, ok2 := entry[1].(float64)
		if !ok1 || !ok2 {
			return nil, fmt.Errorf("the vocabulary: entry %d is not a token and a score", i)
		}
		m.ids[token] = int64(i)
		m.scores = append(m.scores, score)
		m.longest = max(m.longest, len(token))
		m.unknownScore = min(m.unknownScore, score-10)
	}
	return m, nil
}

func (m *unigram) tokens(word string) (ids []int64) {
	// best[i] is the best way to split word[:i]: its score, and the token that ends it.
	type way struct {
		score float64
		begin int // -1 without a way
		id    int64
	}
	best := make([]way, len(word)+1)
	for i := range best[1:] {
		best[i+1].begin = -1
	}
	for begin := range word { // of each character
		_, size := utf8.DecodeRuneInString(word[begin:])
		try := func(end int, id int64, score float64) {
			if w := &best[end]; w.begin < 0 || best[begin].score+score > w.score {
				*w = way{best[begin].score + score, begin, id}
			}
		}
		single := false
		for end := begin + size; end <= min(len(word), begin+m.longest); end++ {
			if end < len(word) && !utf8.RuneStart(word[end]) {
				continue
			}
			if id, found := m.ids[word[begin:end]]; found {
				try(end, id, m.scores[id])
				single = single || end == begin+size
			}
		}
		if !single {
			try(begin+size, m.unknown, m.unknownScore)
		}
	}
	for at := len(word); at > 0; at = best[at].begin {
		if id := best[at].id; id != m.unknown || len(ids) == 0 || ids[len(ids)-1] != m.unknown { // unknown ones unite
			ids = append(ids, id)
		}
	}
	slices.Reverse(ids)
	return ids
}
