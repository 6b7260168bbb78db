// Evalpredict measures predictions against what people did.
//
//	go -C lab run ./evalpredict [-zone NAME] [-days N] [-every N] [-policies NAME=VALUE,…] [-try NAME=VALUE,…] RECORDS
//
// RECORDS is a file for oxbow eval, of which only the memories are used. Each speaker of a conversation is a person. It
// records the topics of their memories by the rules, and predicts each period of N days in the last 40 % of each
// person's records from the time before it. It prints the Brier score (the mean squared error of the probabilities) of
// the predictions, of the base rate that comes with them, and of the plain share of past periods; and how often what
// was predicted with a probability happened. With -try, the value for each person is the one with the best score of all
// other people, so that no value is measured on those it was chosen by.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reasoner/rules"
	"github.com/oxbow-memory/oxbow/lab/must"
	"github.com/oxbow-memory/oxbow/migrations"
	"github.com/oxbow-memory/oxbow/store"
)

func main() {
	must.Main("evalpredict", func(ctx context.Context) { command(ctx, os.Stdout) })
}

// memory is a line of the records.
type memory struct {
	Type, User, Session, Speaker, Content string
	At                                    time.Time
}

func command(ctx context.Context, out io.Writer) {
	zone := flag.String("zone", "UTC", "time zone of the people")
	days := flag.Int("days", 1, "length of a period")
	every := flag.Int("every", 1, "predict only every Nth period")
	policies := flag.String("policies", "", "policies to try: NAME=VALUE,…")
	try := flag.String("try", "", "values of a policy, one of which all others choose for each person: NAME=VALUE,…")
	flag.Parse()
	if flag.NArg() != 1 {
		must.OK(errors.New("name a file: RECORDS"))
	}
	location := must.Get(time.LoadLocation(*zone))
	dsn := must.Get(pgtest.Create(ctx))
	defer func() { must.OK(pgtest.Drop(context.WithoutCancel(ctx), dsn)) }()
	must.OK(migrations.Up(ctx, dsn, migrations.Options{}))
	pool := must.Get(pgxpool.New(ctx, dsn))
	defer pool.Close()

	for _, p := range strings.FieldsFunc(*policies, func(r rune) bool { return r == ',' }) {
		name, value, _ := strings.Cut(p, "=")
		must.Get(pool.Exec(ctx, "select oxbow.set_policy($1, $2::text::double precision)", name, value))
	}

	people := read(flag.Arg(0))
	names := slices.Sorted(maps.Keys(people))
	did := map[string]map[string]map[time.Time]bool{}
	for _, person := range names {
		must.Get(pool.Exec(ctx, "insert into oxbow.users (user_id, timezone) values ($1, $2)", person, *zone))
		did[person] = remember(ctx, pool, person, people[person], location)
	}
	measure := func() []score {
		scores := make([]score, len(names))
		for i, person := range names {
			scores[i].person(ctx, pool, person, did[person], span(people[person], location), *days, *every)
		}
		return scores
	}
	name, values, several := strings.Cut(*try, "=")
	if !several {
		total := sum(measure())
		total.print(out)
		return
	}
	var tried [][]score
	for value := range strings.SplitSeq(values, ",") {
		must.Get(pool.Exec(ctx, "select oxbow.set_policy($1, $2::text::double precision)", name, value))
		scores := measure()
		tried = append(tried, scores)
		total := sum(scores)
		fmt.Fprintf(out, "%s = %s: Brier score %.5f\n", name, value, total.predicted/float64(max(total.n, 1)))
	}
	fmt.Fprintf(out, "\nchosen for each person by the others:\n")
	chosen := sum(heldOut(tried))
	chosen.print(out)
}

// heldOut returns the score of each person with the value that is best for all others together.
func heldOut(tried [][]score) (scores []score) {
	for i := range tried[0] {
		others := func(all []score) float64 { return sum(all).predicted - all[i].predicted }
		best := slices.MinFunc(tried, func(a, b []score) int { return cmp.Compare(others(a), others(b)) })
		scores = append(scores, best[i])
	}
	return scores
}

// read returns the memories of each person.
func read(name string) map[string][]memory {
	file := must.Get(os.ReadFile(name))
	var r io.Reader = bytes.NewReader(file)
	if strings.HasSuffix(name, ".gz") {
		r = must.Get(gzip.NewReader(r))
	}
	people := map[string][]memory{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var m memory
		must.OK(json.Unmarshal(lines.Bytes(), &m))
		if m.Type == "memory" {
			person := strings.TrimSuffix(m.User+" "+m.Speaker, " ")
			people[person] = append(people[person], m)
		}
	}
	must.OK(lines.Err())
	return people
}

// span returns the first and the last day of memories, as midnights.
func span(memories []memory, location *time.Location) [2]time.Time {
	first, last := memories[0].At, memories[0].At
	for _, m := range memories {
		if m.At.Before(first) {
			first = m.At
		}
		if m.At.After(last) {
			last = m.At
		}
	}
	return [2]time.Time{midnight(first.In(location)), midnight(last.In(location))}
}

func midnight(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, t.Location())
}

