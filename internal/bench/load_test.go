package bench

import (
	"bytes"
	"context"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/internal/programtest"
)

// rows returns a section's table whose title begins so, complete, as text by the first column.
func rows(t *testing.T, r Report, section, title string) map[string][]string {
	t.Helper()
	for _, s := range r.Sections {
		for _, table := range s.Tables {
			if s.Name != section || !strings.HasPrefix(table.Title, title) {
				continue
			}
			found := map[string][]string{}
			for _, row := range table.Rows {
				require.Len(t, row, len(table.Columns), table.Title)
				for _, c := range row {
					found[string(row[0])] = append(found[string(row[0])], string(c))
				}
			}
			return found
		}
	}
	t.Fatalf("%s has no table %q", section, title)
	return nil
}

// small are the defaults, on a PostgreSQL that need not survive and has little memory.
func small(t *testing.T) Options {
	t.Helper()
	o := Defaults()
	o.server, o.parent = map[string]string{"fsync": "off", "full_page_writes": "off", "shared_buffers": "128MB"}, pgtest.Dir(t)
	return o
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(text, 64)
	require.NoError(t, err)
	return n
}

// What runs workers of its own, in small.
func TestRunLoad(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	o := small(t)
	o.Program, o.Out = programtest.Oxbow(t), &out
	o.Only = []string{"import", "pipeline", "queue"}
	o.Rounds, o.Imported, o.Pipelined, o.Jobs, o.Churn, o.Round = 1, []int{300, 200}, 150, 100, 100, 50*time.Millisecond
	report, err := Run(t.Context(), o)
	require.NoError(t, err)
	require.Len(t, report.Sections, 3)

	imported := rows(t, report, "import", "Import, seconds")
	require.Equal(t, "≤ 20 for 31,439", imported["300"][4], "no verdict about another size")
	require.Positive(t, number(t, imported["200"][2]))
	memory := rows(t, report, "import", "Memory during the import")
	require.Len(t, memory, 2)
	if runtime.GOOS == "linux" {
		require.Greater(t, number(t, memory["oxbow work"][2]), 10.0)
		require.Equal(t, []string{"oxbow work", "200"}, memory["oxbow work"][4:6])
		require.Equal(t, "< 200 for 1,000,000", memory["oxbow work"][7])
	}

	for title, ways := range map[string]int{"Memories embedded a second, 150 that wait in jobs of 128": 5, "Memories embedded a second, 75 that wait in jobs of 20": 4, "Memories embedded a second, 15 that wait in jobs of 1:": 4} {
		embedded := rows(t, report, "pipeline", title)
		require.Len(t, embedded, ways)
		for _, row := range embedded {
			require.Positive(t, number(t, row[1]), row)
		}
	}
	for _, row := range rows(t, report, "pipeline", "From COMMIT to embedded under load") {
		require.GreaterOrEqual(t, number(t, row[2]), float64(probers))
		require.LessOrEqual(t, number(t, row[3]), number(t, row[4]))
		require.GreaterOrEqual(t, number(t, row[6]), 0.0)
	}

	worked := rows(t, report, "queue", "Jobs a second")
	require.Len(t, worked, 3)
	require.Positive(t, number(t, worked["no-op, many workers"][4]), "River's")
	left := rows(t, report, "queue", "What jobs leave")
	require.Len(t, left, 5)
	require.Equal(t, "110", left["after a tenth more"][1])
}

// A short soak has all its rows. It is a longer one where the machine comes to little in seconds.
func TestSoak(t *testing.T) {
	t.Parallel()
	o := small(t)
	o.Program, o.Only, o.SoakRate = programtest.Oxbow(t), []string{"soak"}, 40
	var missing []string
	for _, o.Soak = range []time.Duration{leastSoak, 10 * leastSoak, 30 * leastSoak} {
		report, err := Run(t.Context(), o)
		require.NoError(t, err)
		if missing = notMeasured(t, report); len(missing) == 0 {
			break
		}
	}
	require.Empty(t, missing)
}

// notMeasured are the rows of a soak that tell nothing.
func notMeasured(t *testing.T, report Report) (missing []string) {
	t.Helper()
	expect := func(rows map[string][]string, column int, names ...string) {
		for _, name := range names {
			require.Contains(t, rows, name)
			if n, err := strconv.ParseFloat(rows[name][column], 64); err != nil || n <= 0 {
				missing = append(missing, name)
			}
		}
	}
	expect(rows(t, report, "soak", "Load for"), 1, "memory inserted", "message", "recall", "user erased", "uses reported", "fact superseded")
	seen := rows(t, report, "soak", "From third to third")
	require.Len(t, seen, len(watched))
	expect(seen, 3, "worker: goroutines", "worker: connections", "recall p50, ms")
	asked := rows(t, report, "soak", "Recalls under this load")
	const reference = "reference: a computation"
	require.Contains(t, asked, reference)
	if n := number(t, asked[reference][1]); n == 0 || number(t, asked["recall"][1]) <= 2*n { // three recalls to a computation
		missing = append(missing, reference)
	} else {
		require.Positive(t, number(t, asked[reference][2]), "it does take something")
	}
	if len(rows(t, report, "soak", "Dead rows")) == 0 {
		missing = append(missing, "dead rows")
	}
	return missing
}

