package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/oxbow-memory/oxbow/internal/embedding"
	"github.com/oxbow-memory/oxbow/internal/embedding/providers"
	"github.com/oxbow-memory/oxbow/store"
)

const (
	pipelineRounds = 3 // at most
	pipelineUsers  = 20
	// providerRows are the memories of a job at most, and of a call to a provider.
	providerRows = 128
	// remoteModel is what the provider that is asked over HTTP is called in the database.
	remoteModel = "bench"
	// probers wait for a memory each, one after another, while a worker is under load.
	probers = 4
	// pressed is how many rows the statements have that are the load beside them.
	pressed = 20
)

// pipe is a way to give memories their vectors.
type pipe struct {
	name   string
	singly bool // also where jobs are smaller than those of a provider
	run    func(p *pipeline, ctx context.Context, dsn string) (seconds float64, err error)
}

var pipes = []pipe{
	{"bare loop, vectors", true, bare(false)},
	{"bare loop, vectors and terms", true, bare(true)},
	{"worker, local", true, (*pipeline).local},
	{fmt.Sprintf("worker, provider of %d ms, one call at once", providerTime.Milliseconds()), false, remote(1)},
	{fmt.Sprintf("worker, provider of %d ms", providerTime.Milliseconds()), true, remote(0)},
}

// pipeline measures how memories get their vectors.
type pipeline struct {
	*bench
	workers int // of the bare loop: those of the worker
	model   store.EmbeddingModel
	batches []batch
	url     string // of the provider
}

// batch is what a job has, with its vectors.
type batch struct {
	user    string
	ids     []uuid.UUID
	vectors [][]float32
}

// pipelines compares the worker, a process of its own, with a loop that only writes the same vectors. A worker that does not stop
// as it should is an error in the end: what it did before has been measured.
func (b *bench) pipelines(ctx context.Context) (err error) {
	p := &pipeline{bench: b, workers: min(max(runtime.NumCPU(), 2), 4)}
	local, err := providers.Open(providers.Config{})
	if err != nil {
		return err
	}
	p.model = store.EmbeddingModel{Model: local.Model(), Dimension: local.Dimension()}
	vectors, err := local.Embed(ctx, []string{newWriter(b.Seed).text()})
	if err != nil {
		return err
	}
	url, stop, err := startProvider(ctx, vectors[0])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	p.url = url
	var pressedRate float64
	var unclean error
	for _, c := range []struct{ rows, memories int }{
		{providerRows, b.Pipelined}, {pressed, max(b.Pipelined/2, 1)}, {1, max(b.Pipelined/10, 1)},
	} {
		rate, err := p.compare(ctx, local, c.rows, c.memories)
		unclean = errors.Join(unclean, err)
		if rate == 0 {
			return unclean
		}
		if c.rows == pressed { // as the load comes
			pressedRate = rate
		}
	}
	return errors.Join(unclean, p.underLoad(ctx, pressedRate))
}

// compare lets each way embed as many memories, in jobs of so many, and returns how many the local worker embeds a second; 0: it
// was not measured.
func (p *pipeline) compare(ctx context.Context, local embedding.Embedder, rows, memories int) (float64, error) {
	const template = "bench_pipeline"
	if err := p.fill(ctx, template, local, rows, memories); err != nil {
		return 0, err
	}
	ways := slices.DeleteFunc(slices.Clone(pipes), func(w pipe) bool { return rows < providerRows && !w.singly })
	rates := map[string][]float64{}
	var unclean error
	rounds := min(p.Rounds, pipelineRounds)
	for range rounds {
		slices.Reverse(ways)
		for _, way := range ways {
			seconds, err := p.turn(ctx, template, way)
			if err != nil {
				unclean = errors.Join(unclean, fmt.Errorf("%s: %w", way.name, err))
			}
			if seconds == 0 {
				return 0, unclean
			}
			rates[way.name] = append(rates[way.name], float64(memories)/seconds)
		}
	}
	out := Table{Title: fmt.Sprintf("Memories embedded a second, %d that wait in jobs of %d: medians of %d rounds in turns", memories, rows, rounds)}
	out.add("", "a second", "/vectors alone", "/vectors and terms")
	for _, way := range pipes {
		if rate := median(rates[way.name]); rate > 0 {
			out.add(way.name, fmt.Sprintf("%.0f", rate), fmt.Sprintf("%.2f", rate/median(rates[pipes[0].name])), fmt.Sprintf("%.2f", rate/median(rates[pipes[1].name])))
		}
	}
	p.show(out)
	return median(rates[pipes[2].name]), errors.Join(unclean, p.drop(ctx, template))
}

