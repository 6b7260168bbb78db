package worker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An unknown context is general and does not count as a context. Evidence from one known context is
// therefore of quality C, not A.
func TestUnknownContextIsNotASecondOne(t *testing.T) {
	b := setup(t)
	b.cfg.Now = func() time.Time { return morning }
	b.waiting("ann", "Went running.", "Went running again.", "Went running in the rain.")
	b.reflect("ann")
	for _, c := range []struct{ says, quality, context string }{
		{"Went running with a client.", "C", "work"},
		{"Went running after the meeting.", "C", "work"},
		{"Went running near home.", "A", "personal"},
	} {
		now := b.cfg.Now().AddDate(0, 0, 1)
		b.cfg.Now = func() time.Time { return now }
		memory := b.waiting("ann", c.says)[0]
		b.reflect("ann")
		require.Equal(t, c.quality+" "+c.context, get[string](b,
			`select quality || ' ' || context from oxbow.trait_evidence where memory_id = $1`, memory))
	}
	require.Equal(t, 6, b.held("ann").Supporting)
	require.Equal(t, 3, b.count(`oxbow.trait_evidence where context = 'general'`))
	b.consistent()
}

// at puts memories into the inbox as if they had been embedded, one for each time.
func (b *bundle) at(user, content string, moments ...time.Time) {
	b.Helper()
	b.exec(`
		with m as (
		  insert into oxbow.memories (user_id, memory_type, content, valid_at)
		  select $1, 'episodic', $2 || ' ' || n, at from unnest($3::timestamptz[]) with ordinality x(at, n)
		  returning id, valid_at, importance)
		insert into oxbow.reflection_inbox (user_id, memory_type, memory_id, importance, valid_at)
		select $1, 'episodic', id, importance, valid_at from m`, user, content, moments)
	b.exec(`delete from oxbow.river_job where kind = 'embed'`)
}

// Without a time zone nothing is concluded about hours: 09:10 in Shanghai is 01:10 in UTC. A user who chose UTC
// has that time zone.
func TestHoursTakeATimeZone(t *testing.T) {
	b := setup(t)
	b.cfg.Now = func() time.Time { return morning }
	b.exec(`insert into oxbow.users (user_id, language, timezone) values ('unset', 'zh', null), ('utc', 'zh', 'UTC'),
		('hao', 'zh', 'Asia/Shanghai')`)
	var walks []time.Time
	for i := range 4 {
		walks = append(walks, time.Date(2026, 2, 23+i, 1, 10, 0, 0, time.UTC))
	}
	for user, want := range map[string]string{"unset": "", "nobody": "", "hao": "", "utc": "习惯深夜活跃"} {
		b.at(user, "出门走了一圈", walks...)
		b.reflect(user)
		require.Equal(t, want, get[string](b, `select coalesce(string_agg(content, ', '), '') from oxbow.traits
			where user_id = $1`, user), user)
	}
	require.Zero(t, b.count(`oxbow.trait_clues where user_id in ('unset', 'nobody') and key like 'time:%'`))
	require.Zero(t, b.count(`oxbow.trait_evidence where user_id <> 'hao' and timezone <> 'UTC'`))
	b.consistent()
}

// Eight nights make the same traits whether they are reflected on daily or all at once.
func TestHoursReflectedDaily(t *testing.T) {
	b := setup(t)
	b.exec(`insert into oxbow.users (user_id, timezone) values ('daily', 'Europe/Lisbon'), ('bulk', 'Europe/Lisbon')`)
	var nights []time.Time
	for i := range 8 {
		nights = append(nights, time.Date(2026, 2, 10+i, 23, 20, 0, 0, time.UTC))
	}
	for _, night := range nights {
		b.cfg.Now = func() time.Time { return night.Add(10 * time.Hour) }
		b.at("daily", "Sorted screws in the workshop", night)
		b.reflect("daily")
	}
	b.at("bulk", "Sorted screws in the workshop", nights...)
	b.reflect("bulk")
	visible := func(user string) string {
		return get[string](b, `select string_agg(content, ', ' order by content) from oxbow.traits where user_id = $1
			and stored_stage in ('emerging', 'established', 'core')`, user)
	}
	require.Equal(t, "Tends to be active late at night", visible("daily"))
	require.Equal(t, visible("bulk"), visible("daily"))
	require.Equal(t, 8, b.held("daily").Supporting)
	b.consistent()
}

