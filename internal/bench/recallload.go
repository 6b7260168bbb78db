package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	pgxvec "github.com/pgvector/pgvector-go/pgx"
)

const (
	// tailGoal is promised for recall under load: its 99th percentile in times of its median.
	tailGoal = 5.0
	// loginGoal is the most that recall may take as an oxbow_app login, in times of the owner's.
	loginGoal = 1.10
	// asksUnderLoad is how many questions a number of clients asks in a pass, all together.
	asksUnderLoad = 640
	// passes of what is judged by a tail, or by few per cent: one that was disturbed is not the median of three.
	passes = 3
	// fewestForTail is how many values a 99th percentile needs at least to be more than the largest of them.
	fewestForTail = 200
)

// p99 is the 99th percentile as it is shown.
func p99(times []time.Duration) string {
	if len(times) < fewestForTail {
		return "–"
	}
	return ms(quantile(times, 0.99))
}

// underLoad is what several passes of questions by clients at once took: each the median of the passes.
type underLoad struct {
	rate          float64 // a second
	p50, p95, p99 time.Duration
}

// cells are what the tables tell of it, with what is promised.
func (u underLoad) cells() []string {
	ratio := float64(u.p99) / float64(u.p50)
	return []string{fmt.Sprintf("%.0f", u.rate), ms(u.p50), ms(u.p95), ms(u.p99), fmt.Sprintf("%.1f", ratio), fmt.Sprintf("≤ %.0f %s", tailGoal, verdict(ratio <= tailGoal))}
}

// recallAtOnce measures oxbow.recall by several clients at once.
func (b *bench) recallAtOnce(ctx context.Context, dsn string, questions [][]asked) error {
	out := Table{Title: fmt.Sprintf("Recall by clients at once, milliseconds, medians of %d passes of %d questions, each after a checkpoint", passes, asksUnderLoad)}
	out.add("user's memories", "clients", "a second", "p50", "p95", "p99", "p99/p50", "promised")
	for i, size := range sizes {
		for _, clients := range []int{1, 4, 16} {
			asked, err := askInPasses(ctx, dsn, clients, questions[i])
			if err != nil {
				return err
			}
			out.add(append([]string{fmt.Sprint(size.memories), fmt.Sprint(clients)}, asked.cells()...)...)
		}
	}
	b.show(out)
	return nil
}

// askInPasses lets so many clients ask, in passes that each begin after a checkpoint, so that none has the writing of what came before.
func askInPasses(ctx context.Context, dsn string, clients int, questions []asked) (u underLoad, err error) {
	pool, err := openPool(ctx, dsn, int32(clients))
	if err != nil {
		return u, err
	}
	defer pool.Close()
	var rates []float64
	var p50s, p95s, p99s []time.Duration
	for range passes {
		if _, err := pool.Exec(ctx, "checkpoint"); err != nil {
			return u, err
		}
		took, times, err := askAtOnce(ctx, pool, clients, questions)
		if err != nil {
			return u, err
		}
		rates = append(rates, float64(len(times))/took.Seconds())
		p50s, p95s, p99s = append(p50s, median(times)), append(p95s, quantile(times, 0.95)), append(p99s, quantile(times, 0.99))
	}
	return underLoad{median(rates), median(p50s), median(p95s), median(p99s)}, nil
}

func askAtOnce(ctx context.Context, pool *pgxpool.Pool, clients int, questions []asked) (took time.Duration, times []time.Duration, err error) {
	each := make([][]time.Duration, clients)
	var start time.Time
	for _, warmUp := range []bool{true, false} {
		asks := asksUnderLoad / clients
		if warmUp {
			asks = 12 // the plans of a connection
		}
		start = time.Now()
		_, err := together(ctx, pool, clients, func(conn *pgxpool.Conn, client int) (int, error) {
			for i := range asks {
				began := time.Now()
				if err := askOnce(ctx, conn.Conn(), questions[(client*asks+i)%len(questions)]); err != nil {
					return i, err
				}
				if !warmUp {
					each[client] = append(each[client], time.Since(began))
				}
			}
			return asks, nil
		})
		if err != nil {
			return 0, nil, err
		}
	}
	return time.Since(start), slices.Concat(each...), nil
}

func askOnce(ctx context.Context, conn *pgx.Conn, q asked) error {
	rows, err := conn.Query(ctx, wholeRecall.sql, wholeRecall.args(q)...)
	if err != nil {
		return err
	}
	found := 0
	if _, err := pgx.CollectRows(rows, func(pgx.CollectableRow) (struct{}, error) { found++; return struct{}{}, nil }); err != nil {
		return err
	}
	if found == 0 {
		return fmt.Errorf("recall finds nothing for %q of %s", q.query, q.user)
	}
	return nil
}

// recallByLogin compares recall as the owner with recall as a login of an application, which sees one user, in turns.
func (b *bench) recallByLogin(ctx context.Context, dsn string, questions [][]asked) (err error) {
	owner, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer owner.Close(context.WithoutCancel(ctx))
	app, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer app.Close(context.WithoutCancel(ctx))
	for _, conn := range []*pgx.Conn{owner, app} {
		if err := pgxvec.RegisterTypes(ctx, conn); err != nil {
			return err
		}
	}
	if _, err := owner.Exec(ctx, `create role bench_app in role oxbow_app`); err != nil {
		return err
	}
	defer func() {
		_, dropped := owner.Exec(context.WithoutCancel(ctx), `drop role bench_app`)
		err = errors.Join(err, dropped)
	}()
	if _, err := app.Exec(ctx, `set role bench_app`); err != nil {
		return err
	}
	out := Table{Title: fmt.Sprintf("Recall as a login, milliseconds, medians of %d questions in turns, the median of %d passes of them, each after a checkpoint",
		4*b.Questions, passes)}
	out.add("user's memories", "owner", "oxbow_app", "login/owner", "promised")
	for i, size := range sizes {
		medians := map[*pgx.Conn][]time.Duration{}
		var ratios []float64
		for range passes {
			if _, err := owner.Exec(ctx, "checkpoint"); err != nil {
				return err
			}
			times, err := askInTurns(ctx, owner, app, questions[i], 4*b.Questions)
			if err != nil {
				return err
			}
			for conn, took := range times {
				medians[conn] = append(medians[conn], median(took))
			}
			ratios = append(ratios, float64(median(times[app]))/float64(median(times[owner])))
		}
		ratio := median(ratios)
		out.add(fmt.Sprint(size.memories), ms(median(medians[owner])), ms(median(medians[app])), fmt.Sprintf("%.2f", ratio),
			fmt.Sprintf("≤ %.2f %s", loginGoal, verdict(ratio <= loginGoal)))
	}
	b.show(out)
	return nil
}

// askInTurns asks n questions as the owner and as the login, after some that do not count.
func askInTurns(ctx context.Context, owner, app *pgx.Conn, questions []asked, n int) (map[*pgx.Conn][]time.Duration, error) {
	const warmUp = 12
	times := map[*pgx.Conn][]time.Duration{}
	order := []*pgx.Conn{owner, app}
	for i := range n + warmUp {
		q := questions[i%len(questions)]
		if _, err := app.Exec(ctx, `select set_config('oxbow.user_id', $1, false)`, q.user); err != nil {
			return nil, err
		}
		slices.Reverse(order)
		for _, conn := range order {
			began := time.Now()
			if err := askOnce(ctx, conn, q); err != nil {
				return nil, err
			}
			if i >= warmUp {
				times[conn] = append(times[conn], time.Since(began))
			}
		}
	}
	return times, nil
}
