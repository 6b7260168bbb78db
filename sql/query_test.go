package sqlcode_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

func TestQueryDates(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	for query, want := range map[string][]string{
		// a day of a year
		"我在2025年10月3日去了哪里？":            {"@2025-10", "@2025-10-03"},
		"2025年10月3号":                   {"@2025-10", "@2025-10-03"},
		"2025 年 10 月 3 日":              {"@2025-10", "@2025-10-03"},
		"２０２５年１０月３日":                   {"@2025-10", "@2025-10-03"},
		"on 2025-10-03":                {"@2025-10", "@2025-10-03"},
		"on 2025/10/3?":                {"@2025-10", "@2025-10-03"},
		"at 2025-10-03T10:00:00Z":      {"@2025-10", "@2025-10-03"},
		"on 3 October 2025":            {"@2025-10", "@2025-10-03"},
		"the 3rd of October, 2025":     {"@2025-10", "@2025-10-03"},
		"October 3, 2025":              {"@2025-10", "@2025-10-03"},
		"Oct. 3rd, 2025":               {"@2025-10", "@2025-10-03"},
		"sep 30th, 2024 and Sept 2nd?": {"@09", "@09-02", "@2024-09", "@2024-09-30"},
		// of any year
		"10月3日":          {"@10", "@10-03"},
		"October 3rd":    {"@10", "@10-03"},
		"1 May":          {"@05", "@05-01"},
		"on march 5":     {},
		"on March 5":     {"@03", "@03-05"},
		"May 1 or Mar 2": {"@03", "@03-02", "@05", "@05-01"},
		// a month
		"2025年10月":        {"@2025-10"},
		"2025年的十月":        {"@2025-10"},
		"2025年十二月份":       {"@2025-12"},
		"十月":              {"@10"},
		"in October":      {"@10"},
		"October of 2025": {"@2025-10"},
		"2025-10":         {"@2025-10"},
		"may I march on?": {},
		"Augusta decided": {},
		"June":            {"@06"},
		// a year
		"2025年":              {"@2025"},
		"in 1999 or in 2001": {"@1999", "@2001"},
		"room 3025":          {},
		"20251003":           {},
		// ranges
		"3月9日至12日":         {"@03", "@03-09", "@03-10", "@03-11", "@03-12"},
		"3月9日到3月12日":       {"@03", "@03-09", "@03-10", "@03-11", "@03-12"},
		"3月9-12日":          {"@03", "@03-09", "@03-10", "@03-11", "@03-12"},
		"2025年3月30日至4月2日":  {"@2025-03", "@2025-03-30", "@2025-04", "@2025-04-02"},
		"2025年12月30日~1月2日": {"@2025-12", "@2025-12-30", "@2026-01", "@2026-01-02"},
		"3月12日至9日":         {"@03", "@03-12"},
		"3月30日至99日":        {"@03", "@03-30", "@03-31"},
		// a third of a month
		"8月初在哪里":                   append([]string{"@08"}, third("@08", 1, 10)...),
		"2025年7月下旬的旅行":             append([]string{"@2025-07"}, third("@2025-07", 21, 31)...),
		"十月份的中旬":                   append([]string{"@10"}, third("@10", 11, 20)...),
		"3月中":                      {"@03"},
		"in late June":             append([]string{"@06"}, third("@06", 21, 31)...),
		"at the end of March 2024": append([]string{"@2024-03"}, third("@2024-03", 21, 31)...),
		"mid-May":                  append([]string{"@05"}, third("@05", 11, 20)...),
		// none
		"2025-13-45": {},
		"99月":        {},
		"0月":         {},
		"13月5日":      {},
		"10月32日":     {"@10"},
		"10月0日":      {"@10"},
		"3月5日至13月9日": {"@03", "@03-05"},
		"":           {},
		"no date":    {},
	} {
		require.Equal(t, want, one[[]string](t, tx, "select terms from oxbow.query_dates($1)", query), query)
	}
}

func third(month string, first, last int) (terms []string) {
	for d := first; d <= last; d++ {
		terms = append(terms, fmt.Sprintf("%s-%02d", month, d))
	}
	return terms
}

// The date terms of a query equal those of a memory of that day.
func TestQueryDatesMeetDateTerms(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	require.Empty(t, all[string](t, tx, `
		select form || ' ' || day
		  from generate_series(timestamp '1999-12-25', timestamp '2001-01-05', interval '1 day') day,
		       unnest(array['YYYY-MM-DD', 'FMDD FMMonth YYYY', 'FMMonth FMDD, YYYY', 'FMMonth FMDDth',
		                    'YYYY"年"FMMM"月"FMDD"日"', 'FMMM"月"FMDD"日"']) form
		 where not oxbow.date_terms(day) @> (oxbow.query_dates(to_char(day, form))).terms
		    or cardinality((oxbow.query_dates(to_char(day, form))).terms) <> 2`))
}

