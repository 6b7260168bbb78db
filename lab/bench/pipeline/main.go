// Command pipeline measures how fast a worker makes stored memories recallable: 20,000 of 200 users, stored in single-row
// statements and in statements of 128 rows, and the same rows by a bare loop that only writes their vectors and terms. All rows
// are stored before the worker starts; the rate runs from its start until every memory has its vector and its terms. The ways
// take turns in databases of their own. Beside the rates stands the processor time of a memory, which other programs of the
// machine disturb less.
//
//	go run ./bench/pipeline -oxbow ../bin/oxbow
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/oxbow-memory/oxbow/internal/embedding"
	"github.com/oxbow-memory/oxbow/internal/localpg"
	"github.com/oxbow-memory/oxbow/store"
)

var (
	oxbow    = flag.String("oxbow", "bin/oxbow", "the program to measure")
	memories = flag.Int("memories", 20_000, "how many memories are stored")
	users    = flag.Int("users", 200, "of how many users")
	rounds   = flag.Int("rounds", 3, "how often each way is measured")
	only     = flag.String("only", "", "measure one way: single, jobs or bare")
	settings = flag.String("settings", "", "server parameters, as name=value,name=value")
)

// statement is the most rows of one statement and one job.
const statement = 128

// way is a way to make memories recallable: stored in statements of so many rows, then run until they are.
type way struct {
	name string
	rows int
	run  func(ctx context.Context, dsn string) (time.Duration, error)
}

func main() {
	flag.Parse()
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) (err error) {
	dir, err := os.MkdirTemp("", "oxbow-pipeline-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.Chmod(dir, 0o755); err != nil { // as root, PostgreSQL runs as another user
		return err
	}
	parameters := map[string]string{"shared_buffers": "1GB", "max_wal_size": "4GB", "random_page_cost": "1.1"}
	for _, s := range strings.FieldsFunc(*settings, func(r rune) bool { return r == ',' }) {
		name, value, _ := strings.Cut(s, "=")
		parameters[name] = value
	}
	server, err := localpg.Start(ctx, localpg.Config{BaseDir: dir, Settings: parameters})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop(ctx)) }()

	ways := []way{{"single", 1, work}, {"jobs", statement, work}, {"bare", statement, bare}}
	ways = slices.DeleteFunc(ways, func(w way) bool { return *only != "" && w.name != *only })
	rates, costs := map[string][]float64{}, map[string][]float64{}
	for round := range *rounds {
		for _, w := range ways {
			took, processor, err := measure(ctx, server, w)
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			rates[w.name] = append(rates[w.name], float64(*memories)/took.Seconds())
			costs[w.name] = append(costs[w.name], float64(processor.Microseconds())/float64(*memories))
			fmt.Printf("round %d  %-6s  %6.0f memories a second, %5.0f µs of processor time each\n", round+1, w.name, rates[w.name][round], costs[w.name][round])
		}
		slices.Reverse(ways)
	}
	for _, w := range ways {
		fmt.Printf("median   %-6s  %6.0f a second, %5.0f µs", w.name, median(rates[w.name]), median(costs[w.name]))
		for _, other := range ways {
			if other.name != w.name {
				fmt.Printf("   of %s: rate %.2f, cost %.2f", other.name, median(ratios(rates[w.name], rates[other.name])), median(ratios(costs[w.name], costs[other.name])))
			}
		}
		fmt.Println()
	}
	return nil
}

// processorTime is what the server and all its processes have used, the ones that ended included, and the ended children of this
// program.
func processorTime(server *localpg.Server) (time.Duration, error) {
	file, err := os.ReadFile(filepath.Join(server.Dir(), "data", "postmaster.pid"))
	if err != nil {
		return 0, err
	}
	postmaster, _, _ := strings.Cut(string(file), "\n")
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	var ticks, n int64
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it ended
		}
		id := filepath.Base(filepath.Dir(path))
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if fields[1] != postmaster && id != postmaster {
			continue
		}
		count := 2 // user and system time
		if id == postmaster {
			count = 4 // and those of the children that ended
		}
		for _, field := range fields[11 : 11+count] {
			if n, err = strconv.ParseInt(field, 10, 64); err != nil {
				return 0, err
			}
			ticks += n
		}
	}
	var children syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &children); err != nil {
		return 0, err
	}
	const tick = 10 * time.Millisecond
	return time.Duration(ticks)*tick + time.Duration(children.Utime.Nano()+children.Stime.Nano()), nil
}

func ratios(a, b []float64) []float64 {
	r := make([]float64, len(a))
	for i := range a {
		r[i] = a[i] / b[i]
	}
	return r
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// measure returns how long a way takes in a database of its own, and the processor time of the server and the worker.
func measure(ctx context.Context, server *localpg.Server, w way) (took, processor time.Duration, err error) {
	const name = "pipeline"
	admin, err := pgx.Connect(ctx, server.DSN("postgres"))
	if err != nil {
		return 0, 0, err
	}
	defer admin.Close(ctx)
	for _, sql := range []string{"drop database if exists " + name + " with (force)", "create database " + name} {
		if _, err := admin.Exec(ctx, sql); err != nil {
			return 0, 0, err
		}
	}
	dsn := server.DSN(name)
	if out, err := command(ctx, dsn, "migrate", "up").CombinedOutput(); err != nil {
		return 0, 0, fmt.Errorf("migrate: %w: %s", err, out)
	}
	if err := fill(ctx, dsn, w.rows); err != nil {
		return 0, 0, err
	}
	if _, err := admin.Exec(ctx, "checkpoint"); err != nil {
		return 0, 0, err
	}
	before, err := processorTime(server)
	if err != nil {
		return 0, 0, err
	}
	if took, err = w.run(ctx, dsn); err != nil {
		return 0, 0, err
	}
	after, err := processorTime(server)
	return took, after - before, err
}

func command(ctx context.Context, dsn string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, *oxbow, args...)
	cmd.Env = append(os.Environ(), "DATABASE_URL="+dsn)
	return cmd
}

