package sqlcode_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// lunches are thirteen notes of the same lunch, in a language, among other meals.
var lunches = map[string]struct {
	query       string
	same, other []string
}{
	"en": {"What did I have for lunch?", []string{
		"Had lentil soup for lunch at my desk",
		"Lunch was lentil soup at my desk",
		"Lentil soup at my desk for lunch again",
		"For lunch I had lentil soup at my desk",
		"Lentil soup for lunch at my desk once more",
		"Ate lentil soup at my desk for lunch today",
		"Lunch at my desk: lentil soup, as usual",
		"Had the usual lentil soup for lunch, at my desk",
		"I just ate the lentil soup for lunch at my desk",
		"Another lunch of lentil soup at my desk",
		"Lentil soup again for lunch at my desk!",
		"Yesterday I also had lentil soup for lunch at my desk",
		"Today's lunch: lentil soup at my desk, still good",
	}, []string{
		"Lunch with the auditors at the fish restaurant by the harbour",
		"Had tomato soup for lunch at my desk",
		"Birthday lunch for Gran, she made roast duck",
		"Skipped lentil soup for lunch at my desk",
		"Had lentil soup for lunch at my desk with Priya",
		"Had two lentil soups for lunch at my desk",
	}},
	"zh": {"午饭吃了什么？", []string{
		"中午在工位吃了扁豆汤当午饭",
		"今天中午又在工位吃扁豆汤当午饭",
		"午饭还是扁豆汤，中午在工位吃的",
		"中午照旧在工位吃扁豆汤，当午饭",
		"昨天中午在工位吃的扁豆汤，当午饭",
		"在工位吃了扁豆汤，中午当午饭吃的",
		"中午当午饭的又是扁豆汤，在工位吃的",
		"今天中午的午饭，扁豆汤，在工位当着吃了",
		"中午依旧在工位，吃扁豆汤当午饭",
		"我中午在工位吃了扁豆汤当午饭",
		"中午在工位把扁豆汤当午饭吃了",
		"当午饭，中午在工位再吃一次扁豆汤",
		"中午在工位就吃了扁豆汤当午饭",
	}, []string{
		"和审计员在港口的鱼馆吃午饭",
		"中午在工位吃了番茄汤当午饭",
		"奶奶过生日，午饭她做了烤鸭",
		"中午没在工位吃扁豆汤当午饭",
		"中午和小王在工位吃了扁豆汤当午饭",
		"中午在工位吃了两份扁豆汤当午饭",
	}},
}

func TestThirteenLunches(t *testing.T) {
	t.Parallel()
	for language, c := range lunches {
		for _, embedded := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, embedded %v", language, embedded), func(t *testing.T) {
				t.Parallel()
				tx := pgtest.Tx(t)
				var rows []row
				for _, text := range slices.Concat(c.same, c.other) {
					rows = append(rows, row{"content": text})
				}
				diary(t, tx, rows...)
				args := row{"user_id": ann(t), "query": c.query}
				if embedded {
					exec(t, tx, `insert into oxbow.memory_vectors (user_id, memory_type, memory_id, embedding)
					             select user_id, memory_type, id, $2::text::halfvec from oxbow.memories where user_id = $1`,
						ann(t), axis(1))
					args["embedding"] = axis(1)
				}
				got := recall(t, tx, args)
				require.Len(t, got, 10)
				require.ElementsMatch(t, c.other, slices.DeleteFunc(contents(got), func(text string) bool {
					return slices.Contains(c.same, text)
				}), "all other meals")
				var first string
				for n, f := range got {
					if n <= len(c.other) && slices.Contains(c.same, f.Content) {
						require.Empty(t, first, "one note of the lunch among the others")
						first = f.ID
					}
					if n > len(c.other) {
						require.Equal(t, first, f.Explain.Repeats, "the rest repeats it")
					}
				}
				require.Len(t, recall(t, tx, args.with(row{"max_results": 100})), 19, "nothing is lost")

				for _, query := range []any{c.query, nil} {
					block := one[string](t, tx, "select oxbow.context($1, $2) || e'\n'", ann(t), query)
					lines := 0
					for _, text := range c.same {
						lines += strings.Count(block, ": "+text+"\n")
					}
					require.Equal(t, 1, lines, block)
				}
				exec(t, tx, "select oxbow.set_policy('recall_variety', 0)")
				for _, f := range recall(t, tx, args) {
					require.Empty(t, f.Explain.Repeats)
				}
			})
		}
	}
}

