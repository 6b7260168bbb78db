package pattern

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func grammar(text string) *Grammar {
	return New(fstest.MapFS{"a.txt": {Data: []byte(text)}})
}

func TestTokens(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"I'm 34, don't ask":         "i|'m|34|,|don|'t|ask",
		"Rock'n'roll at 3pm":        "rock|'n'roll|at|3|pm",
		"a two-year-old on 2025-11": "a|two-year-old|on|2025|-|11",
		"我住在 Porto，你呢？":             "我|住|在|porto|,|你|呢|?",
		"拉面 午餐":                     "拉|面| |午|餐",
		"Ana’s O'Brien":             "ana|'s|o'brien",
		"*so* good":                 "so|good",
		"":                          "",
	} {
		var got []string
		for _, k := range tokens(text) {
			got = append(got, k.Lower)
		}
		require.Equal(t, want, strings.Join(got, "|"), text)
	}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ pattern, text, want string }{
		{"live in", "I live in Porto", "live in"},
		{"live in", "I live, in Porto", ""},
		{"live|living in", "I'm living in Porto", "living in"},
		{"live in|at Aa", "I live in Porto", "live in Porto"},
		{"live in|at Aa", "I live in a house", ""},
		{"climb*", "We climbed", "climbed"},
		{"*ing", "going", "going"},
		{"really? like", "I really like it", "really like"},
		{"really? like", "I like it", "like"},
		{"@adverb* like", "I really still like it", "really still like"},
		{"no ..2 coffee", "no strong black coffee", "no strong black coffee"},
		{"no ..1 coffee", "no strong black coffee", ""},
		{"no ... coffee", "no, coffee", ""},
		{"不 ..3 了", "我不喝咖啡了", "不喝咖啡了"},
		{"不 ..1 了", "我不喝咖啡了", ""},
		{"我 @adverb* 喜欢", "我真的很喜欢茶", "我真的很喜欢"},
		{"!<if moved", "if moved", ""},
		{"!<if moved", "I moved", "moved"},
		{"stopped !>by", "stopped by the mill", ""},
		{"stopped !>by", "stopped smoking", "stopped"},
		{"work $", "I work", "work"},
		{"work $", "I work, and", "work"},
		{"work $$", "I work, and", ""},
		{"^ i", "so, I", "I"},
		{"^^ i", "so, I", ""},
		{"(as a | as an) nurse", "as a nurse", "as a nurse"},
		{"#1-31 may", "on 3 May", "3 May"},
		{"#1-31 may", "on 32 May", ""},
		{"#1-12 月", "十二月", "十二月"},
		{`is "?"`, "what is?", "is?"},
		{"a|@adverb b", "really b", "really b"},
		{"x (very)? y", "x y", "x y"},
		{"在 {town} 住", "我在北京住了", "在北京住"},
	} {
		g := grammar("[numeral]\n二 = 2\n十 = 10\n[adverb]\nreally\nstill\n很\n真的\n[test]\n" + c.pattern +
			"\n[value.town] = 16\n")
		text := g.Read(c.text)
		m, ok := text.Find("test")
		require.Equal(t, c.want != "", ok, "%s: %s", c.pattern, c.text)
		if ok {
			require.Equal(t, c.want, text.Slice(m.Start, m.End), c.pattern)
		}
	}
}

func TestCaptures(t *testing.T) {
	t.Parallel()
	const lists = "[numeral]\n三 = 3\n[kin]\nsister = sister\n姐姐 = sister\n[unit]\ndays = d\n天 = d\n[count]\ntwo = 2\n[value.skip]\na\nthe\n[value.end]\nand\n" +
		"[value.cut]\n了\n[value.place] = 8\n@word $\nhere\n[word]\nwork\n[value.name] = 8\n[value.name.only]\nAa+ $\n小 . $\n" +
		"[test] = section\n(in | at) {place}\nmy @kin {name}\n{n: #|@count} {u: @unit} ago|前 = ago\n去了 {place}\n我 @kin {name}\n"
	for text, want := range map[string]string{
		"I live in the old town and work": "section place=old town",
		"I live in Porto":                 "section place=porto",
		"I live in here":                  "",
		"at work":                         "",
		"in b c d e f":                    "",
		"my sister Anna Lee came":         "",
		"my sister Anna Lee":              "section kin=sister name=anna lee",
		"two days ago":                    "ago n=2 =2 u=d unit=d",
		"三天前":                             "ago n=3 number=3 u=d unit=d",
		"我们去了西湖了":                         "section place=西湖",
		"我姐姐小红":                           "section kin=sister name=小红",
	} {
		m, ok := grammar(lists).Read(text).Find("test")
		got := m.Value
		for _, c := range m.Captures {
			got += fmt.Sprintf(" %s=%s", c.Name, c.Value)
		}
		require.Equal(t, want, got, "%s %v", text, ok)
	}
}

func TestAround(t *testing.T) {
	t.Parallel()
	g := grammar("[ended]\nno longer ..3 ~\n~ ... any more\n不 ..2 ~ 了\n")
	for text, want := range map[string]bool{
		"I no longer drink coffee": true, "I drink coffee": false, "I don't drink coffee any more": true,
		"no longer tired, coffee": false, "我不喝coffee了": true,
	} {
		read := g.Read(text)
		at := 0
		for read.Tokens[at].Lower != "coffee" {
			at++
		}
		_, ok := read.Around("ended", at, at+1)
		require.Equal(t, want, ok, text)
	}
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	g := grammar("[home] i % in = x\nlive\nstay = y\n")
	m, ok := g.Read("I live in").Find("home")
	require.True(t, ok)
	require.Equal(t, "x", m.Value)
	m, _ = g.Read("I stay in").Find("home")
	require.Equal(t, "y", m.Value)
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"apple\n":                 `a.txt:1: "apple" stands before the first list`,
		"[fruit]\npear\napple\n":  `a.txt:3: "apple" comes before "pear": sort list fruit`,
		"[fruit]\napple\napple\n": `a.txt:3: "apple" is in list fruit twice`,
		"[fruit]\n\n apple\n":     `a.txt:3: " apple" begins or ends with a space`,
		"[fruit]\n[fruit]\n":      `a.txt:2: list fruit exists already`,
		"[a]\n@b\n":               `a.txt:2: @b: @b: no list is named b`,
		"[a]\n@a\n":               `a.txt:2: @a: @a: a.txt:1: list a names itself`,
		"[a]\n(b\n":               `a.txt:2: (b: a bracket or quotation mark is open`,
		"[a]\n..2\n@x*\n[x]\ny\n": "a.txt:2: ..2: the pattern may match nothing\na.txt:3: @x*: the pattern may match nothing",
		"[a]\nb|\n":               "a.txt:2: b|: b|: an alternative is empty",
		"[a]\nin {place}\n":       "a.txt:2: in {place}: list value.place, which describes the value, does not exist",
	} {
		require.EqualError(t, Check(fstest.MapFS{"a.txt": {Data: []byte(text)}}), want, text)
	}
}
