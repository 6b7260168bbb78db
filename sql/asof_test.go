package sqlcode_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// version is the history of one version of a memory. Times are in days; nil is never.
type version struct {
	told  int  // when the system learned of it
	start *int // when it began to be true, as stated then; nil: when it was stated
	end   *int // when it ends, as stated then
	// when the system learned that it was superseded, and when it stopped being true
	replaced, until *int
}

// believed reports whether, as the system knew on day at, the version was true in the world on the given
// day. A version replaced by then is not current, but still describes the time before.
func (v version) believed(at, day int) (current, then bool) {
	if v.told > at {
		return false, false
	}
	start, end, replaced := v.told, v.end, v.replaced != nil && *v.replaced <= at
	if v.start != nil {
		start = *v.start
	}
	if replaced {
		end = v.until
	}
	ended := func(day int) bool { return end != nil && *end <= day }
	return !replaced && !ended(day), start <= day && !ended(day)
}

// holds returns the expected result of oxbow.holds.
func (v version) holds(validAsOf, believedAsOf *int, now int) bool {
	at, day := now, now
	if believedAsOf != nil {
		at, day = *believedAsOf, *believedAsOf
	}
	if validAsOf == nil {
		current, _ := v.believed(at, day)
		return current
	}
	_, then := v.believed(at, *validAsOf)
	return then
}

// columns returns the version as it is stored, and its former ends.
func (v version) columns() (times []any, ends []*time.Time) {
	end := v.end
	if v.replaced != nil {
		end = v.until
		if v.end != nil {
			ends = []*time.Time{moment(v.replaced), moment(v.end)}
		}
	}
	return []any{moment(&v.told), moment(v.replaced), moment(v.start), moment(end)}, ends
}

func moment(day *int) *time.Time {
	if day == nil {
		return nil
	}
	at := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, *day)
	return &at
}

const holdsNow = 20

// randomVersion returns a history before holdsNow.
func randomVersion(random *rand.Rand) version {
	maybe := func(low, high int) *int {
		if random.IntN(2) == 0 || low > high {
			return nil
		}
		n := low + random.IntN(high-low+1)
		return &n
	}
	v := version{told: random.IntN(holdsNow)}
	v.start = maybe(-5, holdsNow+5)
	from := v.told
	if v.start != nil {
		from = *v.start
	}
	v.end = maybe(from, holdsNow+8)
	if v.replaced = maybe(v.told, holdsNow); v.replaced != nil {
		n := from + random.IntN(12)
		v.until = &n
	}
	return v
}

func TestHoldsAgreesWithTheHistory(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	random := rand.New(rand.NewPCG(1, 2))
	at := func() *int {
		if random.IntN(3) == 0 {
			return nil
		}
		n := random.IntN(holdsNow+10) - 5
		return &n
	}
	seen := map[bool]int{}
	for range 4000 {
		v, validAsOf, believedAsOf := randomVersion(random), at(), at()
		if believedAsOf != nil && *believedAsOf > holdsNow {
			believedAsOf = nil // future beliefs are unknown
		}
		now := holdsNow
		times, ends := v.columns()
		args := append(times, moment(validAsOf), moment(believedAsOf), moment(&now), ends)
		got := one[*bool](t, tx, "select oxbow.holds($1, $2, $3, $4, $5, $6, $7, $8)", args...)
		want := v.holds(validAsOf, believedAsOf, now)
		require.Equal(t, want, got != nil && *got, "%s\nvalid as of %s, believed as of %s", v, text(validAsOf),
			text(believedAsOf))
		seen[want]++
	}
	require.Greater(t, seen[true], 500)
	require.Greater(t, seen[false], 500)
}

func (v version) String() string {
	return fmt.Sprintf("told %d, from %s to %s, replaced %s until %s", v.told, text(v.start), text(v.end),
		text(v.replaced), text(v.until))
}

func text(day *int) string {
	if day == nil {
		return "-"
	}
	return fmt.Sprint(*day)
}

// Recall answers as of both timelines for a move that the system learned of a month late.
func TestRecallAsOf(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	day := func(month time.Month, d int) time.Time { return time.Date(2025, month, d, 0, 0, 0, 0, time.UTC) }
	diary(t, tx,
		row{"memory_type": "fact", "content": "lives in Hamburg", "valid_at": day(1, 1), "created_at": day(1, 10),
			"invalid_at": day(3, 1), "expired_at": day(4, 1)},
		row{"memory_type": "fact", "content": "lives in Bremen", "valid_at": day(3, 1), "created_at": day(4, 1)},
		row{"memory_type": "fact", "content": "lives in secret", "valid_at": day(1, 1), "created_at": day(1, 1),
			"forgotten_at": day(5, 1)},
		row{"memory_type": "fact", "content": "lives with a course until June", "valid_at": day(1, 5),
			"created_at": day(1, 5), "invalid_at": day(6, 1)},
	)
	hamburg, bremen, course := "lives in Hamburg", "lives in Bremen", "lives with a course until June"
	for name, c := range map[string]struct {
		args row
		want []string
	}{
		"now":                           {row{}, []string{bremen}},
		"now, when the course still is": {row{"now": day(5, 1)}, []string{bremen, course}},
		"true in February":              {row{"valid_as_of": day(2, 1)}, []string{hamburg, course}},
		"true in mid March":             {row{"valid_as_of": day(3, 15)}, []string{bremen, course}},
		"true in July":                  {row{"valid_as_of": day(7, 1)}, []string{bremen}},
		"true before all":               {row{"valid_as_of": day(1, 1).AddDate(-1, 0, 0)}, nil},
		"believed in mid March":         {row{"believed_as_of": day(3, 15)}, []string{hamburg, course}},
		"believed in mid April":         {row{"believed_as_of": day(4, 15)}, []string{bremen, course}},
		"believed on January 7":         {row{"believed_as_of": day(1, 7)}, []string{course}},
		"believed before all":           {row{"believed_as_of": day(1, 1)}, nil},
		"true in mid March, as believed then": {row{"valid_as_of": day(3, 15), "believed_as_of": day(3, 15)},
			[]string{hamburg, course}},
		"true in mid March, as believed later": {row{"valid_as_of": day(3, 15), "believed_as_of": day(4, 15)},
			[]string{bremen, course}},
		"true in February, as believed later": {row{"valid_as_of": day(2, 1), "believed_as_of": day(4, 15)},
			[]string{hamburg, course}},
		"true in July, as believed in March": {row{"valid_as_of": day(7, 1), "believed_as_of": day(3, 15)},
			[]string{hamburg}},
	} {
		got := contents(recall(t, tx, row{"user_id": ann(t), "query": "lives", "now": day(12, 1)}.with(c.args)))
		require.ElementsMatch(t, c.want, got, name)
	}
}