// A short list of results is the beginning of a long one, however many results only repeat others.
func TestRepetitionsDoNotChangeTheOrder(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	var rows []row
	for i, place := range []string{"harbour", "park", "forest", "river", "mill", "museum", "castle", "lake"} {
		for n := range 1 + i*2%5 {
			rows = append(rows, row{"content": "Walked the dog to the " + place + strings.Repeat(" again", n%3),
				"importance": float64((3*i+5*n)%10) / 10})
		}
	}
	diary(t, tx, rows...)
	args := row{"user_id": ann(t), "query": "Where did the dog walk? To the park or to the mill?"}
	long := recall(t, tx, args.with(row{"max_results": 1000}))
	require.Len(t, long, len(rows))
	repeats := func(f found) bool { return f.Explain.Repeats != "" }
	require.Equal(t, 8, slices.IndexFunc(long, repeats), "one of each place comes first")
	for k := 1; k <= len(rows); k++ {
		require.Equal(t, contents(long)[:k], contents(recall(t, tx, args.with(row{"max_results": k}))), "%d results", k)
	}
}

func TestRepeated(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	for _, c := range []struct {
		better, text string
		want         bool
	}{
		{"boat", "A boat!", true},
		{"The library is closed on Mondays", "The library is closed on Mondays, as always", true},
		{"I lent him 20 euros", "Lent him 20 euros again", true},
		{"Ada plays the cello in a quartet and sings", "Ada plays the cello in a quartet", true},
		{"Ramen at Ichiran", "Ramen, ramen, ramen at Ichiran", true},
		{"Met Ana in Porto", "One more time met Ana in Porto last night", true},
		{"坐地铁二号线上班，四十分钟", "今天上班坐地铁二号线，用了四十分钟", true},
		{"坐地铁二号线上班，四十分钟", "上班还是坐地铁二号线，四十来分钟", true},
		{"坐地铁二号线上班", "又一次坐地铁二号线上班", true},

		{"Ada lives in Porto", "Ada does not live in Porto", false},
		{"Ada lives in Porto", "Ada doesn't live in Porto", false},
		{"Anna lives in Porto", "Maria lives in Porto", false},
		{"Anna and Maria live in Porto", "Anna lives in Porto", false},
		{"Anna invited Maria to dinner", "Maria invited Anna to dinner", false},
		{"I lent him 20 euros", "He lent me 20 euros", false},
		{"I lent him 20 euros", "I lent him 50 euros", false},
		{"I lent him 20 euros", "I lent her 20 euros", false},
		{"The library is closed on Mondays", "The library is closed on Tuesdays", false},
		{"Tea before lunch", "Tea after lunch", false},
		{"Had soup for lunch", "Will have soup for lunch", false},
		{"Ada goes to the gym", "Ada stopped going to the gym", false},
		{"Likes tea", "Likes tea with lemon, but never after dinner", false},
		{"坐地铁二号线上班，四十分钟", "坐地铁三号线上班，四十分钟", false},
		{"和小王在公司楼下吃饭", "和小李在公司楼下吃饭", false},
		{"和小王在公司楼下吃饭", "和小王小李在公司楼下吃饭", false},
		{"小王请小李吃饭", "小李请小王吃饭", false},
		{"他喜欢喝茶", "他不喜欢喝茶", false},
		{"喜欢喝茶", "喜欢喝奶茶", false},
		{"明天去医院检查", "去医院检查", false},
		{"我上司的生日是12月11号", "我上司的生日是11月12日", false},
	} {
		require.Equal(t, c.want, one[bool](t, tx, repeats, c.better, c.text, nil), "%s / %s", c.better, c.text)
	}
}

// Which texts are not compared at all decides nothing: it depends on the speakers, of whom one is unknown. Only a text of
// more than 1,000 characters is compared as a whole.
func TestNotCompared(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	long := strings.Repeat("Ada plays the cello. ", 47)
	ends := []string{long + strings.Repeat("!", 1000-len(long)), long + strings.Repeat("!", 1001-len(long))}
	texts := []string{"Ada plays the cello", "dear Ada plays the cello", "ｈｅｌｌｏ Ada plays the cello", "hello Ada plays the cello",
		"Ada plays the cello at 3pm", "Ada plays the cello at 3 pm", "3pm", "café au lait", "cafe\u0301 au lait", "cafe au lait",
		"我用Python写代码", "我用 Python 写代码 again", "用Python写代码写代码", "…。，！", "?!", "😀", "😀😀 happy", "\u0001\u200b\ufeff", "ﬁne ① ½",
		"fine 1 1/2", "カレーを食べた", "ｶﾚｰを食べた", "김치를 먹었다", "foo_bar a@b.com +1 ++", "foo bar", long, ends[0], ends[1]}
	for _, better := range texts {
		for _, text := range texts {
			same, unknown := one[bool](t, tx, repeats, better, text, nil), one[bool](t, tx, repeats, better, text, "Ada")
			require.Equal(t, unknown, same, "%q / %q", better, text)
			if len(better) > 1000 || len(text) > 1000 {
				require.Equal(t, better == text, same, "%q / %q", better, text)
			}
		}
	}
	require.True(t, one[bool](t, tx, repeats, long, ends[0], nil))
}

// repeats asks whether the text $2 repeats the text $1, which the speaker $3 said.
const repeats = `select nth is not null from oxbow.repeated((oxbow.terms($2)).tsv, $2, null, array[(oxbow.terms($1)).tsv],
	array[$1], array[$3::text], null, null, null)`
