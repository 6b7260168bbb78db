package bench

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// channels are timed beside the whole. The types are those that the users have something of, as recall finds out for itself.
var channels = []part{
	recallParts[1], // text
	recallParts[2], // vector
	{"recall_entities", "select * from oxbow.recall_entities($1, $2, " + ownTypes + ", null, null, 70)",
		func(q asked) []any { return []any{q.user, q.query} }},
	{"words alone", "select * from oxbow.recall($1, $2)", func(q asked) []any { return []any{q.user, q.query} }},
}

// scaling is what recall takes in ever larger databases.
type scaling struct {
	times, found, restarted, atOnce Table
	first                           map[int]float64 // pages in the smallest database, by the user's memories
}

// recallAtScale measures recall for users of all sizes in databases of all sizes, and, where jobs are to be measured too, those.
func (b *bench) recallAtScale(ctx context.Context) error {
	s := &scaling{first: map[int]float64{}}
	s.times.add("database", "user's memories", "questions", "p50", "p95", "p99", "pages", "bare vector query", "text", "vector", "entity", "words alone", "recall/bare", "pages, times the smallest", "promised")
	s.found.add("database", "user's memories", "vector channel's 10 of the exact 10", "recall's 10 of those with 1,060 candidates a channel")
	s.restarted.add("database", "user's memories", "users", "bare vector query", "recall", "slowest", "the next question")
	s.atOnce.add("database", "clients", "a second", "p50", "p95", fmt.Sprintf("p99, median of %d passes", passes), "p99/p50", "promised")
	visits := []func(context.Context, *scaled) error{s.measure}
	if b.measures("growth") {
		b.grown = newGrowth()
		visits = append(visits, b.grown.measure)
	}
	var cold bool
	visits = append(visits, func(ctx context.Context, base *scaled) (err error) {
		cold, err = s.restart(ctx, base)
		return err
	})
	failed := b.atScales(ctx, visits...)
	s.times.Title = "Recall by users of all sizes in databases of all sizes, without an index of vectors, milliseconds, in turns; bare query and channels: medians; " +
		"pages of 8 kB touched, wherever they are, compared with the smallest database"
	s.found.Title = "What recall finds of what there is, without an index of vectors, mean share"
	s.restarted.Title = "Right after a restart of PostgreSQL, without an index of vectors, "
	if cold {
		s.restarted.Title += "its files dropped from the system's cache, "
	} else {
		s.restarted.Title += "its files still in the system's cache, "
	}
	s.restarted.Title += "milliseconds, medians of the first question of each user; the bare query after a restart of its own"
	s.atOnce.Title = fmt.Sprintf("Users of %d memories asked about by clients at once, without an index of vectors, milliseconds, %d questions each", newcomerHistory, asksUnderLoad)
	tables := []Table{s.times, s.found, s.restarted, s.atOnce}
	if failed != nil && b.grown != nil { // it is not all: the section growth measures for itself, if it comes
		tables = append(tables, b.grown.tables(b.Growers)...)
		b.grown = nil
	}
	for _, t := range tables {
		if len(t.Rows) > 0 {
			b.show(t)
		}
	}
	return failed
}

// bySize returns the questions to the users of each size, those of one user after the other's in turn.
func (s *scaled) bySize() (sizes []int, questions map[int][]asked) {
	questions = map[int][]asked{}
	for _, size := range knownSizes {
		users := slices.DeleteFunc(slices.Clone(s.known), func(k known) bool { return k.memories != size.memories })
		if len(users) == 0 {
			continue
		}
		sizes = append(sizes, size.memories)
		n := s.Questions
		if size.memories <= 1_000 {
			n *= 4 // enough for a 99th percentile
		} else if size.memories > 10_000 {
			n = (n + 2) / 3
		}
		for i := range n {
			of := users[i%len(users)].questions
			questions[size.memories] = append(questions[size.memories], of[i/len(users)%len(of)])
		}
	}
	return sizes, questions
}

// measure asks about the users who came with the last growth.
func (s *scaling) measure(ctx context.Context, base *scaled) error {
	sizes, questions := base.bySize()
	pool, err := openPool(ctx, base.dsn, 1)
	if err != nil {
		return err
	}
	defer pool.Close()
	for _, size := range sizes {
		times, err := timeParts(ctx, pool, append([]part{bareQuery, wholeRecall}, channels...), questions[size], false)
		if err != nil {
			return err
		}
		recall := times[wholeRecall.name]
		pages, err := pagesOf(ctx, pool, questions[size][:min(len(questions[size]), base.Questions)])
		if err != nil {
			return err
		}
		growth, promise := "", "" // of users who are asked about for the first time there is none
		if first, ok := s.first[size]; ok {
			ratio := median(pages) / first
			growth, promise = fmt.Sprintf("%.2f", ratio), fmt.Sprintf("≤ %d %s", flatGoal, verdict(ratio <= flatGoal))
		} else {
			s.first[size] = median(pages)
		}
		cells := []string{fmt.Sprint(base.total), fmt.Sprint(size), fmt.Sprint(len(recall)), ms(median(recall)), ms(quantile(recall, 0.95)), p99(recall), fmt.Sprintf("%.0f", median(pages)), ms(median(times[bareQuery.name]))}
		for _, c := range channels {
			cells = append(cells, ms(median(times[c.name])))
		}
		s.times.add(append(cells, fmt.Sprintf("%.1f", float64(median(recall))/float64(median(times[bareQuery.name]))), growth, promise)...)
		if err := s.compare(ctx, pool, base, size, questions[size]); err != nil {
			return err
		}
	}
	base.notef("recall was measured among %d memories", base.total)
	if !slices.Contains(sizes, newcomerHistory) {
		return nil
	}
	for _, clients := range []int{1, 4, 16} {
		asked, err := askInPasses(ctx, base.dsn, clients, questions[newcomerHistory])
		if err != nil {
			return err
		}
		s.atOnce.add(append([]string{fmt.Sprint(base.total), fmt.Sprint(clients)}, asked.cells()...)...)
	}
	return nil
}

