package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/gauges"
	"github.com/oxbow-memory/oxbow/store"
)

func TestTable(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	table := newTable(&out, time.UTC, "name", "#number", "empty", "|text")
	table.add("周芸", 7, "", "两小时九分，这是第一行，后面还有 第二行")
	table.add("Maren", 1234, uuid.Nil, "x")
	table.print()
	require.Equal(t, []string{
		"name   number  text",
		strings.Repeat("─", 45),
		"周芸        7  两小时九分，这是第一行，后面还",
		"               有 第二行",
		"Maren   1,234  x",
	}, strings.Split(strings.TrimRight(out.String(), "\n"), "\n"))
}

func TestTableOnATerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	table := newTable(&out, time.UTC, "who", "~text", "id")
	table.columns = 40
	table.add("周芸", "四月跑一次半程马拉松，年底前把法语考到B1。", "7")
	table.add("Maren", "Ash glazes, and a very long story about them that goes on and on and on until nobody listens.",
		"1234")
	table.print()
	lines := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
	require.Len(t, lines, 7)
	for _, line := range lines {
		require.LessOrEqual(t, places(line), 40, line)
	}
	require.Contains(t, lines[6], "…")
}

func TestWrap(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		width int
		lines []string
	}{
		{"", 10, nil},
		{"a short one", 20, []string{"a short one"}},
		{"breaks between words", 12, []string{"breaks", "between", "words"}},
		{"腿像木头。晚上去吃了淳安鱼头", 10, []string{"腿像木头。", "晚上去吃了", "淳安鱼头"}},
		{"腿像木，头晚上", 6, []string{"腿像", "木，头", "晚上"}},
		{"看 Heron 白鹭", 8, []string{"看 Heron", "白鹭"}},
		{"averyveryverylongword", 8, []string{"averyver", "yverylon", "gword"}},
		{"one two three four five", 5, []string{"one", "two", "thre…"}},
	} {
		got := wrap(c.text, c.width, 3)
		require.Equal(t, c.lines, got, c.text)
		for _, line := range got {
			require.LessOrEqual(t, places(line), c.width)
		}
	}
	long := strings.Repeat("很长的一段话 with words, and more。", 50)
	require.Equal(t, strings.ReplaceAll(long, " ", ""), strings.ReplaceAll(strings.Join(wrap(long, 17, 1000), ""), " ",
		""), "nothing is lost")
}

func TestPrintable(t *testing.T) {
	t.Parallel()
	require.Equal(t, "a b c [2Jd", printable("  a\n\tb\r\nc\x1b[2Jd\x00\u202e "))
	require.Equal(t, "周芸 👩‍🔧", printable("周芸\u3000👩‍🔧"), "joiners belong to what they join")
}

func TestParsePeriod(t *testing.T) {
	t.Parallel()
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	require.NoError(t, err)
	for text, want := range map[string][2]string{
		"2024":                      {"2023-12-31T16:00:00Z", "2024-12-31T15:59:59.999999Z"},
		"2024-02":                   {"2024-01-31T16:00:00Z", "2024-02-29T15:59:59.999999Z"},
		"2024-05-17":                {"2024-05-16T16:00:00Z", "2024-05-17T15:59:59.999999Z"},
		"2024-05-17 08:00":          {"2024-05-17T00:00:00Z", "2024-05-17T00:00:00Z"},
		"2024-05-17T08:00:30":       {"2024-05-17T00:00:30Z", "2024-05-17T00:00:30Z"},
		"2024-05-17T08:00:00Z":      {"2024-05-17T08:00:00Z", "2024-05-17T08:00:00Z"},
		"2024-05-17T08:00:00+02:00": {"2024-05-17T06:00:00Z", "2024-05-17T06:00:00Z"},
	} {
		begin, end, err := parsePeriod(text, shanghai)
		require.NoError(t, err)
		require.Equal(t, want, [2]string{begin.UTC().Format(time.RFC3339Nano), end.UTC().Format(time.RFC3339Nano)},
			text)
	}
	for _, text := range []string{"", "now", "17.05.2024", "2024-5", "24", "0000", "2023-02-29", "2024-05-17T25:00:00Z",
		"10000"} {
		_, _, err := parsePeriod(text, time.UTC)
		require.ErrorIs(t, err, errNoPeriod, text)
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"0", "999", "1,000", "31,439", "1,000,001", "-1,234"},
		[]string{thousands(0), thousands(999), thousands(1000), thousands(31439), thousands(1000001), thousands(-1234)})
	require.Equal(t, []string{"1 memory", "2,000 memories", "0 keys", "3 pieces of evidence"},
		[]string{count(1, "memory"), count(2000, "memory"), count(0, "key"), count(3, "piece of evidence")})
	require.Equal(t, []string{"0.0 s", "9.5 s", "45 s", "3 min", "5.5 h", "3.0 days"},
		[]string{age(0), age(9.5), age(45), age(180), age(5.5 * 3600), age(3 * 86400)})
}

func TestEstimatesAreMarked(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	a := &app{out: &out}
	a.printMemories([]gauges.TypeCount{
		{Type: store.Fact, Current: 3, Embedded: 3},
		{Type: store.Episodic, Current: 1_200_000, Forgotten: 7, Embedded: 1_199_000, Waiting: 1000, Estimated: true},
		{Type: store.Document},
	})
	require.Regexp(t, `fact +3 +0 +0 +3 +0\n`, out.String())
	require.Regexp(t, `episodic +~1,200,000 +~0 +~7 +~1,199,000 +~1,000\n$`, out.String())
	require.NotContains(t, out.String(), "document", "there are none")
}