// fill makes the database that each turn begins with, and the vectors of what is in it.
func (p *pipeline) fill(ctx context.Context, name string, local embedding.Embedder, rows, memories int) error {
	dsn, err := p.database(ctx, name)
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	w := newWriter(p.Seed)
	p.batches = nil
	for done := 0; done < memories; done += rows {
		next := batch{user: fmt.Sprintf("user-%d", len(p.batches)%pipelineUsers)}
		texts := make([]string, min(rows, memories-done))
		for i := range texts {
			texts[i], next.ids = w.text(), append(next.ids, uuid.New())
		}
		if _, err := conn.Exec(ctx, `
			insert into oxbow.memories (user_id, memory_type, id, content, session_id)
			select $1, 'episodic', i, c, 's1' from unnest($2::uuid[], $3::text[]) r(i, c)`, next.user, next.ids, texts); err != nil {
			return err
		}
		if next.vectors, err = local.Embed(ctx, texts); err != nil {
			return err
		}
		p.batches = append(p.batches, next)
	}
	_, err = conn.Exec(ctx, "vacuum analyze")
	return err
}

// turn lets a way embed what is in a copy of the database. There may be seconds and an error.
func (p *pipeline) turn(ctx context.Context, template string, way pipe) (seconds float64, err error) {
	const name = "bench_pipeline_turn"
	conn, err := pgx.Connect(ctx, p.server.DSN("postgres"))
	if err != nil {
		return 0, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for _, sql := range []string{"create database " + name + " template " + template, "checkpoint"} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return 0, err
		}
	}
	seconds, err = way.run(p, ctx, p.server.DSN(name))
	return seconds, errors.Join(err, p.drop(ctx, name))
}

// bare is a loop of what the worker must at least do: a statement for the vectors of a job and, with its terms, one more in
// the same transaction.
func bare(terms bool) func(*pipeline, context.Context, string) (float64, error) {
	return func(p *pipeline, ctx context.Context, dsn string) (float64, error) {
		pool, err := openPool(ctx, dsn, int32(p.workers))
		if err != nil {
			return 0, err
		}
		defer pool.Close()
		var next atomic.Int64
		start := time.Now()
		_, err = together(ctx, pool, p.workers, func(conn *pgxpool.Conn, _ int) (done int, err error) {
			for i := next.Add(1) - 1; i < int64(len(p.batches)); i = next.Add(1) - 1 {
				if err := p.write(ctx, conn.Conn(), p.batches[i], terms); err != nil {
					return done, err
				}
				done++
			}
			return done, nil
		})
		if err != nil {
			return 0, err
		}
		return time.Since(start).Seconds(), nil
	}
}

func (p *pipeline) write(ctx context.Context, conn *pgx.Conn, of batch, terms bool) error {
	if !terms {
		_, err := store.WriteVectors(ctx, conn, of.user, p.model, of.ids, of.vectors)
		return err
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := store.WriteVectors(ctx, tx, of.user, p.model, of.ids, of.vectors); err != nil {
			return err
		}
		_, err := store.IndexMemories(ctx, tx, of.user, of.ids)
		return err
	})
}

// local is the worker as it comes.
func (p *pipeline) local(ctx context.Context, dsn string) (float64, error) { return p.worker(ctx, dsn) }

// remote is the worker with a provider over HTTP, which so many jobs ask at once; 0: as many as the default is.
func remote(concurrency int) func(*pipeline, context.Context, string) (float64, error) {
	return func(p *pipeline, ctx context.Context, dsn string) (float64, error) {
		conn, err := pgx.Connect(ctx, dsn)
		if err != nil {
			return 0, err
		}
		defer conn.Close(context.WithoutCancel(ctx))
		if _, err := conn.Exec(ctx, "update oxbow.settings set value = jsonb_set(value, '{model}', to_jsonb('openai:' || $1::text)) where key = 'embedding'", remoteModel); err != nil {
			return 0, err
		}
		return p.worker(ctx, dsn, "--embedding-provider", "openai", "--embedding-model", remoteModel, "--embedding-url", p.url,
			"--embedding-dimension", fmt.Sprint(p.model.Dimension), "--concurrency", fmt.Sprint(concurrency))
	}
}

// worker lets a worker embed everything, and returns the time from the first job that it took to the last that it completed, also
// where the worker does not stop as it should.
func (p *pipeline) worker(ctx context.Context, dsn string, flags ...string) (seconds float64, err error) {
	pool, err := openPool(ctx, dsn, 1)
	if err != nil {
		return 0, err
	}
	defer pool.Close()
	work, err := p.oxbow(ctx, dsn, append([]string{"work"}, flags...)...)
	if err != nil {
		return 0, err
	}
	_, err = waitEmbedded(ctx, pool)
	stopped := work.stop()
	if err != nil {
		return 0, errors.Join(err, stopped)
	}
	err = pool.QueryRow(ctx, "select extract(epoch from max(finalized_at) - min(attempted_at)) from oxbow.river_job where kind = 'embed'").Scan(&seconds)
	return seconds, errors.Join(stopped, err)
}

