package embedding

import (
	"context"
	"fmt"
	"math"
	"unicode"
)

// LocalModel is the recorded model name for vectors of Local. It changes whenever the same text
// would get a different vector, so that incompatible vectors are never compared.
const LocalModel = "local-v1"

// LocalDimension is Local's default dimension. Fewer buckets mean more collisions between features.
const LocalDimension = 1024

// Weights of features. A vector's squared component is proportional to the weight in its bucket, so
// weights are shares of the squared length. They are integers: sums do not depend on the order of
// addition, and a text has the same vector, bit for bit, on every machine.
const (
	weightWord    = 240 // a word, by its stem
	weightGrams   = 120 // all character n-grams of a word together
	weightConcept = 120 // the concept that a word or a pair of characters belongs to
	weightPair    = 240 // two neighbouring characters of Chinese, Japanese or Korean
	weightChar    = 140 // one such character
)

const (
	minGram = 3
	maxGram = 5
	maxWord = 64 // runes; longer words are split
)

// Local embeds text offline and deterministically. It hashes features into signed buckets: words
// (lightly stemmed), the character n-grams of words, single characters and pairs of characters of
// Chinese, Japanese and Korean, and a small table of everyday concepts. Similar wording gives a
// high cosine; Local knows no meaning beyond that table.
//
// It is safe for concurrent use.
type Local struct {
	dimension int
}

// NewLocal returns an embedder of vectors with the given dimension. A dimension below 2 selects
// LocalDimension.
func NewLocal(dimension int) *Local {
	if dimension < 2 {
		dimension = LocalDimension
	}
	return &Local{dimension: dimension}
}

// Model returns LocalModel.
func (l *Local) Model() string { return LocalModel }

// Dimension returns the length of every vector.
func (l *Local) Dimension() int { return l.dimension }

// Embed returns a vector of unit length for each text, in order. Invalid UTF-8 separates words. A
// text without words (empty, or only punctuation) gets a vector orthogonal to that of every text
// with words. The only error is that of ctx.
func (l *Local) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	flat := make([]float32, len(texts)*l.dimension)
	f := features{buckets: make([]int64, l.dimension), word: make([]rune, 0, maxWord)}
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("embedding: stopped at text %d of %d: %w", i+1, len(texts), err)
		}
		f.reset()
		f.text(text)
		vectors[i] = flat[i*l.dimension : (i+1)*l.dimension : (i+1)*l.dimension]
		f.vector(vectors[i])
	}
	return vectors, nil
}

// features collects the weighted features of one text.
type features struct {
	buckets []int64 // bucket 0 is for texts without features
	word    []rune  // the current word, in lower case
	capital bool    // whether it began with a capital
	opening bool    // whether it is the first of its sentence
	last    rune    // the previous character if both are of scripts without spaces, else 0
}

func (f *features) reset() {
	clear(f.buckets)
	f.word, f.last, f.opening = f.word[:0], 0, true
}

// vector writes the unit vector of the collected features. The square root dampens repeated
// features and makes the sum of the buckets the squared length, which is exact because it is an
// integer.
func (f *features) vector(to []float32) {
	var total int64
	for _, b := range f.buckets {
		total += max(b, -b)
	}
	if total == 0 {
		to[0] = 1
		return
	}
	for i, b := range f.buckets {
		if b != 0 {
			to[i] = component(b, total)
		}
	}
}

func component(bucket, total int64) float32 {
	if bucket < 0 {
		return -float32(math.Sqrt(float64(-bucket) / float64(total)))
	}
	return float32(math.Sqrt(float64(bucket) / float64(total)))
}

func (f *features) text(text string) {
	for _, r := range text {
		if r >= 0xff01 && r <= 0xff5e { // full-width forms of ASCII
			r -= 0xfee0
		}
		switch {
		case r <= unicode.MaxASCII:
			f.last = 0
			f.ascii(r)
		case unspaced(r):
			f.endWord(r)
			f.character(r)
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r):
			f.last = 0
			f.letter(unicode.ToLower(r), unicode.IsUpper(r))
		default:
			f.last = 0
			f.endWord(r)
		}
	}
	f.endWord('.')
}

func (f *features) ascii(r rune) {
	switch {
	case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
		f.letter(r, false)
	case r >= 'A' && r <= 'Z':
		f.letter(r+'a'-'A', true)
	default:
		f.endWord(r)
	}
}

