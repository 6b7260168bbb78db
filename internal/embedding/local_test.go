package embedding

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"math"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func embedOne(t testing.TB, l *Local, text string) []float32 {
	t.Helper()
	vectors, err := l.Embed(context.Background(), []string{text})
	require.NoError(t, err)
	require.Len(t, vectors, 1)
	return vectors[0]
}

func cosine(a, b []float32) float64 {
	var sum float64
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func requireUnit(t testing.TB, l *Local, v []float32) {
	t.Helper()
	require.Len(t, v, l.Dimension())
	for i, x := range v {
		require.False(t, math.IsNaN(float64(x)) || math.IsInf(float64(x), 0), "component %d is %v", i, x)
	}
	require.InDelta(t, 1, cosine(v, v), 1e-5)
}

func TestLocalNamesItself(t *testing.T) {
	t.Parallel()
	require.Equal(t, "local-v1", NewLocal(0).Model())
	require.Equal(t, 1024, NewLocal(0).Dimension())
	require.Equal(t, 1024, NewLocal(1).Dimension())
	require.Equal(t, 256, NewLocal(256).Dimension())
}

// A vector stored by one version must stay comparable with the queries of the next. If this test
// fails because the features changed on purpose, LocalModel needs a new name.
func TestLocalIsTheSameForEver(t *testing.T) {
	t.Parallel()
	golden := map[string]uint64{
		"":                              0x6601142782796218,
		"Ingrid: I repaired two clocks": 0x185fadcfe032868a,
		"昨天下午带狗狗去医院复查。":            0x92524d121747b620,
		"Ｆｕｌｌ－ｗｉｄｔｈ café 東京タワー 서울": 0x82a47a4985762973,
	}
	for text, want := range golden {
		sum := fnv.New64a()
		for _, x := range embedOne(t, NewLocal(0), text) {
			var b [4]byte
			binary.LittleEndian.PutUint32(b[:], math.Float32bits(x))
			_, _ = sum.Write(b[:])
		}
		require.Equalf(t, want, sum.Sum64(), "%q", text)
	}
}

func TestLocalDoesNotDependOnOtherTexts(t *testing.T) {
	t.Parallel()
	l := NewLocal(0)
	texts := []string{"我喜欢骑行", "", "I like cycling", "no more, no less. No.", "我喜欢骑行"}
	together, err := l.Embed(context.Background(), texts)
	require.NoError(t, err)
	require.Len(t, together, len(texts))
	var wg sync.WaitGroup
	for i, text := range texts {
		wg.Go(func() {
			alone, err := l.Embed(context.Background(), []string{text})
			if err != nil || cosine(alone[0], together[i]) < 0.9999 {
				t.Errorf("%q differs: %v", text, err)
			}
		})
	}
	wg.Wait()

	_ = append(together[0], 9)
	require.Equal(t, embedOne(t, l, texts[1]), together[1], "vectors share memory")
}

func TestLocalNoTexts(t *testing.T) {
	t.Parallel()
	vectors, err := NewLocal(0).Embed(context.Background(), nil)
	require.NoError(t, err)
	require.Empty(t, vectors)
}

func TestLocalOrdersBySimilarity(t *testing.T) {
	t.Parallel()
	l := NewLocal(0)
	for _, c := range []struct{ name, query, near, far string }{
		{"same words", "Where did Anna buy her bicycle?", "Anna bought the bicycle in Utrecht.",
			"Anna paid the rent on Monday."},
		{"inflection", "painting lessons", "She took a lesson to learn how to paint.",
			"She took a train to learn the route."},
		{"compound", "birthday", "A birthdayparty for twelve.", "A dinner for twelve."},
		{"misspelt", "Fitzwilliam museum", "We saw the Fitzwiliam.", "We saw the aquarium."},
		{"concept", "doctor", "Two hours at the hospital.", "Two hours at the airport."},
		{"case and width", "NEW ZEALAND", "ｎｅｗ ｚｅａｌａｎｄ", "new york"},
		{"Chinese words", "什么时候去杭州开会", "下周二去杭州参加会议", "下周二在家打扫卫生"},
		{"Chinese concept", "她的妈妈", "母亲打来电话", "快递放在门口"},
		{"across languages", "my dog", "遛狗回来了", "下雨了"},
		{"Japanese", "東京タワーに行った", "東京タワーは高い", "京都で寿司を食べた"},
	} {
		query := embedOne(t, l, c.query)
		near, far := cosine(query, embedOne(t, l, c.near)), cosine(query, embedOne(t, l, c.far))
		require.Greaterf(t, near, far+0.05, "%s: near %.3f, far %.3f", c.name, near, far)
	}
}

func TestLocalOddTexts(t *testing.T) {
	t.Parallel()
	l := NewLocal(0)
	word := embedOne(t, l, "word")
	for _, text := range []string{"", " ", "?!… —", "the of and", "\x00\x01", "\xff\xfe\xfd", "😀😀"} {
		v := embedOne(t, l, text)
		requireUnit(t, l, v)
		require.Zerof(t, cosine(v, word), "%q says nothing and must be like nothing", text)
	}
	for _, text := range []string{
		"x", "7", "的", "a\xffb", "\xe6\x88", "word\xff", "Ωμέγα", "กรุงเทพ", "नमस्ते",
		strings.Repeat("word ", 1<<20/5), strings.Repeat("长", 1<<20/3), strings.Repeat("a", 1<<20),
	} {
		requireUnit(t, l, embedOne(t, l, text))
	}
	require.InDelta(t, 1, cosine(word, embedOne(t, l, strings.Repeat("word ", 1<<18))), 1e-5)
}

func TestLocalEverySmallDimension(t *testing.T) {
	t.Parallel()
	for _, dimension := range []int{2, 3, 7, 64, 4000} {
		l := NewLocal(dimension)
		for _, text := range []string{"", "a walk in the park", "公园里散步"} {
			requireUnit(t, l, embedOne(t, l, text))
		}
	}
}

func TestLocalStopsWhenAsked(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	vectors, err := NewLocal(0).Embed(ctx, []string{"one", "two"})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "text 1 of 2")
	require.Nil(t, vectors)
}

