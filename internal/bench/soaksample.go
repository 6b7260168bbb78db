package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	sampleTime = 10 * time.Second
	// levelGoal is how much more than the second third the last one may have, of memory, goroutines and connections.
	levelGoal = 1.10
	// steadyGoal is the same of times, which depend on what else the machine does.
	steadyGoal = 1.25
)

// sample is what is seen at a moment; times are of what was done since the last one.
type sample struct {
	at      time.Time
	numbers map[string]float64
	tables  map[string]tableSample
}

type tableSample struct {
	live, dead, due float64 // due: so many dead rows autovacuum waits for
	mib             float64
}

// watched are the numbers of a sample that are told, and how much more of each there may be in the last third: so many times
// as much as in the second, and some more of what is counted.
var watched = []struct {
	name, format string
	goal, more   float64
}{
	{"worker: resident memory, MiB", "%.1f", levelGoal, 0},
	{"worker: heap in use, MiB", "%.1f", 0, 0},
	{"worker: goroutines", "%.0f", levelGoal, 5},
	{connections, "%.0f", levelGoal, 0},
	{"recall p50, ms", "%.2f", steadyGoal, 0},
	{"recall p95, ms", "%.2f", steadyGoal, 0},
	{"from COMMIT to recallable p50, ms", "%.2f", steadyGoal, 0},
	{"jobs that are due", "%.0f", steadyGoal, 20},
	{"users", "%.0f", 0, 0},
	{"database, MiB", "%.1f", 0, 0},
}

const (
	connections = "worker: connections"
	// poolMost is how many its pool may have: it opens them as it needs them, so that they grow to that, and no further.
	poolMost = "worker: connections of the pool, at most"
)

// every is the time between samples: there are nine at least.
func (s *soak) every() time.Duration { return min(sampleTime, s.Soak/9) }

// sampler returns how a sample is taken.
func (s *soak) sampler() func(context.Context) error {
	return func(ctx context.Context) error {
		if err := pause(ctx, s.every()); err != nil {
			return err
		}
		now := sample{at: time.Now(), numbers: map[string]float64{}}
		if err := s.scrape(ctx, now.numbers); err != nil {
			return err
		}
		if err := s.askDatabase(ctx, &now); err != nil {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		millis := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
		if len(s.recalls) > 0 {
			now.numbers["recall p50, ms"], now.numbers["recall p95, ms"] = millis(median(s.recalls)), millis(quantile(s.recalls, 0.95))
		}
		if len(s.lags) > 0 {
			now.numbers["from COMMIT to recallable p50, ms"] = millis(median(s.lags))
		}
		s.recalls, s.lags = nil, nil
		s.samples = append(s.samples, now)
		if len(s.samples)%30 == 0 {
			s.notef("%d samples, the worker has %.0f MiB", len(s.samples), now.numbers[watched[0].name])
		}
		return nil
	}
}

// scrape reads what the worker tells Prometheus.
func (s *soak) scrape(ctx context.Context, numbers map[string]float64) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.metrics+"/metrics", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		if len(s.samples) == 0 {
			return nil // it has just been started
		}
		return err
	}
	defer response.Body.Close()
	found := readMetrics(response.Body)
	for name, of := range map[string]struct {
		metric string
		unit   float64
	}{
		"worker: resident memory, MiB": {"process_resident_memory_bytes", 1 << 20},
		"worker: heap in use, MiB":     {"go_memstats_heap_inuse_bytes", 1 << 20},
		"worker: goroutines":           {"go_goroutines", 1},
		poolMost:                       {"oxbow_pool_max_connections", 1},
	} {
		if value, ok := found[of.metric]; ok {
			numbers[name] = value / of.unit
		}
	}
	return nil
}

// readMetrics reads the metrics that have no labels.
func readMetrics(text io.Reader) map[string]float64 {
	found := map[string]float64{}
	for lines := bufio.NewScanner(text); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if number, err := strconv.ParseFloat(value, 64); err == nil {
			found[name] = number
		}
	}
	return found
}

func (s *soak) askDatabase(ctx context.Context, now *sample) error {
	var connected, due, users, size float64
	if err := s.pool.QueryRow(ctx, `
		select (select count(*) from pg_stat_activity where datname = current_database() and application_name like 'oxbow worker %'),
		       (select count(*) from oxbow.river_job where state = 'available' and scheduled_at <= now()),
		       (select count(*) from (select distinct user_id from oxbow.memories) m),
		       pg_database_size(current_database()) / 1048576.0`).Scan(&connected, &due, &users, &size); err != nil {
		return err
	}
	now.numbers[connections], now.numbers["jobs that are due"], now.numbers["users"], now.numbers["database, MiB"] = connected, due, users, size
	rows, err := s.pool.Query(ctx, `
		select t.relname, t.n_live_tup, t.n_dead_tup,
		       coalesce(o.threshold, current_setting('autovacuum_vacuum_threshold')::float8)
		         + coalesce(o.scale, current_setting('autovacuum_vacuum_scale_factor')::float8) * greatest(c.reltuples, 0),
		       pg_total_relation_size(c.oid) / 1048576.0
		  from pg_stat_user_tables t
		  join pg_class c on c.oid = t.relid
		 cross join lateral (
		   select max(option_value::float8) filter (where option_name = 'autovacuum_vacuum_threshold') as threshold,
		          max(option_value::float8) filter (where option_name = 'autovacuum_vacuum_scale_factor') as scale
		     from pg_options_to_table(c.reloptions)) o
		 where t.schemaname = 'oxbow'`)
	if err != nil {
		return err
	}
	now.tables = map[string]tableSample{}
	var name string
	var t tableSample
	_, err = pgx.ForEachRow(rows, []any{&name, &t.live, &t.dead, &t.due, &t.mib}, func() error {
		now.tables[name] = t
		return nil
	})
	return err
}

