package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgxpool"
)

// table prints each row as soon as it is measured. A column is as wide as its head, spaces included, and at least 12.
type table struct {
	out    io.Writer
	widths []int
}

func (b *bench) table(title string, columns ...string) table {
	fmt.Fprintf(b.out, "\n%s\n", title)
	t, head := table{out: b.out}, make([]any, len(columns))
	for i, c := range columns {
		head[i], t.widths = strings.TrimSpace(c), append(t.widths, max(len(c), 12))
	}
	t.row(head...)
	return t
}

// row prints cells, durations in milliseconds.
func (t table) row(cells ...any) {
	text := make([]string, len(cells))
	for i, c := range cells {
		switch c := c.(type) {
		case time.Duration:
			text[i] = fmt.Sprintf("%.2f ms", c.Seconds()*1000)
		case float64:
			text[i] = fmt.Sprintf("%.2f", c)
		default:
			text[i] = fmt.Sprint(c)
		}
		text[i] += strings.Repeat(" ", max(t.widths[i]-utf8.RuneCountInString(text[i]), 0))
	}
	fmt.Fprintln(t.out, strings.TrimRight("  "+strings.Join(text, "  "), " "))
}

// quantile returns the value below which the given share of the values lies.
func quantile[T ~int64 | ~float64](values []T, share float64) T {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(int(share*float64(len(sorted))), len(sorted)-1)]
}

func median[T ~int64 | ~float64](values []T) T { return quantile(values, 0.5) }

// medianRatio is the median of the rounds' ratios: a round in which the machine was busy slows both sides.
func medianRatio[T ~int64 | ~float64](of, to []T) float64 {
	ratios := make([]float64, len(of))
	for i := range of {
		ratios[i] = float64(of[i]) / float64(to[i])
	}
	return median(ratios)
}

// inTurns calls every way once a round and returns what they measure, by way and round. The order alternates. The first
// round warms up and does not count.
func inTurns[T any](rounds, ways int, measure func(way int) (T, error)) ([][]T, error) {
	measured := make([][]T, ways)
	for round := range rounds + 1 {
		for i := range ways {
			if round%2 == 1 {
				i = ways - 1 - i
			}
			m, err := measure(i)
			if err != nil {
				return nil, err
			}
			if round > 0 {
				measured[i] = append(measured[i], m)
			}
		}
	}
	return measured, nil
}

// together lets clients work at once, each on a connection of its own, and adds up what they return.
func together(ctx context.Context, pool *pgxpool.Pool, clients int, work func(*pgxpool.Conn, int) (int, error)) (int,
	error) {
	counts, errs := make(chan int, clients), make(chan error, clients)
	for client := range clients {
		go func() {
			n := 0
			errs <- pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) (err error) {
				n, err = work(conn, client)
				return err
			})
			counts <- n
		}()
	}
	var sum int
	var err error
	for range clients {
		err = errors.Join(err, <-errs)
		sum += <-counts
	}
	return sum, err
}