// remember stores memories with their topics, and returns the days on which each topic came up.
func remember(ctx context.Context, pool *pgxpool.Pool, person string, memories []memory,
	location *time.Location) map[string]map[time.Time]bool {
	rows := make([][]any, len(memories))
	shown := make([]reasoner.Memory, len(memories))
	at, ids := map[uuid.UUID]time.Time{}, make([]uuid.UUID, len(memories))
	for i, m := range memories {
		ids[i] = uuid.New()
		at[ids[i]] = midnight(m.At.In(location))
		rows[i] = []any{person, "episodic", ids[i], m.Content, m.At, m.Session}
		shown[i] = reasoner.Memory{ID: ids[i], Type: "episodic", Content: m.Content, Time: m.At.In(location),
			Session: m.Session}
	}
	must.Get(pool.CopyFrom(ctx, pgx.Identifier{"oxbow", "memories"},
		[]string{"user_id", "memory_type", "id", "content", "valid_at", "session_id"}, pgx.CopyFromRows(rows)))
	days := map[string]map[time.Time]bool{}
	r := rules.New()
	const batch = 500
	for i := 0; i < len(shown); i += batch {
		part := shown[i:min(i+batch, len(shown))]
		topics := r.Topics(part)
		must.Get(store.NoteFragments(ctx, pool, person, topics, ids[i:i+len(part)]))
		for _, t := range topics {
			if !t.Denies {
				if days[t.Key] == nil {
					days[t.Key] = map[time.Time]bool{}
				}
				days[t.Key][at[t.Memory]] = true
			}
		}
	}
	return days
}

// score sums squared errors.
type score struct {
	n, people, gained           int
	predicted, base, plain, won float64
	bins                        [10]struct {
		n           int
		p, happened float64
	}
}

func (s *score) person(ctx context.Context, pool *pgxpool.Pool, person string, days map[string]map[time.Time]bool,
	span [2]time.Time, length, every int) {
	total := int(span[1].Sub(span[0]).Hours()/24+0.5) + 1
	before := s.n
	for d := total * 6 / 10; d+length <= total; d += length * every {
		from := span[0].AddDate(0, 0, d)
		until := from.AddDate(0, 0, length)
		for _, p := range must.Get(store.Predict(ctx, pool, person, from, until, 1000)) {
			if p.Kind != "activity" {
				continue
			}
			happened, past, periods := 0.0, 0.0, 0.0
			if within(days[p.Topic], from, until) {
				happened = 1
			}
			for b := from; b.AddDate(0, 0, -length).After(span[0]); b = b.AddDate(0, 0, -length) {
				periods++
				if within(days[p.Topic], b.AddDate(0, 0, -length), b) {
					past++
				}
			}
			s.add(p, happened, past/max(periods, 1))
		}
	}
	if s.n > before {
		s.people++
	}
	if s.predicted < s.base {
		s.gained++
	}
}

// sum returns the score of all people.
func sum(scores []score) (total score) {
	for _, s := range scores {
		total.n, total.people, total.gained = total.n+s.n, total.people+s.people, total.gained+s.gained
		total.predicted, total.base = total.predicted+s.predicted, total.base+s.base
		total.plain, total.won = total.plain+s.plain, total.won+s.won
		for i, b := range s.bins {
			t := &total.bins[i]
			t.n, t.p, t.happened = t.n+b.n, t.p+b.p, t.happened+b.happened
		}
	}
	return total
}

func within(days map[time.Time]bool, from, until time.Time) bool {
	for d := from; d.Before(until); d = d.AddDate(0, 0, 1) {
		if days[d] {
			return true
		}
	}
	return false
}

func (s *score) add(p store.Prediction, happened, plain float64) {
	square := func(x float64) float64 { return x * x }
	s.n++
	s.predicted += square(p.Probability - happened)
	s.base += square(p.BaseRate - happened)
	s.plain += square(plain - happened)
	s.won += happened
	b := &s.bins[min(int(p.Probability*10), 9)]
	b.n++
	b.p += p.Probability
	b.happened += happened
}

func (s *score) print(out io.Writer) {
	n := float64(max(s.n, 1))
	t := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintf(t, "people\t%d\nbetter than the base rate for\t%d\npredictions\t%d\nhappened\t%.4f\n\n", s.people,
		s.gained, s.n, s.won/n)
	fmt.Fprintf(t, "Brier score\t\tbetter than the plain share by\n")
	for _, row := range []struct {
		name string
		sum  float64
	}{{"predictions", s.predicted}, {"base rate", s.base}, {"plain share of past periods", s.plain}} {
		fmt.Fprintf(t, "%s\t%.5f\t%.1f %%\n", row.name, row.sum/n, 100*(1-row.sum/max(s.plain, 1e-12)))
	}
	fmt.Fprintf(t, "\npredicted\thappened\tnumber\n")
	for _, b := range s.bins {
		if b.n > 0 {
			fmt.Fprintf(t, "%.3f\t%.3f\t%d\n", b.p/float64(b.n), b.happened/float64(b.n), b.n)
		}
	}
	must.OK(t.Flush())
}