func (f *features) letter(r rune, capital bool) {
	if len(f.word) == maxWord {
		f.endWord(r)
	}
	if len(f.word) == 0 {
		f.capital = capital
	}
	f.word = append(f.word, r)
}

// endWord adds the word that ended before r, if any.
func (f *features) endWord(r rune) {
	if len(f.word) > 0 {
		// A capital inside a sentence, or before the colon after a speaker, usually marks a name.
		// Names are frequent in one person's memories and distinguish little, but the vector has no
		// word frequencies, so names weigh less.
		name := f.capital && (!f.opening || r == ':')
		f.addWord(name)
		f.word, f.opening = f.word[:0], false
	}
	switch r {
	case '.', '!', '?', ':', '"', '\n', '“':
		f.opening = true
	}
}

func (f *features) addWord(name bool) {
	key := hash(kindWord, f.word)
	if emptyWords[key] {
		return
	}
	divisor := int64(1)
	if name {
		divisor = 3
	}
	concept := concepts[key]
	if n := stemLen(f.word); n < len(f.word) {
		key = hash(kindWord, f.word[:n])
		if concept == 0 {
			concept = concepts[key]
		}
	}
	f.add(key, weightWord/divisor)
	if concept != 0 {
		f.add(concept, weightConcept/divisor)
	}
	f.addGrams(weightGrams / divisor)
}

// addGrams shares weight among the n-grams of the word, written as <word> so that its ends count as
// characters.
func (f *features) addGrams(weight int64) {
	n := len(f.word) + 2
	if len(f.word) < minGram {
		return
	}
	count := 0
	for size := minGram; size <= min(maxGram, n); size++ {
		count += n - size + 1
	}
	each := max(1, weight/int64(count))
	for i := 0; i+minGram <= n; i++ {
		h := start(kindGram)
		for j := i; j < min(i+maxGram, n); j++ {
			switch j {
			case 0:
				h = step(h, '<')
			case n - 1:
				h = step(h, '>')
			default:
				h = step(h, f.word[j-1])
			}
			if j-i+1 >= minGram {
				f.add(spread(h), each)
			}
		}
	}
}

func (f *features) character(r rune) {
	empty := emptyCharacters[r]
	if !empty {
		f.add(spread(step(start(kindChar), r)), weightChar)
	}
	if f.last != 0 {
		weight := int64(weightPair)
		if empty || emptyCharacters[f.last] {
			weight /= 4
		}
		key := spread(step(step(start(kindWord), f.last), r))
		f.add(key, weight)
		if c := concepts[key]; c != 0 {
			f.add(c, weightConcept)
		}
	}
	f.last = r
}

func (f *features) add(h uint64, weight int64) {
	if h>>63 == 1 {
		weight = -weight
	}
	// The lower half of h, scaled to the number of buckets without a division.
	f.buckets[1+(h&math.MaxUint32)*uint64(len(f.buckets)-1)>>32] += weight
}

// unspaced reports whether r is of a script that writes words without spaces, or whose words are
// best split into pairs.
func unspaced(r rune) bool {
	switch {
	case r < 0x3005:
		return false
	case r <= 0x9fff:
		return r <= 0x3007 || r >= 0x3040 && r <= 0x30ff || r >= 0x31f0 && r <= 0x31ff || r >= 0x3400
	case r >= 0xac00 && r <= 0xd7a3, r >= 0xf900 && r <= 0xfaff, r >= 0x20000 && r <= 0x3ffff:
		return true
	}
	return false
}

// Kinds keep features of different kinds that are spelled alike from sharing a hash.
const (
	kindWord = 1 + iota
	kindGram
	kindChar
	kindConcept
)

// start, step and spread compute an FNV-1a hash over runes and then mix its bits well enough that
// any part of them is usable.
func start(kind uint64) uint64 { return 14695981039346656037 ^ kind*0x9e3779b97f4a7c15 }

func step(h uint64, r rune) uint64 { return (h ^ uint64(r)) * 1099511628211 }

func spread(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

func hash(kind uint64, word []rune) uint64 {
	h := start(kind)
	for _, r := range word {
		h = step(h, r)
	}
	return spread(h)
}
