package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// pastime is something that people do again and again, in their words.
type pastime struct{ english, chinese string }

const newInterest = 700 // memories after which one pastime gives way to another

// life makes up what one person says over the years: pastimes, dishes, company and places that recur, likes, things
// given up, and, mostly, what happens once.
type life struct {
	writer
	user      string
	english   float64 // how often they speak English
	pastimes  []pastime
	dishes    []pastime
	character pastime
	given     *pastime // what they gave up last
	told      int      // memories so far
}

// both returns a list whose entries are in English and Chinese.
func both(list string) (all []pastime) {
	for _, entry := range words[list] {
		english, chinese, _ := strings.Cut(entry, " = ")
		all = append(all, pastime{english, chinese})
	}
	return all
}

func newLife(user string, number int, english float64) *life {
	l := &life{writer: newWriter(seed + uint64(number)*1_000_003), user: user, english: english}
	l.pastimes, l.dishes = l.some(both("pastimes"), 8), l.some(both("dishes"), 5)
	l.character = l.some(both("characters"), 1)[0]
	return l
}

func (l *life) some(all []pastime, n int) []pastime {
	chosen := make([]pastime, n)
	for i, j := range l.Perm(len(all))[:n] {
		chosen[i] = all[j]
	}
	return chosen
}

// remember stores the person's next n memories, in conversations of ten, a tenth of them facts.
func (l *life) remember(ctx context.Context, pool *pgxpool.Pool, n int) error {
	begin := time.Date(2018, 1, 1, 8, 0, 0, 0, time.UTC)
	columns := []string{"user_id", "memory_type", "content", "session_id", "seq", "valid_at"}
	_, err := pool.CopyFrom(
		ctx,
		pgx.Identifier{"oxbow", "memories"},
		columns,
		pgx.CopyFromSlice(n, func(int) ([]any, error) {
			i, kind := l.told, "episodic"
			l.told++
			if i%newInterest == newInterest-1 {
				l.change()
			}
			if i%10 == 9 {
				kind = "fact"
			}
			at := begin.Add(time.Duration(i/10)*12*time.Hour + time.Duration(i%10)*7*time.Minute)
			return []any{l.user, kind, l.says(), fmt.Sprint("s", i/10), i, at}, nil
		}),
	)
	return err
}

// change replaces a pastime of middling favour by a new one.
func (l *life) change() {
	next := l.some(both("pastimes"), 1)[0]
	for slices.Contains(l.pastimes, next) {
		next = l.some(both("pastimes"), 1)[0]
	}
	i := len(l.pastimes)/2 - 1
	l.given = new(l.pastimes[i])
	l.pastimes[i] = next
}

// says returns a memory: a third of what people say shows what they are like.
func (l *life) says() string {
	p := l.dear(l.pastimes)
	english := l.Float64() < l.english
	switch kind := l.IntN(1000); {
	case kind < 200:
		return choose(english, l.didEnglish(p), l.didChinese(p))
	case kind < 290:
		d := l.dear(l.dishes)
		return choose(
			english,
			"I had "+d.english+" for lunch at "+l.of("placesKnown")+" Cafe, "+l.of("endsEnglish")+".",
			l.of("daysChinese")+"我吃了"+d.chinese+"，"+l.of("endsChinese")+"。",
		)
	case kind < 310:
		if l.IntN(2) == 0 {
			p = l.dear(l.dishes)
			return choose(english, "I love "+p.english+", I could have it every day.", "我最爱吃"+p.chinese+"，百吃不厌。")
		}
		return choose(english, "I really enjoy "+p.english+" these days.", "我特别喜欢"+p.chinese+"，一有空就去。")
	case kind < 320:
		return choose(english, l.character.english+", as everybody here knows.", l.character.chinese+"，大家都知道。")
	case kind < 325:
		return choose(english, "To be honest I don't like "+p.english+" anymore.", "说实话，我不再"+p.chinese+"了，没意思。")
	case kind < 355 && l.given != nil:
		return choose(english, "I gave up "+l.given.english+" for good.", "我早就不再"+l.given.chinese+"了。")
	}
	return choose(english, l.writer.english(), l.chinese(60))
}

// dear returns one of a list, the first ones more often.
func (l *life) dear(all []pastime) pastime {
	return all[int(l.Float64()*l.Float64()*float64(len(all)))]
}

func (l *life) didEnglish(p pastime) string {
	with := ""
	if l.IntN(3) == 0 {
		with = " with " + l.of("friends")
	}
	return "I spent the " + l.of(
		"didEnglish",
	) + " " + p.english + with + " near " + l.of(
		"placesKnown",
	) + " Park, " + l.of(
		"endsEnglish",
	) + "."
}

func (l *life) didChinese(p pastime) string {
	with := ""
	if l.IntN(3) == 0 {
		with = "和" + l.of("friendsZh") + "一起"
	}
	return l.of("daysChinese") + "我" + with + "去" + l.of("placesKnownZ") + p.chinese + "，" + l.of("endsChinese") + "。"
}

func choose(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}
