package sqlcode_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

type terms struct {
	Len   int
	Terms []string
}

func termsOf(t *testing.T, tx db, text any) terms {
	t.Helper()
	var got terms
	require.NoError(t, tx.QueryRow(t.Context(), "select len, tsvector_to_array(tsv) from oxbow.terms($1)",
		text).Scan(&got.Len, &got.Terms))
	return got
}

func TestTerms(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		len  int
		want []string
	}{
		"stems":                   {"Rivers were running; the river runs.", 4, []string{"+river", "+run", "river", "run"}},
		"stop words":              {"the of and to", 0, []string{}},
		"nothing":                 {"", 0, []string{}},
		"white space":             {" \t\n", 0, []string{}},
		"one character":           {"水", 1, []string{"水"}},
		"two":                     {"水火", 1, []string{"水火"}},
		"odd run":                 {"水火木", 2, []string{"水火", "火木"}},
		"even run":                {"水火木金", 3, []string{"水火", "火木", "木金"}},
		"twice":                   {"水火水火", 3, []string{"+水火", "水火", "火水"}},
		"runs apart":              {"水，火木", 2, []string{"水", "火木"}},
		"one character, twice":    {"水 火 水", 3, []string{"+水", "水", "火"}},
		"mixed":                   {"我love北京2025年", 5, []string{"2025", "love", "北京", "年", "我"}},
		"kana":                    {"かなカナ", 3, []string{"かな", "なカ", "カナ"}},
		"long vowel":              {"ラーメン", 3, []string{"ラー", "ーメ", "メン"}},
		"hangul":                  {"한국어", 2, []string{"국어", "한국"}},
		"half-width kana":         {"ｱｲｳ", 2, []string{"アイ", "イウ"}},
		"full-width letters":      {"ＡＢＣ　１２３", 2, []string{"123", "abc"}},
		"beyond the first plane":  {"𠀀𠀁𠀂", 2, []string{"𠀀𠀁", "𠀁𠀂"}},
		"combining marks":         {"cafe\u0301 か\u3099", 2, []string{"café", "が"}},
		"ligature":                {"ﬁne", 1, []string{"fine"}},
		"quotes":                  {`it's "quoted" o'clock \back`, 4, []string{"back", "clock", "o", "quot"}},
		"operators":               {"a1 & b1 | !c1 <-> (d1):*", 4, []string{"a1", "b1", "c1", "d1"}},
		"plus and at":             {"+plus @at a1+b1 ＋火 ＠水", 5, []string{"a1", "b1", "plus", "水", "火"}},
		"signs stay out":          {"-5 +7 3.14", 4, []string{"14", "3", "5", "7"}},
		"addresses fall apart":    {"mail ann@river.example/x", 5, []string{"ann", "exampl", "mail", "river", "x"}},
		"full-width hostile":      {"＇q1＼ “w1” 「日本」", 3, []string{"q1", "w1", "日本"}},
		"zero-width":              {"boat\u200bhouse\u00a0x1", 3, []string{"boat", "hous", "x1"}},
		"repetition counts whole": {"lamp lamp lamp", 3, []string{"+lamp", "lamp"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := termsOf(t, pgtest.Tx(t), c.text)
			require.ElementsMatch(t, c.want, got.Terms)
			require.Equal(t, c.len, got.Len)
		})
	}
}

func TestTermsOfNull(t *testing.T) {
	t.Parallel()
	require.Equal(t, terms{0, []string{}}, termsOf(t, pgtest.Tx(t), nil))
}

func TestEmojiAreNotPartOfWords(t *testing.T) {
	t.Parallel()
	got := termsOf(t, pgtest.Tx(t), "boat 😀 👨\u200d👩\u200d👧 lamp")
	require.Contains(t, got.Terms, "boat")
	require.Contains(t, got.Terms, "lamp")
}

