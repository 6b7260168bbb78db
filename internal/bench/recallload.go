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
	// asksUnderLoad is how many questions a number of clients asks, all together.
	asksUnderLoad = 640
)

// recallAtOnce measures oxbow.recall by several clients at once.
func (b *bench) recallAtOnce(ctx context.Context, dsn string, questions [][]asked) error {
	out := Table{Title: fmt.Sprintf("Recall by clients at once, milliseconds, %d questions each", asksUnderLoad)}
	out.add("user's memories", "clients", "a second", "p50", "p95", "p99", "p99/p50", "promised")
	for i, size := range sizes {
		for _, clients := range []int{1, 4, 16} {
			pool, err := openPool(ctx, dsn, int32(clients))
			if err != nil {
				return err
			}
			took, times, err := askAtOnce(ctx, pool, clients, questions[i])
			pool.Close()
			if err != nil {
				return err
			}
			p50, p99 := median(times), quantile(times, 0.99)
			ratio := float64(p99) / float64(p50)
			out.add(fmt.Sprint(size.memories), fmt.Sprint(clients), fmt.Sprintf("%.0f", float64(len(times))/took.Seconds()), ms(p50), ms(quantile(times, 0.95)), ms(p99),
				fmt.Sprintf("%.1f", ratio), fmt.Sprintf("≤ %.0f %s", tailGoal, verdict(ratio <= tailGoal)))
		}
	}
	b.show(out)
	return nil
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
	out := Table{Title: fmt.Sprintf("Recall as a login, milliseconds, median of %d questions in turns", 4*b.Questions)}
	out.add("user's memories", "owner", "oxbow_app", "login/owner", "promised")
	for i, size := range sizes {
		times := map[*pgx.Conn][]time.Duration{}
		order := []*pgx.Conn{owner, app}
		for n := range 4*b.Questions + 12 {
			q := questions[i][n%len(questions[i])]
			if _, err := app.Exec(ctx, `select set_config('oxbow.user_id', $1, false)`, q.user); err != nil {
				return err
			}
			slices.Reverse(order)
			for _, conn := range order {
				began := time.Now()
				if err := askOnce(ctx, conn, q); err != nil {
					return err
				}
				if n >= 12 {
					times[conn] = append(times[conn], time.Since(began))
				}
			}
		}
		ratio := float64(median(times[app])) / float64(median(times[owner]))
		out.add(fmt.Sprint(size.memories), ms(median(times[owner])), ms(median(times[app])), fmt.Sprintf("%.2f", ratio),
			fmt.Sprintf("≤ %.2f %s", loginGoal, verdict(ratio <= loginGoal)))
	}
	b.show(out)
	return nil
}
