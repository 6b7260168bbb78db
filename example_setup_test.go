package oxbow_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/migrations"
	"github.com/oxbow-memory/oxbow/worker"
)

// example is the migrated database that the examples share. Each example has its own user. The application and the
// worker connect as the owner, as in a single-tenant deployment.
var example struct {
	once sync.Once
	url  string
}

// databaseURL stands for os.Getenv("DATABASE_URL").
func databaseURL() string {
	example.once.Do(func() {
		url, err := pgtest.Create(context.Background())
		if err != nil {
			panic(err)
		}
		example.url = url
		if err := migrations.Up(context.Background(), url, migrations.Options{}); err != nil {
			panic(err)
		}
	})
	return example.url
}

// connect opens the application's connection pool.
func connect(ctx context.Context) *pgxpool.Pool {
	pool, err := pgxpool.New(ctx, databaseURL())
	if err != nil {
		panic(err)
	}
	return pool
}

// work stands for a running `oxbow work`: it embeds the stored memories.
func work(ctx context.Context) {
	w, err := worker.New(ctx, worker.Config{DatabaseURL: databaseURL()})
	if err != nil {
		panic(err)
	}
	defer w.Close()
	if err := w.RunUntilIdle(ctx, nil); err != nil {
		panic(err)
	}
}

func TestMain(m *testing.M) {
	code := m.Run()
	if example.url != "" {
		if err := pgtest.Drop(context.Background(), example.url); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}
