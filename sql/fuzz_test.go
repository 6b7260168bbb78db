package sqlcode_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/traittest"
)

// pieces are parts of hostile or unusual texts.
var pieces = strings.Fields(`' " \ % $1 $$ ; -- /* */ ( ) & | ! <-> :* {} [] , = ~ ^ . * + - @ # _ ? < > ` + "`" +
	` '); %s %n \x00 \u0000 \ud800 \udfff \' \\ null NULL
	NaN Infinity 1e999 -1 0 99999999999 0001-01-01 9999-12-31 294276-12-31 2025-02-31
	2025年 十二月 3月9日至99日 13月 年 月 日 May march 31st
	的 了 什么 我 你 水 火 木 金 茶 王 𠀀 𠀁 か な ー ラ ガ ｶﾞ 한 국 ᄒ ᅡ Ａ １ ＇ ＼ ㌖ ﷺ ﬁ İ ß ſ ǅ é 。 ， 「 」 ・ 〇 々
	שלום مرحبا สวัสดี Straße river's don't running the of a b z1 user_id oxbow ann 😀 👨‍👩‍👧 🇨🇳`)

// odd are characters that strings.Fields treats as spaces, or that are invisible.
var odd = []rune{' ', '\t', '\n', '\r', '\v', '\f', 0x1, 0x1f, 0x7f, 0x80, 0x85, 0xa0, 0xad, 0x300, 0x301, 0x3099,
	0x200b, 0x200d, 0x200f, 0x202e, 0x2028,
	0x2066, 0x3000, 0xfe0f, 0xfeff, 0xfffd, 0xffff, 0x1f3fb, 0xe0001, 0x10ffff, 0x2e80, 0x9fff, 0xd7a3, 0xf900, 0x2fffd}

// writing maps bytes to text, so that any input of the fuzzer becomes interesting valid UTF-8. Letters stand for
// themselves, other bytes for pieces and odd characters, and the last two for an arbitrary character and for a
// repetition of the text so far.
func writing(data []byte) string {
	var b strings.Builder
	for i := 0; i < len(data) && b.Len() < 1<<16; i++ {
		switch c := data[i]; {
		case c >= ' ' && c < 0x7f:
			b.WriteByte(c)
		case c < ' ':
			b.WriteRune(odd[int(c)%len(odd)])
		case c == 0xff:
			b.WriteString(b.String())
		case c == 0xfe && i+3 < len(data):
			if r := rune(data[i+1])<<16 | rune(data[i+2])<<8 | rune(data[i+3]); r > 0 && utf8.ValidRune(r) {
				b.WriteRune(r)
			}
			i += 3
		default:
			b.WriteString(pieces[int(c)*len(pieces)/256+int(c)%2])
		}
	}
	return b.String()
}

// A text contains the terms that find it. Terms are bounded, and do not depend on Unicode composition.
func FuzzTerms(f *testing.F) {
	pool := impatient(f, 1)
	for _, seed := range []string{"Rivers were running", "last spring, 3 days ago", "去年春节 上周五 三天前", "我love北京2025年10月3日", "3月9日至12日 in May 2025", "水 火 水",
		"\xfe\x02\x00\x00\xfe\x02\x00\x01", "\x81\x99\xb0\xff\xff\xff", "zzzz\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
		"\xd0\xd1\x08\xd2\x09", "'q1\\ \"w1\" :* | !x", ""} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		content := writing(data)
		var length int
		var terms, words, dates []string
		var rest string
		var found, composed, short bool
		require.NoError(t, pool.QueryRow(t.Context(), `
			select t.len, tsvector_to_array(t.tsv), q.words, q.dates, d.rest, n.tsv = t.tsv,
			       coalesce((select bool_and(t.tsv @@ oxbow.term_query(w)) from unnest(q.words) w), true),
			       length($1) <= 2000 and length(normalize($1, NFKC)) <= 50000
			  from oxbow.terms($1) t, oxbow.query_terms($1, '2026-11-27') q, oxbow.query_dates(left($1, 2000)) d,
			  oxbow.terms(normalize($1, NFKC)) n`,
			content).Scan(&length, &terms, &words, &dates, &rest, &composed, &found, &short))
		require.LessOrEqual(t, length, 50_000)
		require.LessOrEqual(t, len(terms), 2*length)
		require.LessOrEqual(t, len(words), 256)
		require.LessOrEqual(t, len(dates), 40)
		for _, term := range terms {
			require.NotEmpty(t, term)
			require.LessOrEqual(t, len(term), 2047)
			require.NotEqual(t, byte(0x40), term[0], "%q would be a date", term)
			require.NotContains(t, strings.TrimPrefix(term, "+"), "+")
			require.NotContains(t, term, "'")
		}
		for _, date := range dates {
			require.Regexp(t,
				`^@([0-9]{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01]))?)?`+
					`|(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01]))?)$`, date)
		}
		if short {
			require.True(t, composed, "%q has other terms when it is composed", content)
			require.True(t, found, "%q is not found by %q", content, words)
		}
	})
}

