package bench

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/internal/programtest"
)

// A small run on a PostgreSQL of its own prints, reports and writes the same numbers, whatever else fails.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	o := Defaults()
	o.server, o.parent = map[string]string{"shared_buffers": "128MB"}, pgtest.Dir(t)
	o.Only, o.Inserts, o.Out = []string{"latency", "import"}, 2, &out
	o.Program, o.ImportFile = programtest.Oxbow(t), "/nowhere/a.jsonl"
	var after []int
	o.After = func(r Report) error { after = append(after, len(r.Sections)); return nil }
	report, err := Run(t.Context(), o)
	require.ErrorContains(t, err, "import: ")
	require.ErrorContains(t, err, o.ImportFile)
	require.Equal(t, []int{1, 2}, after)
	require.Len(t, report.Sections, 2)
	require.Empty(t, report.Sections[0].Error)
	require.Contains(t, report.Sections[1].Error, o.ImportFile)
	table := report.Sections[0].Tables[0]
	require.Len(t, table.Rows, 2)
	require.NotEmpty(t, report.Machine.PostgreSQL)
	require.Subset(t, report.Machine.Settings, []string{"autovacuum = on", "fsync = on", "synchronous_commit = on", "random_page_cost = 1.1"})
	require.NotContains(t, report.Machine.String(), "log_", "only what has to do with how fast it is")
	text, err := json.Marshal(report)
	require.NoError(t, err)
	var read struct {
		Sections []struct{ Tables []struct{ Rows [][]any } }
	}
	require.NoError(t, json.Unmarshal(text, &read))
	p50, isNumber := read.Sections[0].Tables[0].Rows[0][1].(float64)
	require.True(t, isNumber)
	require.Positive(t, p50)
	require.Contains(t, out.String(), string(table.Rows[0][1]))
	require.Contains(t, report.Page(""), "| with LISTEN | "+string(table.Rows[0][1])+" |")
}

// What cannot be measured is told before anything is started.
func TestCheck(t *testing.T) {
	require.NoError(t, Defaults().Check())
	for says, spoil := range map[string]func(*Options){
		`there is no section "speed": there are insert, recall, `: func(o *Options) { o.Only = []string{"latency", "speed"} },
		"rounds: 0 is given, at least 1 can be measured":          func(o *Options) { o.Rounds = 0 },
		"databases: -1 is given, at least 1000 can be measured":   func(o *Options) { o.Databases = []int{10_000, -1} },
		"imported: no number is given":                            func(o *Options) { o.Imported = nil },
		"memories: 27999 is given, at least 28000 ":               func(o *Options) { o.Memories = 27_999 },
		"round: 0s is given, at least 1ms ":                       func(o *Options) { o.Round = 0 },
		"soak: -1m0s is given, at least 9s ":                      func(o *Options) { o.Soak = -time.Minute },
		"soak: 1s is given, at least 9s ":                         func(o *Options) { o.Soak = time.Second },
		"soak-rate: NaN is given, more than 0 ":                   func(o *Options) { o.SoakRate = math.NaN() },
		"soak-rate: +Inf is given, more than 0 ":                  func(o *Options) { o.SoakRate = math.Inf(1) },
	} {
		o := Defaults()
		spoil(&o)
		_, err := Run(t.Context(), o)
		require.ErrorContains(t, err, says)
	}
}