func TestStemLen(t *testing.T) {
	t.Parallel()
	for _, words := range [][]string{
		{"paint", "paints", "painted", "painting", "paintings", "painter"},
		{"study", "studies", "studied", "studying"},
		{"run", "runs", "running", "runner"},
		{"hope", "hopes", "hoped", "hoping"},
		{"donate", "donated", "donation", "donations"},
		{"glass"}, {"us"}, {"x"}, {"wing"}, {"会"},
	} {
		stem := string([]rune(words[0])[:stemLen([]rune(words[0]))])
		for _, w := range words[1:] {
			require.Equal(t, stem, string([]rune(w)[:stemLen([]rune(w))]), w)
		}
		require.NotEmpty(t, stem)
	}
}

func TestConceptTable(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, line := range words.List("concepts") {
		same := strings.Fields(line)
		for _, w := range same {
			r := []rune(w)
			if r[0] >= utf8.RuneSelf {
				require.Lenf(t, r, 2, "%s: only pairs of characters are looked up", w)
			} else {
				require.Falsef(t, emptyWords[hash(kindWord, []rune(w))], "%s is an empty word and never looked up", w)
			}
			require.Falsef(t, seen[w], "%s stands twice", w)
			seen[w] = true
			require.Equal(t, hash(kindConcept, []rune(same[0])), concepts[hash(kindWord, r)], w)
		}
	}
	require.Equal(t, concepts[hash(kindWord, []rune("doctor"))], concepts[hash(kindWord, []rune("nurs"))])
	require.NotEqual(t, concepts[hash(kindWord, []rune("win"))], concepts[hash(kindWord, []rune("wine"))])
}

func FuzzLocal(f *testing.F) {
	for _, s := range []string{"", "Hello, World", "你好，世界", "a\xff\xc0", "ＡＢＣ「。」", "İstanbul ǅ ß"} {
		f.Add(s)
	}
	l := NewLocal(64)
	f.Fuzz(func(t *testing.T, text string) {
		v := embedOne(t, l, text)
		requireUnit(t, l, v)
		require.Equal(t, v, embedOne(t, l, text))
	})
}

func BenchmarkLocal(b *testing.B) {
	for _, c := range []struct{ name, text string }{
		{"English",
			"Ingrid: The tram was late again, so I walked along the canal and bought bread on the way. Shall we have lunch on Thursday?"},
		{"Chinese", "周末和家人去西湖边骑行，中午在楼外楼吃饭，下午回家整理照片，晚上给妈妈打电话商量下个月体检的事。"},
	} {
		b.Run(c.name, func(b *testing.B) {
			l := NewLocal(0)
			texts := make([]string, 128)
			for i := range texts {
				texts[i] = c.text
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := l.Embed(context.Background(), texts); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*len(texts))/b.Elapsed().Seconds(), "texts/s")
		})
	}
}