// With the rules, a pattern in two conversations within two weeks is a trend. Two reflections inside its window
// make it a candidate. Otherwise expire_trend dissolves it when the window ends. A trend is never recalled.
func TestTrendsByRules(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T) *bundle {
		b := setup(t)
		b.cfg.Now = func() time.Time { return morning }
		b.exec(`insert into oxbow.users (user_id, timezone) values ('ann', 'UTC')`)
		b.waiting("ann", "Went climbing for the first time.", "The bus was late.")
		b.reflect("ann")
		require.Empty(t, b.allHeld("ann"), "one conversation")
		b.later("ann", 2, "Went climbing again, my arm hurts.")
		require.Equal(t, "trend", b.held("ann").Stage)
		require.Zero(t, b.held("ann").Confidence)
		require.Equal(t, []any{2, "30 days"}, []any{b.held("ann").Supporting,
			get[string](b, `select (trait_window_end - $1)::text from oxbow.memories_trait`, b.cfg.Now())})
		require.NoError(t, b.drain())
		require.Zero(t, get[int](b, `select count(*) from oxbow.recall('ann', 'climbing') where memory_type = 'trait'`))
		return b
	}
	t.Run("holds", func(t *testing.T) {
		b := begin(t)
		b.later("ann", 3, "Went climbing with the club.")
		require.Equal(t, []any{"trend", 1}, []any{b.held("ann").Stage, b.held("ann").Reinforced})
		b.later("ann", 3, "Went climbing after work.")
		require.Equal(t, []any{"candidate", 0.3, 2}, []any{b.held("ann").Stage, b.held("ann").Confidence,
			b.held("ann").Reinforced})
		require.Equal(t, "trend_promotion", get[string](b, `select derived_from from oxbow.traits`))
		b.later("ann", 3, "Went climbing, three routes.")
		require.Equal(t, "emerging", b.held("ann").Stage)
		require.Equal(t, 5, b.held("ann").Supporting)
		b.consistent()
	})
	t.Run("passes", func(t *testing.T) {
		b := begin(t)
		b.later("ann", 3, "Went climbing with the club.")
		now := b.cfg.Now().AddDate(0, 0, 30)
		b.cfg.Now = func() time.Time { return now }
		b.work()
		require.Equal(t, 1, b.count(`oxbow.river_job where kind = 'expire_trend' and state = 'completed'`))
		require.Equal(t, 1, b.count(`oxbow.trait_events where event = 'dissolved' and cycle_id is null`))
		require.Equal(t, "dissolved", b.held("ann").Stage)
		require.Equal(t, []string{"created", "reinforced", "dissolved"}, b.events(b.held("ann").ID))
		b.later("ann", 3, "Went climbing again after all.")
		require.Equal(t, []any{"candidate", 4}, []any{b.held("ann").Stage, b.held("ann").Supporting},
			"what was seen then counts")
		b.consistent()
	})
}

// Two memories at least two weeks apart make a candidate. Two memories from long ago stay clues. The number of
// trends is limited.
func TestFewMemoriesByRules(t *testing.T) {
	b := setup(t)
	b.cfg.Now = func() time.Time { return morning }
	b.at("ann", "Went climbing", morning.AddDate(0, 0, -20), morning.AddDate(0, 0, -3))
	b.at("bob", "Went climbing", morning.AddDate(-2, 0, -9), morning.AddDate(-2, 0, -3))
	b.reflect("ann")
	b.reflect("bob")
	require.Equal(t, []any{"candidate", 0.2}, []any{b.held("ann").Stage, b.held("ann").Confidence})
	require.Empty(t, b.allHeld("bob"))

	for _, what := range []string{"kayaking", "climbing", "surfing", "knitting", "archery", "sailing", "painting",
		"fishing", "swimming", "hiking", "camping", "dancing"} {
		b.at("mia", "Went "+what, morning.AddDate(0, 0, -9), morning.AddDate(0, 0, -3))
	}
	b.reflect("mia")
	require.Equal(t, 8, b.count(`oxbow.traits where user_id = 'mia' and stored_stage = 'trend'`))
	require.Positive(t, b.count(`oxbow.trait_clues where user_id = 'mia'`), "the others stay clues")
	require.Equal(t, 8, b.count(`oxbow.river_job where kind = 'expire_trend' and state = 'scheduled'`))
	b.consistent()
}

// later moves the clock forward by days, adds a memory, and reflects on it.
func (b *bundle) later(user string, days int, says string) {
	b.Helper()
	now := b.cfg.Now().AddDate(0, 0, days)
	b.cfg.Now = func() time.Time { return now }
	b.waiting(user, says)
	b.reflect(user)
}