// A database grows in place, and what is measured in it is complete: each size of it has its rows and columns.
func TestScaleAndGrowth(t *testing.T) {
	o := small(t)
	o.Only, o.Databases, o.Questions, o.Growers = []string{"scale", "growth"}, []int{1_200, 3_000}, 6, 1
	report, err := Run(t.Context(), o)
	require.NoError(t, err)
	require.Len(t, report.Sections, 2)

	scale := report.Sections[0].Tables
	require.Len(t, scale, 3)
	for _, table := range scale {
		require.Len(t, table.Rows, 2, table.Title)
		for i, total := range []Cell{"1200", "3000"} {
			require.Equal(t, []Cell{total, "100"}, table.Rows[i][:2], table.Title)
			require.Len(t, table.Rows[i], len(table.Columns), table.Title)
			require.NotContains(t, table.Rows[i], Cell("0.00"), table.Title)
		}
	}
	require.Equal(t, Cell("1.000"), scale[1].Rows[0][2], "without an index nothing is missed")

	require.Len(t, report.Sections[1].Tables, 2)
	grown, pages := report.Sections[1].Tables[0], report.Sections[1].Tables[1]
	require.Equal(t, []string{"what", "of 1200", "of 3000", "exponent", "promised"}, grown.Columns)
	var steps []string
	for _, row := range grown.Rows {
		steps = append(steps, string(row[0]))
		require.Len(t, row, len(grown.Columns))
		for _, cell := range row[1:3] {
			took, err := strconv.ParseFloat(string(cell), 64)
			require.NoError(t, err)
			require.Positive(t, took, row[0])
		}
	}
	require.Greater(t, len(pages.Rows), 10)
	for _, row := range pages.Rows {
		require.NotContains(t, row[1:3], Cell("0"), row[0])
	}
	for _, kind := range []string{"embed", "check_trigger", "reflect", "extract", "summarize", "contradiction_review", "expire_trend", "sweep", "settle", "sensory", "recall"} {
		require.True(t, slices.ContainsFunc(steps, func(step string) bool { return strings.HasPrefix(step, kind) }), "%s is not in %v", kind, steps)
	}
}

func TestExponent(t *testing.T) {
	g := newGrowth()
	g.totals = []int{1_000, 10_000, 100_000}
	for i, total := range g.totals {
		g.took(reference, total, []time.Duration{1000, 3000, 2000}[i]*time.Millisecond) // a machine that is now slower, now faster
		g.took("flat", total, []time.Duration{500, 1500, 1000}[i]*time.Millisecond)
		g.took("linear", total, []time.Duration{700, 21_000, 140_000}[i]*time.Millisecond)
		g.took("linear", total, time.Hour)
		g.took("little", total, []time.Duration{300, 200, 900}[i]*time.Microsecond)
	}
	for i, total := range g.totals {
		g.touched("linear", total, []int{120, 1_200, 12_000}[i])
	}
	require.InDelta(t, 0, g.exponent(g.times["flat"], g.times[reference]), 1e-9)
	require.InDelta(t, 1, g.exponent(g.times["linear"], g.times[reference]), 1e-9, "the fastest counts")
	tables := g.tables(2)
	require.Equal(t, []Cell{"0.00", "≤ 0.1 reached"}, tables[0].Rows[1][4:])
	require.Equal(t, []Cell{"1.00", "≤ 0.1 missed"}, tables[0].Rows[2][4:])
	require.Equal(t, []Cell{"below 1 ms", "≤ 0.1 reached"}, tables[0].Rows[3][4:], "it has not the slope of the reference")
	require.Equal(t, [][]Cell{{"linear", "120", "1200", "12000", "1.00", "≤ 0.1 missed"}}, tables[1].Rows)
}

// A page keeps what a run has not measured, in the order of the sections.
func TestPage(t *testing.T) {
	r := Report{Seed: 3, Sections: []Section{{Name: "hnsw", Error: "it broke off"}, {Name: "recall", Seconds: 75, Began: time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC), LoadBefore: "0.1", LoadAfter: "1.2",
		Tables: []Table{{Title: "Recall", Columns: []string{"a", "b"}, Rows: [][]Cell{{"x|y", "1.5"}}}}}}}
	page := r.Page("# Mine\n\nText.\n\n## latency\n\nold latency\n\n## recall\n\nold recall\n")
	require.True(t, strings.HasPrefix(page, "# Mine\n\nText.\n\n## recall\n\nMeasured on 2026-03-04 with seed 3, in 1m15s: "))
	require.True(t, strings.HasSuffix(page, "\n\n## latency\n\nold latency\n"))
	require.Contains(t, page, "\n| a | b |\n|---|---|\n| x\\|y | 1.5 |\n")
	require.NotContains(t, page, "old recall")
	require.NotContains(t, page, "hnsw", "a section that failed is not written")
	require.Equal(t, page, r.Page(page), "written again, it is the same")
}

func TestMissed(t *testing.T) {
	r := Report{Sections: []Section{{Name: "insert", Tables: []Table{{Columns: []string{"", "promised"}, Rows: [][]Cell{{"COPY", "≥ 0.80 missed"}, {"rows", "≥ 0.50 reached"}}}}}}}
	require.Equal(t, []string{"insert: COPY"}, r.Missed())
}
