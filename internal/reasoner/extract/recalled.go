package extract

import (
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reasoner/language"
)

// stem removes the most common endings of an English word in lower case.
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
	if n := len(w); n > 3 && w[n-1] == w[n-2] && !strings.ContainsRune("lsz0123456789", rune(w[n-1])) {
		w = w[:n-1]
	}
	if n := len(w); n > 3 && w[n-1] == 'e' {
		w = w[:n-1]
	}
	return w
}

// matter returns the meaningful words of a text: stems, and pairs of Chinese characters.
func matter(text string) map[string]bool {
	t := language.Read(text)
	words, before := map[string]bool{}, -1
	for i := range t.Tokens {
		k := &t.Tokens[i]
		carries := !k.Mark && t.Len("stop", i) == 0
		switch {
		case carries && k.Han && before == i-1 && before >= 0:
			words[t.Slice(before, i+1)] = true
		case carries && !k.Han && (len(k.Lower) > 2 || k.Lower[0] <= '9'):
			words[stem(k.Lower)] = true
		}
		if carries && k.Han {
			before = i
		}
	}
	return words
}

// recall holds the memories recalled into a conversation.
type recall struct {
	held   []reasoner.Held
	matter []map[string]bool
	sense  []sense
	spread map[string]int // number of memories that contain a word
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

// repeat reports whether a text repeats a recalled memory almost word for word.
func (r *recall) repeat(text string) bool {
	if len(r.held) == 0 {
		return false
	}
	s := senseOf(text)
	return slices.ContainsFunc(r.sense, func(h sense) bool {
		if h.negated != s.negated || h.over != s.over || len(s.words) == 0 {
			return false
		}
		there, same := map[string]bool{}, 0
		for _, w := range h.words {
			there[w] = true
		}
		for _, w := range s.words {
			if there[w] {
				same++
			}
		}
		return same == len(s.words) && 5*same >= 4*len(there)
	})
}

// used returns the recalled memories that a new reply of the assistant used: the reply has words of theirs that are new
// in the conversation and rare in the other memories.
func (r *recall) used(c reasoner.Conversation) (ids []uuid.UUID) {
	if len(r.held) == 0 {
		return nil
	}
	said := map[string]bool{}
	for i := range c.Messages {
		m := &c.Messages[i]
		words := matter(cutAt(m.Content, maxRead))
		for j, held := range r.matter {
			if m.Role != "assistant" || !m.New || slices.Contains(ids, r.held[j].ID) {
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
				ids = append(ids, r.held[j].ID)
			}
		}
		if m.Role != "system" && m.Role != "tool" {
			maps.Copy(said, words)
		}
	}
	return ids
}