// fill stores the memories, in statements of so many rows of one user; the users take turns.
func fill(ctx context.Context, dsn string, rows int) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	texts := rand.New(rand.NewPCG(1, 2))
	for done := 0; done < *memories; {
		batch := &pgx.Batch{}
		for range max(1000/rows, 1) {
			n := min(rows, *memories-done)
			contents := make([]string, n)
			for i := range contents {
				contents[i] = sentence(texts)
			}
			user := fmt.Sprintf("user-%d", done/rows%*users)
			batch.Queue(`insert into oxbow.memories (user_id, memory_type, content, session_id)
				select $1, 'episodic', c, 's1' from unnest($2::text[]) c`, user, contents)
			if done += n; done == *memories {
				break
			}
		}
		if err := conn.SendBatch(ctx, batch).Close(); err != nil {
			return err
		}
	}
	_, err = conn.Exec(ctx, "vacuum analyze")
	return err
}

var words = strings.Fields(`visited repaired painted borrowed cooked planted sold found lost cleaned carried wrapped bicycle lantern
	violin teapot suitcase greenhouse telescope novel recipe jacket harbour library station market museum bakery old wooden red heavy
	tiny broken quiet blue rusty favourite folded copper neighbour weather morning evening garden school bridge island kitchen office`)

// sentence returns ten words and a rare one.
func sentence(r *rand.Rand) string {
	text := fmt.Sprintf("Name%d", r.IntN(8000))
	for range 10 {
		text += " " + words[r.IntN(len(words))]
	}
	return text
}

// work runs a worker until everything is recallable, and stops it.
func work(ctx context.Context, dsn string) (took time.Duration, err error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx)
	worker := command(ctx, dsn, "work")
	worker.Stderr = os.Stderr
	start := time.Now()
	if err := worker.Start(); err != nil {
		return 0, err
	}
	defer func() {
		_ = worker.Process.Signal(syscall.SIGTERM)
		_ = worker.Wait()
	}()
	for recallable := 0; recallable < *memories; time.Sleep(20 * time.Millisecond) {
		if err := conn.QueryRow(ctx, "select coalesce(sum(documents), 0) from oxbow.memory_term_stats").Scan(&recallable); err != nil {
			return 0, err
		}
	}
	took = time.Since(start)
	var missing int
	err = conn.QueryRow(ctx, `select count(*) from oxbow.memories m
		where not exists (select from oxbow.memory_vectors v where (v.user_id, v.memory_type, v.memory_id) = (m.user_id, m.memory_type, m.id))`).Scan(&missing)
	if err == nil && missing > 0 {
		err = fmt.Errorf("%d memories have terms and no vector", missing)
	}
	return took, err
}

// bare writes vectors and terms and nothing else, on as many connections as a worker has for embed jobs. The vectors are made
// before the time begins.
func bare(ctx context.Context, dsn string) (time.Duration, error) {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return 0, err
	}
	cfg.AfterConnect = store.RegisterTypes
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return 0, err
	}
	defer pool.Close()
	jobs, err := embedAll(ctx, pool)
	if err != nil {
		return 0, err
	}
	local := embedding.NewLocal(1024)
	model := store.EmbeddingModel{Model: local.Model(), Dimension: local.Dimension()}
	var next atomic.Int64
	var group errgroup.Group
	start := time.Now()
	for range min(max(runtime.NumCPU(), 2), 4) {
		group.Go(func() error {
			for i := next.Add(1) - 1; i < int64(len(jobs)); i = next.Add(1) - 1 {
				j := jobs[i]
				err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
					if _, err := store.WriteVectors(ctx, tx, model, store.Refs(j.user, j.ids), j.vectors); err != nil {
						return err
					}
					_, err := store.IndexMemories(ctx, tx, store.Refs(j.user, j.ids))
					return err
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	err = group.Wait()
	return time.Since(start), err
}

// job is what the bare loop writes at once.
type job struct {
	user     string
	ids      []uuid.UUID
	contents []string
	vectors  [][]float32
}

func embedAll(ctx context.Context, pool *pgxpool.Pool) ([]job, error) {
	rows, err := pool.Query(ctx, `select user_id, array_agg(id), array_agg(content) from oxbow.memories group by user_id, created_at`)
	if err != nil {
		return nil, err
	}
	jobs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (j job, err error) {
		return j, row.Scan(&j.user, &j.ids, &j.contents)
	})
	if err != nil {
		return nil, err
	}
	local := embedding.NewLocal(1024)
	for i, j := range jobs {
		if jobs[i].vectors, err = local.Embed(ctx, j.contents); err != nil {
			return nil, err
		}
	}
	return jobs, nil
}