type asked struct{ Words, Dates []string }

func ask(t *testing.T, tx db, query any) asked {
	t.Helper()
	var a asked
	require.NoError(t, tx.QueryRow(t.Context(), "select words, dates from oxbow.query_terms($1)", query).Scan(&a.Words,
		&a.Dates))
	return a
}

func TestQueryTerms(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	for query, want := range map[string]asked{
		"Which boats were rented in May 2025?": {[]string{"2025", "boat", "may", "rent"}, []string{"@2025-05"}},
		"the of and":                           {[]string{}, []string{}},
		"":                                     {[]string{}, []string{}},
		"她在哪里学画画":                              {[]string{"学画", "画画", "里学"}, []string{}},
		"她住在哪个城市？":                             {[]string{"住在", "个城", "城市"}, []string{}},
		"什么":                                   {[]string{"什么"}, []string{}},
		"boat boat +boat":                      {[]string{"boat"}, []string{}},
	} {
		got := ask(t, tx, query)
		require.ElementsMatch(t, want.Words, got.Words, query)
		require.Equal(t, want.Dates, got.Dates, query)
	}
	require.Equal(t, asked{[]string{}, []string{}}, ask(t, tx, nil))
}

func TestLongQueries(t *testing.T) {
	t.Parallel()
	var words, days strings.Builder
	for i := range 20000 {
		fmt.Fprintf(&words, "word%d ", i)
		fmt.Fprintf(&days, "%d月%d日至31日 ", i%12+1, i%31+1)
	}
	for name, query := range map[string]string{
		"words":     words.String(),
		"days":      days.String(),
		"digits":    strings.Repeat("1", 100000),
		"numerals":  strings.Repeat("十", 100000),
		"months":    strings.Repeat("October ", 20000),
		"marks":     strings.Repeat("至~—–-", 20000),
		"unfolding": strings.Repeat("ﷺ", 20000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tx := pgtest.Tx(t)
			exec(t, tx, "set local statement_timeout = '1min'")
			got := ask(t, tx, query)
			require.LessOrEqual(t, len(got.Words), 256)
			require.LessOrEqual(t, len(got.Dates), 40)
		})
	}
}

// Every term becomes a quoted tsquery.
func TestHostileQueriesFindNothingAndBreakNothing(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	remember(t, tx, row{"user_id": ann(t), "content": "A lamp stands by the door."})
	index(t, tx, ann(t))
	for _, query := range []string{
		`'; drop table oxbow.memories; --`, `''''`, `\`, `\\'`, `a' | 'b`, `!x`, `x:*`, `x <-> y`, `(`, `+lamp`,
		`@2025`, `＇＼＋＠`,
		"\u2019\u201c", "$1", "%s %d", "{}", "[]", "\ufeff", "\u0301", "😀", "１'月", strings.Repeat("z", 2047),
		strings.Repeat("水", 2000),
	} {
		rows := all[string](t, tx, "select content from oxbow.recall($1, $2)", ann(t), query)
		require.Equal(t, query == "+lamp", len(rows) == 1, query)
	}
}

// A term is one word without operators, whatever it contains.
func TestTermQueries(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	for term, want := range map[string]string{"boat": "'boat'", "茶*": "'茶':*", "a' | 'b": "'a'' | ''b'", `\`: `'\\'`,
		"'": "''''", "a & !b:*": "'a & !b:':*", "": "", "*": "", strings.Repeat("z", 2048): ""} {
		require.Equal(t, want, one[string](t, tx, "select coalesce(oxbow.term_query($1)::text, '')", term), term)
	}
}

func TestRelevanceIsScaledToTheModel(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	for model, want := range map[string]string{
		"local-v1": "0-0.5", "openai:text-embedding-3-small": "0-0.5", "openai:multilingual-e5-small": "0.78-0.87",
		"openai:all-minilm-l6-v2": "0.1-0.5", "onnx:all-MiniLM-L6-v2": "0.1-0.5",
	} {
		exec(t, tx, `insert into oxbow.settings (key, value) values ('embedding', jsonb_build_object('model', $1::text, 'dimension', 1024))
			on conflict (key) do update set value = excluded.value`, model)
		require.Equal(t, want, one[string](t, tx, "select unrelated || '-' || related from oxbow.channel_weights()"), model)
	}
}