// compare tells how much of the exact answer is found. The exact ten of the vector channel are the nearest by a scan without an
// index. The whole has no exact answer of its own: it is compared with itself where a channel may bring 1,060 candidates and not 70.
func (s *scaling) compare(ctx context.Context, pool *pgxpool.Pool, base *scaled, size int, questions []asked) error {
	var vector, whole []float64
	for _, q := range questions[:min(len(questions), base.Questions/2+1)] {
		var v, w float64
		if err := pool.QueryRow(ctx, `
			with exact as materialized (
			  select memory_id as id, embedding <=> $2 as distance from oxbow.memory_vectors where user_id = $1 order by 2, 1 limit 10
			), found as (
			  select i.id from oxbow.recall_vector($1, `+ownTypes+`, $2, null, null, 70) r, unnest(r.ids) with ordinality i(id, nth) where i.nth <= 10
			)
			-- of several that are equally far, any will do
			select count(*) filter (where v.embedding <=> $2 <= (select max(distance) from exact))::float8 / (select count(*) from exact)
			  from found f join oxbow.memory_vectors v on v.user_id = $1 and v.memory_id = f.id`, q.user, q.embedding).Scan(&v); err != nil {
			return err
		}
		if err := pool.QueryRow(ctx, `
			with few as (select id from oxbow.recall($1, $2, $3)), many as (select id from oxbow.recall($1, $2, $3, max_results => 1000) limit 10)
			select count(few.id)::float8 / count(*) from many left join few using (id)`, q.user, q.query, q.embedding).Scan(&w); err != nil {
			return err
		}
		vector, whole = append(vector, v), append(whole, w)
	}
	s.found.add(fmt.Sprint(base.total), fmt.Sprint(size), fmt.Sprintf("%.3f", mean(vector)), fmt.Sprintf("%.3f", mean(whole)))
	return nil
}

// pagesOf counts the pages that recall touches, wherever they are: unlike time, it is the same on every machine.
func pagesOf(ctx context.Context, pool *pgxpool.Pool, questions []asked) (pages []float64, err error) {
	for _, q := range questions {
		var plan []struct {
			Plan struct {
				Hit  float64 `json:"Shared Hit Blocks"`
				Read float64 `json:"Shared Read Blocks"`
			}
		}
		if err := pool.QueryRow(ctx, "explain (analyze, buffers, timing off, format json) "+wholeRecall.sql, wholeRecall.args(q)...).Scan(&plan); err != nil {
			return nil, err
		}
		pages = append(pages, plan[0].Plan.Hit+plan[0].Plan.Read)
	}
	return pages, nil
}

func mean(values []float64) (sum float64) {
	for _, v := range values {
		sum += v / float64(len(values))
	}
	return sum
}

// restart asks the first questions after a restart, of one user after the other, so that nobody's memories were read before.
func (s *scaling) restart(ctx context.Context, base *scaled) (cold bool, err error) {
	first := map[string]map[int][]time.Duration{}
	for _, p := range []part{bareQuery, wholeRecall} {
		base.pool.Close()
		if cold, err = base.restartCold(ctx); err != nil {
			return false, err
		}
		if base.pool, err = openPool(ctx, base.dsn, loaders); err != nil {
			return false, err
		}
		pool, err := openPool(ctx, base.dsn, 1)
		if err != nil {
			return false, err
		}
		for nth, name := range []string{p.name, p.name + " next"} {
			first[name] = map[int][]time.Duration{}
			for _, k := range base.known {
				times, err := timeParts(ctx, pool, []part{p}, k.questions[nth:nth+1], true)
				if err != nil {
					pool.Close()
					return false, err
				}
				first[name][k.memories] = append(first[name][k.memories], times[p.name]...)
			}
		}
		pool.Close()
	}
	sizes, _ := base.bySize()
	for _, size := range sizes {
		recall := first[wholeRecall.name][size]
		s.restarted.add(fmt.Sprint(base.total), fmt.Sprint(size), fmt.Sprint(len(recall)), ms(median(first[bareQuery.name][size])), ms(median(recall)), ms(slices.Max(recall)),
			ms(median(first[wholeRecall.name+" next"][size])))
	}
	return cold, nil
}