type writerFunc func([]byte)

func (f writerFunc) Write(p []byte) (int, error) {
	f(p)
	return len(p), nil
}

// A soak that is interrupted prints what it saw, and leaves nothing running.
func TestInterruptedSoak(t *testing.T) {
	t.Parallel()
	o := small(t)
	o.Program, o.Only = programtest.Oxbow(t), []string{"soak"}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Notes = writerFunc(func(note []byte) {
		if strings.Contains(string(note), "the load begins") {
			time.AfterFunc(12*time.Second, cancel)
		}
	})
	report, err := Run(ctx, o)
	require.NoError(t, err)
	require.Positive(t, number(t, rows(t, report, "soak", "Load for")["recall"][1]))
	require.Len(t, rows(t, report, "soak", "From third to third"), len(watched))
}

func TestSoakIsAskedFor(t *testing.T) {
	names := func(o Options) (names []string) {
		for _, s := range o.sections() {
			names = append(names, s.name)
		}
		return names
	}
	require.NotContains(t, names(Options{}), "soak")
	require.Contains(t, names(Options{Soak: time.Minute}), "soak")
	require.Equal(t, []string{"soak"}, names(Options{Only: []string{"soak"}}))
	require.Equal(t, []string{"queue"}, names(Options{Only: []string{"queue"}, Soak: time.Minute}))
}

func TestSlope(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var samples []sample
	for i := range 5 {
		samples = append(samples, sample{at: start.Add(time.Duration(i) * time.Minute), numbers: map[string]float64{"x": 100 + float64(i)}})
	}
	of := func(s sample) (float64, bool) { v, ok := s.numbers["x"]; return v, ok }
	require.InDelta(t, 60, slope(samples, of), 1e-9)
	require.Zero(t, slope(samples[:1], of))
}

// A soak that was interrupted at once has thirds without a sample.
func TestDeadRowsOfFewSamples(t *testing.T) {
	one := sample{tables: map[string]tableSample{"messages": {live: 10, dead: 60, due: 52, mib: 1}}}
	for n := range 4 {
		samples := slices.Repeat([]sample{one}, n)
		out := deadTable([3][]sample{samples[:n/3], samples[n/3 : 2*n/3], samples[2*n/3:]})
		require.Len(t, out.Rows, min(2*n, 2))
		if n > 0 {
			require.Contains(t, string(out.Rows[0][len(out.Rows[0])-1]), "missed", "autovacuum has never been there")
		}
	}
	after := func(dead ...float64) string { // of which the last third has the last two
		var samples []sample
		for _, n := range dead {
			samples = append(samples, sample{tables: map[string]tableSample{"messages": {live: 10, dead: n, due: 52, mib: 1}}})
		}
		out := deadTable([3][]sample{samples[:2], samples[2:4], samples[4:]})
		return string(out.Rows[0][len(out.Rows[0])-1])
	}
	require.Contains(t, after(40, 200, 30, 180, 40, 220), "reached")
	require.Contains(t, after(40, 200, 30, 180, 40, 500), "missed", "autovacuum was there, and more came than ever before")
	require.Contains(t, after(40, 200, 30, 180, 60, 70), "missed", "it was not there any more")
}

// What has no value in a third has no verdict.
func TestNothingIsPromisedOfNothing(t *testing.T) {
	s := &soak{bench: &bench{Options: Options{Out: io.Discard}, report: &Report{Sections: []Section{{}}}}}
	s.samples = []sample{{numbers: map[string]float64{"worker: goroutines": 60, "recall p50, ms": 5}, tables: map[string]tableSample{}}}
	s.tables(time.Second)
	require.Empty(t, s.report.Missed())
	s.samples = slices.Repeat(s.samples, 3)
	s.samples[2] = sample{numbers: map[string]float64{"worker: goroutines": 80}, tables: map[string]tableSample{}}
	s.tables(time.Second)
	require.Len(t, s.report.Missed(), 1)
}

func TestReadMetrics(t *testing.T) {
	found := readMetrics(strings.NewReader("# HELP go_goroutines Number\ngo_goroutines 67\nprocess_resident_memory_bytes 4.5e+07\noxbow_jobs_total{kind=\"embed\"} 3\n"))
	require.Equal(t, 67.0, found["go_goroutines"])
	require.Equal(t, 4.5e7, found["process_resident_memory_bytes"])
}

// A worker that ends by itself is told of, with what it said last.
func TestProcessEnds(t *testing.T) {
	t.Parallel()
	b := &bench{Options: Options{Program: programtest.Oxbow(t)}}
	p, err := b.oxbow(t.Context(), "postgres://127.0.0.1:1/nowhere", "work")
	require.NoError(t, err)
	<-p.ended
	require.ErrorContains(t, p.stop(), "oxbow work has ended by itself: oxbow: no PostgreSQL answers")
	require.ErrorContains(t, p.wait(t.Context()), "no PostgreSQL answers")
}