// The limit is far above the actual time, and far below that of a quadratic algorithm.
func TestLongTextsInTime(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"one character":         strings.Repeat("中", 50000),
		"all characters":        run(50000, 0x4E00, 20000),
		"beyond first plane":    run(50000, 0x20000, 40000),
		"ligatures that unfold": strings.Repeat("ﷺ", 50000),
		"squares that unfold":   strings.Repeat("㌖", 50000),
		"no space":              strings.Repeat("a", 1<<20),
		"one letter words":      strings.Repeat("b1 ", 1<<18),
		"punctuation":           strings.Repeat("!", 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tx := pgtest.Tx(t)
			exec(t, tx, "set local statement_timeout = '1min'")
			start := time.Now()
			got := termsOf(t, tx, text)
			require.LessOrEqual(t, got.Len, 50000)
			t.Log(time.Since(start))
		})
	}
}

// run returns n characters in which few pairs repeat.
func run(n, first, size int) string {
	var b strings.Builder
	for i := range n {
		b.WriteRune(rune(first + i*7919%size))
	}
	return b.String()
}

func TestOnlyTheBeginningOfALongTextCounts(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	beyond := strings.Repeat(" ", 50000) + "boat"
	require.Empty(t, termsOf(t, tx, beyond).Terms)
	require.Equal(t, []string{"boat"}, termsOf(t, tx, beyond[5:]).Terms)
}

// A word of 2,047 bytes is the longest that PostgreSQL accepts; with a mark it would be longer.
func TestVeryLongWords(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	for _, size := range []int{2046, 2047, 2048, 10000} {
		word := strings.Repeat("z", size)
		got := termsOf(t, tx, "boat "+word+" "+word)
		require.Contains(t, got.Terms, "boat")
		for _, term := range got.Terms {
			require.Contains(t, []string{"boat", word, "+" + word}, term)
		}
	}
}

func TestDateTerms(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	const sql = "select oxbow.date_terms($1::text::timestamp)"
	require.Equal(t, []string{"@2025-10-02", "@2025-10", "@2025", "@10-02", "@10"},
		one[[]string](t, tx, sql, "2025-10-02 23:59:59"))
	require.Equal(t, []string{"@0999-01-31", "@0999-01", "@0999", "@01-31", "@01"},
		one[[]string](t, tx, sql, "0999-01-31"))
	for _, at := range []string{"0001-01-01", "9999-12-31", "294276-12-31", "4713-01-01 BC"} {
		require.Len(t, one[[]string](t, tx, sql, at), 5, at)
	}
}

func TestDateTermsFollowTheUsersTimeZone(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	exec(t, tx,
		`insert into oxbow.users (user_id, timezone) values ($1 || 'east', 'Asia/Shanghai'),
			($1 || 'west', 'America/Los_Angeles')`, ann(t))
	at := time.Date(2025, 12, 31, 20, 0, 0, 0, time.UTC)
	for user, day := range map[string]string{"east": "2026-01-01", "west": "2025-12-31", "nobody said": "2025-12-31"} {
		user := ann(t) + user
		remember(t, tx, row{"user_id": user, "valid_at": at})
		index(t, tx, user)
		require.Equal(t, []string{"@" + day}, all[string](t, tx, `
			select term from oxbow.memory_terms, unnest(tsvector_to_array(tsv)) term
			where user_id = $1 and term ~ '^@\d{4}-\d\d-\d\d$'`, user))
	}
}

func TestInsertedMemoriesCanBeIndexed(t *testing.T) {
	t.Parallel()
	for i, text := range []string{"水", "'; drop table oxbow.memories; --", `\`, "!!!", "+", "@", "😀",
		strings.Repeat("z", 2047) + " " + strings.Repeat("z", 2047),
		"\ufeff", "\u0301", "ﷺ", strings.Repeat("中a", 30000)} {
		for _, at := range []any{nil, "0001-01-02", "9999-12-30"} {
			t.Run(fmt.Sprint(i, " ", at), func(t *testing.T) {
				t.Parallel()
				tx := pgtest.Tx(t)
				exec(t, tx,
					`insert into oxbow.memories (user_id, content, speaker, valid_at)
						values ($3, $1, 'Bo+b', $2::text::timestamptz)`, text, at, ann(t))
				require.Len(t, index(t, tx, ann(t)), 1)
			})
		}
	}
}
