package extract

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reasoner/when"
)

var _ reasoner.Merger = (*Extractor)(nil)

// Merge puts together memories with the same words, whatever the order of the parts of their sentences. Articles, words
// such as "again" and the day of the memory may differ; a name, a number or a negation may not.
func (*Extractor) Merge(_ context.Context, groups [][]reasoner.Held) (all []reasoner.Same, err error) {
	for _, group := range groups {
		same := map[string]*reasoner.Same{}
		var keys []string
		last := map[string]time.Time{}
		for _, h := range group {
			text, key := gist(h.Content, h.Time)
			if key == "" {
				continue
			}
			if same[key] == nil {
				same[key], keys = &reasoner.Same{}, append(keys, key)
			}
			if s := same[key]; s.Content == "" || h.Time.After(last[key]) {
				s.Content, last[key] = text, h.Time
			}
			same[key].Memories = append(same[key].Memories, h.ID)
		}
		for _, key := range keys {
			if len(same[key].Memories) > 1 {
				all = append(all, *same[key])
			}
		}
	}
	return all, nil
}

// Gist returns the same key for all memories that Merge puts together. See reasoner.FactReader.
func (*Extractor) Gist(content string, at time.Time) string {
	_, key := gist(content, at)
	return key
}

const (
	maxMerged = 300 // maximum bytes of a memory; longer ones are hardly ever repeated
	leastWord = 2   // minimum number of content words
	leastHan  = 3   // the same in Chinese
)

// gist returns the text of a memory without its day, and its key: the words of each part of its sentences, with the
// parts sorted. In Chinese the time of day is a part of its own, before or after the place (中午在食堂吃, 在食堂中午吃). The
// part after 了 is marked, so that an object differs from a subject. The key is empty if the memory is a question, has
// too few words, or names a time other than its own day.
func gist(content string, at time.Time) (text, key string) {
	if len(content) > maxMerged || strings.ContainsAny(content, "?？") {
		return "", ""
	}
	text, ok := withoutDay(content, at)
	if !ok {
		return "", ""
	}
	s := read(text)
	var parts []string
	var part []string
	words, began := 0, 0
	object := false // whether the part is the object of the preceding Chinese verb
	end := func() {
		if len(part) > 0 && object {
			part = append(part, "了")
		}
		if len(part) > 0 {
			parts, part, object = append(parts, strings.Join(part, " ")), nil, false
		}
	}
	for i := 0; i < len(s.Tokens); {
		k := &s.Tokens[i]
		if n := s.Len("merge.drop", i); n > 0 {
			if acted := len(part) > 0; k.Han || k.Lower == "i" {
				end()
				object = object || acted && (k.Lower == "了" || k.Lower == "的")
			}
			i += n
			continue
		}
		if n := s.Len("merge.part", i); n > 0 {
			end()
			part, object, began = append(part, strings.ToLower(s.Slice(i, i+n))), false, i+n
			i += n
			continue
		}
		if n := s.Len("merge.hour", i); n > 0 && len(part) > 1 && part[0] == "在" && !s.HasIn("merge.deed", began, i) {
			parts, words, i = append(parts, strings.Join(strings.Split(s.Slice(i, i+n), ""), " ")), words+n, i+n
			continue
		}
		if k.Mark {
			end()
			object = false
		} else {
			part = append(part, k.Lower)
			words++
		}
		i++
	}
	end()
	if words < leastWord || s.chinese() && words < leastHan {
		return "", ""
	}
	slices.Sort(parts)
	return text, strings.Join(parts, "|")
}

var (
	spaces = regexp.MustCompile(`\s+`)
	ahead  = regexp.MustCompile(`\s+([,.!;:，。！；：])`)
	onDay  = regexp.MustCompile(`(?i)\b(on|for)\s*$`)
)

// withoutDay removes expressions for the day of a memory from its text: "today", "on Tuesday". It reports false for a
// text with another time, whose repetitions are different statements.
func withoutDay(text string, at time.Time) (string, bool) {
	for range 3 {
		e, found := when.Find(text, at)
		if !found {
			break
		}
		y, m, d := e.Time.Date()
		if Y, M, D := at.Date(); e.Since || e.Precision > when.Day || y != Y || m != M || d != D {
			return "", false
		}
		text = onDay.ReplaceAllString(text[:e.Start], "") + text[e.End:]
	}
	text = ahead.ReplaceAllString(spaces.ReplaceAllString(strings.TrimSpace(text), " "), "$1")
	return strings.Trim(text, " ,，:："), true
}
