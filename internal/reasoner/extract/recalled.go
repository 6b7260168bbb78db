package extract

import (
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// stem takes the commonest endings off an English word in lower case.
func stem(w string) string {
	w = strings.TrimSuffix(w, "'s")
	for _, end := range []string{"ing", "ies", "ied", "ed", "es", "s"} {
		if strings.HasSuffix(w, end) && len(w)-len(end) >= 3 && !strings.HasSuffix(w, "ss") {
			w = w[:len(w)-len(end)]
			if end == "ies" || end == "ied" {
				w += "y"
			}
			break
		}
	}
	if n := len(w); n > 3 && w[n-1] == w[n-2] && !strings.ContainsRune("lsz", rune(w[n-1])) {
		w = w[:n-1]
	}
	if n := len(w); n > 3 && w[n-1] == 'e' {
		w = w[:n-1]
	}
	return w
}

// pairsZh returns the pairs of neighbouring characters of Chinese that both carry matter.
func pairsZh(text string) map[string]bool {
	pairs := map[string]bool{}
	var before rune
	from := 0
	for i, r := range text {
		if !isHan(r) || stopCharsZh[r] {
			before = 0
			continue
		}
		if before != 0 {
			pairs[text[from:i+utf8.RuneLen(r)]] = true
		}
		before, from = r, i
	}
	return pairs
}

// matter returns the words of a text that carry any: stems, and pairs of Chinese characters.
func matter(text string) map[string]bool {
	s := read(text)
	words := map[string]bool{}
	if s.han > 0 {
		words = pairsZh(text)
	}
	for _, t := range s.tokens {
		if !stopEn[t.lower] && (len(t.lower) > 2 || t.lower[0] <= '9') {
			words[stem(t.lower)] = true
		}
	}
	return words
}

// recall is what was recalled into a conversation.
type recall struct {
	held   []reasoner.Held
	matter []map[string]bool
	sense  []sense
	spread map[string]int // in how many of them a word is
}

func readHeld(held []reasoner.Held) *recall {
	r := &recall{held: held, spread: map[string]int{}}
	for i := range held {
		words := matter(held[i].Content)
		for w := range words {
			r.spread[w]++
		}
		r.matter = append(r.matter, words)
		r.sense = append(r.sense, senseOf(held[i].Content))
	}
	return r
}

// repeat tells whether a text says nearly word for word what was recalled.
func (r *recall) repeat(text string) bool {
	if len(r.held) == 0 {
		return false
	}
	s := senseOf(text)
	if len(s.words) == 0 {
		return false
	}
	for i := range r.sense {
		held := &r.sense[i]
		if held.negated != s.negated || held.over != s.over {
			continue
		}
		there := map[string]bool{}
		for _, w := range held.words {
			there[w] = true
		}
		same, all := 0, true
		for _, w := range s.words {
			if there[w] {
				same++
			} else {
				all = false
			}
		}
		if all && 5*same >= 4*len(there) || len(s.words) >= 10 && 10*same >= 9*len(s.words) && 5*same >= 4*len(there) && !s.differs(held) {
			return true
		}
	}
	return false
}

// used returns the recalled memories that a new reply of the assistant really used: it has words of
// theirs that nobody had said in the conversation before, and that few of the others have.
func (r *recall) used(c reasoner.Conversation) []uuid.UUID {
	if len(r.held) == 0 {
		return nil
	}
	said := map[string]bool{}
	seen := make([]bool, len(r.held))
	var ids []uuid.UUID
	for i := range c.Messages {
		m := &c.Messages[i]
		words := matter(cutAt(m.Content, maxRead))
		if m.Role == "assistant" && m.New {
			for j, held := range r.matter {
				if seen[j] {
					continue
				}
				hits, distinctive := 0, 0
				for w := range held {
					if r.spread[w] > max(1, len(r.held)/3) || said[w] {
						continue
					}
					distinctive++
					if words[w] {
						hits++
					}
				}
				if hits >= 2 && 3*hits >= distinctive || hits == 1 && distinctive <= 2 {
					seen[j] = true
					ids = append(ids, r.held[j].ID)
				}
			}
		}
		if m.Role != "system" && m.Role != "tool" {
			for w := range words {
				said[w] = true
			}
		}
	}
	return ids
}