// tables tells what became of everything from third to third of the time.
func (s *soak) tables(took time.Duration) {
	s.show(s.doneTable(took))
	s.show(s.recallTable())
	n := len(s.samples)
	thirds := [3][]sample{s.samples[:n/3], s.samples[n/3 : 2*n/3], s.samples[2*n/3:]}
	out := Table{Title: fmt.Sprintf("From third to third of the time, medians of %d samples; the first third fills the database; the slope is that of the rest. Jobs that are done stay for an hour, and so the database grows in it", n)}
	out.add("", "first", "second", "last", "slope an hour", "last/second", "promised")
	for _, w := range watched {
		of := func(x sample) (float64, bool) { v, ok := x.numbers[w.name]; return v, ok }
		first, second, last := median(values(thirds[0], of)), median(values(thirds[1], of)), median(values(thirds[2], of))
		if first+second+last == 0 && w.goal > 0 {
			out.add(w.name, "not measured", "", "", "", "", "")
			continue
		}
		ratio, promise := "", ""
		if second > 0 {
			ratio = fmt.Sprintf("%.2f", last/second)
		}
		if w.goal > 0 && len(values(thirds[1], of)) > 0 && len(values(thirds[2], of)) > 0 {
			promise = promised(w.goal, w.more, second, last)
		}
		if most := median(values(thirds[2], func(x sample) (float64, bool) { v, ok := x.numbers[poolMost]; return v, ok })); w.name == connections && last <= most {
			promise = fmt.Sprintf("≤ %.0f of the pool %s", most, verdict(true))
		}
		out.add(w.name, fmt.Sprintf(w.format, first), fmt.Sprintf(w.format, second), fmt.Sprintf(w.format, last),
			fmt.Sprintf("%+.2f", slope(s.samples[n/3:], of)), ratio, promise)
	}
	s.show(out)
	s.show(deadTable(thirds))
}

// promised tells whether the last third has kept what the second one allowed.
func promised(goal, more, second, last float64) string {
	allowed := fmt.Sprintf("≤ %.2f", goal)
	if more > 0 {
		allowed += fmt.Sprintf(" and %.0f more", more)
	}
	return allowed + " " + verdict(last <= second*goal+more)
}

// deadTable tells of dead rows. Between two visits of autovacuum, a minute at least, they become more than it waits for; that
// they were fewer at some moment of the last third tells that it keeps up, and that they were never many more there than before,
// that they do not grow: a median depends on where the thirds end in their rise and fall.
func deadTable(thirds [3][]sample) Table {
	out := Table{Title: "Dead rows of the tables that ever had as many as autovacuum waits for: the most of each third, and the least of the last"}
	out.add("table", "rows", "first", "second", "last", "least of the last", "autovacuum waits for", "MiB of first", "second", "last", "promised")
	if len(thirds[2]) == 0 {
		return out
	}
	few := 0
	for _, name := range slices.Sorted(maps.Keys(thirds[2][len(thirds[2])-1].tables)) {
		of := func(get func(tableSample) float64) func(sample) (float64, bool) {
			return func(x sample) (float64, bool) { t, ok := x.tables[name]; return get(t), ok }
		}
		dead, mib := of(func(t tableSample) float64 { return t.dead }), of(func(t tableSample) float64 { return t.mib })
		least := slices.Min(values(thirds[2], dead))
		now := thirds[2][len(thirds[2])-1].tables[name]
		if over := of(func(t tableSample) float64 { return t.dead - t.due }); slices.Max(values(slices.Concat(thirds[0], thirds[1], thirds[2]), over)) <= 0 {
			few++
			continue
		}
		cells := []string{name, fmt.Sprintf("%.0f", now.live)}
		for _, third := range thirds {
			cells = append(cells, fmt.Sprintf("%.0f", most(values(third, dead))))
		}
		cells = append(cells, fmt.Sprintf("%.0f", least), fmt.Sprintf("%.0f", now.due))
		for _, third := range thirds {
			cells = append(cells, fmt.Sprintf("%.1f", median(values(third, mib))))
		}
		before, last := most(values(slices.Concat(thirds[0], thirds[1]), dead)), most(values(thirds[2], dead))
		out.add(append(cells, "least ≤ autovacuum's, last ≤ 1.25 of before or autovacuum's "+verdict(least <= now.due && last <= max(before*steadyGoal, now.due)))...)
	}
	out.add(fmt.Sprintf("%d others never had", few), "", "", "", "", "", "", "", "", "", "")
	return out
}

func values(samples []sample, of func(sample) (float64, bool)) []float64 {
	var found []float64
	for _, x := range samples {
		if v, ok := of(x); ok {
			found = append(found, v)
		}
	}
	return found
}

// most is the largest of the numbers; 0 of none.
func most(numbers []float64) float64 {
	if len(numbers) == 0 {
		return 0
	}
	return slices.Max(numbers)
}

// slope is by how much a number grows in an hour, by least squares.
func slope(samples []sample, of func(sample) (float64, bool)) float64 {
	var n, sx, sy, sxx, sxy float64
	for _, s := range samples {
		if y, ok := of(s); ok {
			x := s.at.Sub(samples[0].at).Hours()
			n, sx, sy, sxx, sxy = n+1, sx+x, sy+y, sxx+x*x, sxy+x*y
		}
	}
	if d := n*sxx - sx*sx; d > 0 {
		return (n*sxy - sx*sy) / d
	}
	return 0
}