// A change of an end, of whatever kind, does not move what was believed before it.
func TestChangedEndsLeaveThePast(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	day := func(n int) time.Time { return time.Now().AddDate(0, 0, -n) }
	fact := row{"memory_type": "fact", "created_at": day(30), "valid_at": day(40)}
	ended := fact.with(row{"invalid_at": day(20)})
	superseded := ended.with(row{"expired_at": day(15)})
	// what was believed on each of some days about each of other days
	const asOf = `
		select array_agg(format('%s %s %s %s', b, v, f.ends, r.ends) order by b, v)
		from generate_series(1, 45, 4) v, generate_series(1, 35, 4) b,
		     lateral (select array_agg((content, invalid_at)) as ends from oxbow.facts_as_of($1,
		                now() - v * interval '1 day', now() - b * interval '1 day')) f,
		     lateral (select array_agg((content, invalid_at)) as ends from oxbow.recall($1, 'boats',
		                valid_as_of => now() - v * interval '1 day',
		                believed_as_of => now() - b * interval '1 day')) r`
	for name, c := range map[string]struct {
		stored  row
		changes []string
	}{
		"superseded":               {fact, []string{`select oxbow.supersede($1, $2, 'likes ships')`}},
		"superseded after its end": {ended, []string{`select oxbow.supersede($1, $2, 'likes ships')`}},
		"corrected": {ended, []string{`
			select oxbow.supersede($1, $2, 'likes ships', valid_at => m.valid_at)
			from oxbow.memories m where m.user_id = $1 and m.id = $2`}},
		"ended": {fact, []string{`update oxbow.memories set invalid_at = now() - interval '35 days'
			where user_id = $1 and id = $2`}},
		"ended earlier, then superseded": {ended, []string{
			`update oxbow.memories set invalid_at = now() - interval '25 days' where user_id = $1 and id = $2`,
			`update oxbow.memories set invalid_at = now() - interval '26 days', expired_at = now()
			 where user_id = $1 and id = $2`}},
		"another version before the next": {superseded, []string{`update oxbow.memories
			set invalid_at = now() - interval '25 days' where user_id = $1 and id = $2`}},
	} {
		user := ann(t) + name
		id := remember(t, tx, c.stored.with(row{"user_id": user, "content": "likes boats"}))
		index(t, tx, user)
		before := one[[]string](t, tx, asOf, user)
		for _, change := range c.changes {
			exec(t, tx, change, user, id)
		}
		index(t, tx, user)
		require.Equal(t, before, one[[]string](t, tx, asOf, user), name)
	}
	require.Equal(t, []string{"likes ships"}, all[string](t, tx, `
		select content from oxbow.facts_as_of($1, now() - interval '21 days', now())`, ann(t)+"corrected"))
	require.Empty(t, recall(t, tx, row{"user_id": ann(t) + "corrected", "query": "likes"}),
		"a correction of what had ended does not make it current")
}

// A memory's old versions and forgotten memories do not take ranks from it.
func TestHiddenMemoriesTakeNoPlaces(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	for _, column := range []string{"expired_at", "forgotten_at", "invalid_at"} {
		exec(t, tx, fmt.Sprintf(`insert into oxbow.memories (user_id, memory_type, content, seq, valid_at, %s)
		                         select $1, 'episodic', 'a boat', n, now() - interval '2 days', now() - interval '1 day'
		                         from generate_series(1, 200) n`, column), ann(t))
	}
	current := remember(t, tx, row{"user_id": ann(t), "memory_type": "episodic",
		"content": "Some long sentence that is about a boat, and about much else.", "seq": 1000})
	index(t, tx, ann(t))
	exec(t, tx, `insert into oxbow.memory_vectors (user_id, memory_type, memory_id, embedding)
	             select user_id, memory_type, id, case id when $2 then $3 else $4 end::text::halfvec from oxbow.memories
	             where user_id = $1`,
		ann(t), current, axis(0, 1), axis(0))
	for _, args := range []row{{"query": "boat"}, {"query": nil, "embedding": axis(0)},
		{"query": "boat", "metadata_contains": "{}"}} {
		got := recall(t, tx, row{"user_id": ann(t), "max_results": 1}.with(args))
		require.Len(t, got, 1)
		require.Equal(t, current, got[0].ID)
	}
}