// The database replays events like package lifecycle, event by event.
func FuzzReplayInTheDatabase(f *testing.F) {
	pool := impatient(f, 1)
	f.Add([]byte{0, 40, 0, 0, 1, 9, 9, 5, 1, 5, 60, 0, 2, 30, 90, 0, 7, 250, 0, 0, 8, 250, 0, 0, 9, 9, 0, 51, 10, 1, 5,
		0})
	f.Add([]byte{0, 0, 0, 200, 3, 1, 0, 77, 4, 0, 0, 1, 5, 200, 0, 0, 6, 3, 0, 255})
	f.Add([]byte{1, 0, 9, 0, 2, 1, 1, 0, 9, 1, 1, 40})
	f.Add(bytes.Repeat([]byte{0, 255, 1, 0, 1, 255, 60, 0}, 50)) // beyond any year that JSON can express
	kinds := []lifecycle.Kind{lifecycle.Created, lifecycle.Reinforced, lifecycle.Contradicted, lifecycle.Promoted,
		lifecycle.Revised, lifecycle.Split, lifecycle.Edited,
		lifecycle.Decayed, lifecycle.Dissolution, lifecycle.Revived, lifecycle.Used}
	type event struct {
		Event     lifecycle.Kind `json:"event"`
		At        time.Time      `json:"at"`
		Factor    float64        `json:"factor"`
		Sets      *float64       `json:"sets"`
		Memories  int            `json:"memories"`
		Subtype   string         `json:"subtype"`
		WindowEnd *time.Time     `json:"window_end"`
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		now := time.Date(2025, 10, 12, 8, 0, 0, 0, time.UTC)
		var events []lifecycle.Event
		given := []event{}
		for ; len(data) >= 4 && len(events) < 100; data = data[4:] { // kind, moment, factor, value set
			if data[1]%7 == 0 { // late, or much later
				now = now.Add(-time.Duration(data[1]) * time.Minute)
			} else if later := now.Add(time.Duration(data[1]) * time.Duration(
				data[1]) * 11 * time.Hour); later.Year() < 9000 { // JSON ends in 9999
				now = later
			}
			e := lifecycle.Event{Kind: kinds[int(data[0])%len(kinds)], At: now, Factor: float64(data[2]) / 256,
				Sets:  float64(data[3]) / 256,
				Count: int(data[2]) % 5, Subtype: subtypes[int(data[2])%3]}
			if e.Kind == lifecycle.Created && e.Sets == 0 {
				e.WindowEnd = now.Add(30 * 24 * time.Hour)
			}
			events = append(events, e)
			given = append(given, event{e.Kind, e.At, e.Factor, pointer(e.Sets), e.Count, string(e.Subtype),
				pointer(e.WindowEnd)})
		}
		var subtype, stage *string
		var confidence *float64
		var at, end *time.Time
		var reinforcements, contradictions *int
		require.NoError(t, pool.QueryRow(t.Context(), `
			with recursive s as (
			  select 0 as nth, null::text as subtype, null::text as stage, null::float8 as confidence,
			  null::timestamptz as confidence_at, null::int as reinforcements,
			         null::int as contradictions, null::timestamptz as window_end
			  union all
			  select s.nth + 1, r.* from s, oxbow.apply_event(s.subtype, s.stage, s.confidence, s.confidence_at,
			  s.reinforcements, s.contradictions, s.window_end,
			    jsonb_populate_record(null::oxbow.trait_events, $1::jsonb -> s.nth)) r
			    where s.nth < jsonb_array_length($1::jsonb))
			select subtype, stage, confidence, confidence_at, reinforcements, contradictions, window_end from s
			order by nth desc limit 1`, given).
			Scan(&subtype, &stage, &confidence, &at, &reinforcements, &contradictions, &end))
		want := traittest.Policies.Replay(events)
		about := fmt.Sprintf("%+v", events)
		require.Equal(t, string(want.Stage), value(stage), about)
		require.Equal(t, string(want.Subtype), value(subtype), about)
		require.Equal(t, want.Reinforcements, value(reinforcements), about)
		require.Equal(t, want.Contradictions, value(contradictions), about)
		require.True(t, want.At.Equal(value(at)) && want.WindowEnd.Equal(value(end)), "%s: %v %v, not %v %v", about, at,
			end, want.At, want.WindowEnd)
		require.InDelta(t, want.Confidence, value(confidence), 1e-9, about)
		require.True(t, confidence == nil || *confidence > 0 && *confidence < 1, about)
	})
}

// value returns *p, or the zero value for nil.
func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
