package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/store"
)

func TestWeight(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	const id = "0198c2f6-7f0e-7bb2-9a52-0d7a51e9f5c2"
	d.exec(`insert into oxbow.users (user_id, timezone) values ('小明', 'Asia/Shanghai')`)
	d.exec(`insert into oxbow.memories (user_id, id, content, category, created_at)
		values ('小明', '` + id + `', '小明对花生过敏。', '身份', '2025-01-01T20:00:00Z')`)
	out := d.ok("weight", id, "--now", "2025-01-11T20:00:00Z")
	require.Regexp(t, `(?s)^小明对花生过敏。\n.*time +0\.938 +last active on 2025-01-02 04:00\n.*importance +1\.500 +身份\n`+
		`.*strength +0\.985 .*weight +1\.385 .*\*.*2025-01-12 +2026-01-12 +2027-01-12\n`, out)
	require.NotContains(t, out, "before", "the log is empty")
	require.Regexp(t, `below +from\n─+\n +0\.30 +20\d\d-\d\d-\d\d, in \d{3} days\n.*\n.*\n +0\.05 +20\d\d-\d\d-\d\d, in [\d,]+ days$`, out)
	for line := range strings.Lines(out) {
		require.LessOrEqual(t, places(strings.TrimSuffix(line, "\n")), 80, line)
	}

	d.exec(`select oxbow.touch('小明', array['` + id + `'::uuid])`)
	d.exec(`select oxbow.fold_activity(10)`)
	d.exec(`select oxbow.mention_memory('小明', 'fact', '` + id + `', array[now()], 1, 0::smallint, 'rules-v1')`)
	out = d.ok("weight", id, "--user", "小明", "--days", "30")
	require.Regexp(t, `(?s)when +what +times +before +after +by\n─+\n\S+ \S+ +mentioned +1 +1\.\d+ +[12]\.\d+ +rules-v1\n`+
		`\S+ \S+ +used +1 +0\.\d+ +1\.\d+ +app\n`, out)
	require.NotContains(t, d.ok("weight", id, "--limit", "1"), "used  ")

	w := decoded[weighed](t, d.ok("weight", id, "--json", "--days", "100"))
	require.Equal(t, "小明对花生过敏。", w.Memory.Content)
	require.Len(t, w.Log, 2)
	require.Greater(t, w.Log[0].After, w.Log[0].Before)
	require.InDelta(t, w.Log[0].After, w.Weight.Unclamped, 1e-3)
	require.Len(t, w.Curve, plotWidth)
	require.InDelta(t, 100, w.Curve[plotWidth-1].At.Sub(w.Curve[0].At).Hours()/24, 1e-6)
	require.Len(t, w.Levels, 4)
	for _, f := range w.Levels {
		require.Len(t, f.Crossings, 2)
		require.False(t, f.Crossings[0].Below)
		require.True(t, f.Crossings[1].Below)
	}

	d.exec(`do $$ begin perform set_config('oxbow.origin', 'import', true);
		insert into oxbow.memories (user_id, memory_type, id, content)
		values ('小明', 'trait', '0198c2f6-7f0e-7bb2-9a52-0d7a51e9f5c1', 'Rows at dawn'); end $$`)
	d.ok("forget", "小明", id)
	for args, want := range map[string]string{
		id + " --days 0":                       "expected a whole number from 1 to 36500",
		id + " --now soon":                     "expected a day",
		id:                                     "is forgotten and has no weight until it is restored",
		"0198c2f6-7f0e-7bb2-9a52-0d7a51e9f5c1": "is a trait, which has a confidence instead: run oxbow trait 0198c2f6",
		uuid.NewString():                       "no such memory",
		"7":                                    "invalid memory id",
	} {
		r := d.run(append([]string{"weight"}, strings.Fields(args)...)...)
		require.NotZero(t, r.code, args)
		require.Contains(t, r.err, want)
	}
}

func TestFalls(t *testing.T) {
	t.Parallel()
	u := &user{zone: time.UTC}
	at := func(days int, below bool) store.WeightCrossing {
		return store.WeightCrossing{At: time.Date(2025, 1, 1+days, 0, 0, 0, 0, time.UTC), Days: days, Below: below}
	}
	for want, crossings := range map[string][]store.WeightCrossing{
		"not within 100 years":    {at(0, false)},
		"now":                     {at(0, true)},
		"2025-01-02, in 1 day":    {at(0, false), at(1, true)},
		"2025-04-11, in 100 days": {at(0, false), at(100, true), at(200, false)},
		"now until 2025-01-11, again 2025-01-21, in 20 days": {at(0, true), at(10, false), at(20, true)},
		"now until 2025-01-11, not again within 100 years":   {at(0, true), at(10, false)},
	} {
		require.Equal(t, want, u.falls(crossings))
	}
}

func TestPlot(t *testing.T) {
	t.Parallel()
	u := &user{zone: time.UTC}
	begin := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, w := range [][2]float64{{1.5, 0.2}, {3, 3}, {0.001, 0}, {0.03, 0.02}, {1, 1}} {
		var curve []point
		for i := range plotWidth {
			share := float64(i) / (plotWidth - 1)
			curve = append(curve, point{begin.Add(time.Duration(share * float64(99*24*time.Hour))),
				w[0] + (w[1]-w[0])*share})
		}
		out := u.plot(curve)
		lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
		require.Len(t, lines, plotHeight+2)
		require.Equal(t, plotWidth, strings.Count(out, "*"))
		require.Regexp(t, `2025-01-01 +2025-02-19 +2025-04-10$`, lines[len(lines)-1])
		for _, line := range lines {
			require.LessOrEqual(t, len(line), 80)
			require.NotRegexp(t, `[^ -~]`, line, "plain characters")
		}
	}
}