// underLoad measures from the commit of single memories until they are embedded, while others come at shares of the rate that
// the worker can do.
func (p *pipeline) underLoad(ctx context.Context, rate float64) error {
	out := Table{Title: fmt.Sprintf("From COMMIT to embedded under load, milliseconds: single memories of %d clients, beside statements of %d rows", probers, pressed)}
	out.add(fmt.Sprintf("load, of the rate in jobs of %d", pressed), "rows a second", "memories", "p50", "p95", "p99", "jobs left at the end of the load")
	var unclean error
	for _, share := range []float64{0, 0.25, 0.5, 0.8} {
		times, came, left, err := p.probe(ctx, share*rate)
		unclean = errors.Join(unclean, err)
		if times == nil {
			break
		}
		out.add(fmt.Sprintf("%.0f %%", 100*share), fmt.Sprintf("%.0f", came), fmt.Sprint(len(times)), ms(median(times)), ms(quantile(times, 0.95)), p99(times), fmt.Sprint(left))
	}
	if len(out.Rows) > 0 {
		p.show(out)
	}
	return unclean
}

// probe returns how long memories took, how many others came a second, and how many jobs were left when no more came, also where
// the worker does not stop as it should.
func (p *pipeline) probe(ctx context.Context, rate float64) (times []time.Duration, came float64, left int, err error) {
	const name = "bench_pipeline_load"
	dsn, err := p.database(ctx, name)
	if err != nil {
		return nil, 0, 0, err
	}
	pool, err := openPool(ctx, dsn, probers+1)
	if err != nil {
		return nil, 0, 0, err
	}
	defer pool.Close()
	work, err := p.oxbow(ctx, dsn, "work")
	if err != nil {
		return nil, 0, 0, err
	}
	each := make([][]time.Duration, probers)
	start := time.Now()
	end := start.Add(10 * p.Round)
	_, err = together(ctx, pool, probers+1, func(conn *pgxpool.Conn, client int) (rows int, err error) {
		if client == probers {
			rows, err := p.press(ctx, conn, rate, end)
			came = float64(rows) / time.Since(start).Seconds()
			if err != nil {
				return rows, err
			}
			// also without a load: as long as the probers go on
			if err := pause(ctx, time.Until(end)); err != nil {
				return rows, err
			}
			return rows, conn.QueryRow(ctx, "select count(*) from oxbow.river_job where kind = 'embed' and state in "+statesLeft).Scan(&left)
		}
		each[client], err = p.embedTimes(ctx, conn, client, end)
		return 0, err
	})
	stopped := work.stop()
	if err != nil {
		return nil, 0, 0, errors.Join(err, stopped)
	}
	pool.Close()
	return slices.Concat(each...), came, left, errors.Join(stopped, p.drop(ctx, name))
}

// press inserts so many rows a second, whatever becomes of them.
func (p *pipeline) press(ctx context.Context, conn *pgxpool.Conn, rate float64, end time.Time) (rows int, err error) {
	w := newWriter(p.Seed)
	for start := time.Now(); rate > 0 && time.Now().Before(end); {
		texts := make([]string, pressed)
		for i := range texts {
			texts[i] = w.text()
		}
		if _, err := conn.Exec(ctx, `
			insert into oxbow.memories (user_id, memory_type, content, session_id) select $1, 'episodic', c, 's1' from unnest($2::text[]) c`,
			user(rows/pressed), texts); err != nil {
			return rows, err
		}
		rows += pressed
		due := start.Add(time.Duration(float64(rows) / rate * float64(time.Second)))
		if err := pause(ctx, time.Until(due)); err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// embedTimes inserts memories one after another, and waits for the vector of each.
func (p *pipeline) embedTimes(ctx context.Context, conn *pgxpool.Conn, client int, end time.Time) (times []time.Duration, err error) {
	w, who := newWriter(p.Seed+uint64(client)+1), fmt.Sprintf("prober-%d", client)
	for first := true; first || time.Now().Before(end); first = false {
		if err := pause(ctx, time.Duration(w.IntN(int(100*time.Millisecond)))); err != nil {
			return nil, err
		}
		var id uuid.UUID
		if err := conn.QueryRow(ctx, "insert into oxbow.memories (user_id, memory_type, content) values ($1, 'episodic', $2) returning id", who, w.text()).Scan(&id); err != nil {
			return nil, err
		}
		start := time.Now()
		for embedded := false; !embedded; {
			if err := conn.QueryRow(ctx, "select exists (select from oxbow.memory_vectors where user_id = $1 and memory_type = 'episodic' and memory_id = $2)", who, id).
				Scan(&embedded); err != nil {
				return nil, err
			}
			if time.Since(start) > 5*time.Minute {
				return nil, errors.New("a memory was not embedded within 5 minutes")
			}
			if err := pause(ctx, 2*time.Millisecond); err != nil {
				return nil, err
			}
		}
		times = append(times, time.Since(start))
	}
	return times, nil
}
