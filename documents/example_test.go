package documents_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/documents"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/migrations"
)

// database creates a migrated database.
func database(ctx context.Context) (url string, drop func()) {
	url, err := pgtest.Create(ctx)
	if err == nil {
		err = migrations.Up(ctx, url, migrations.Options{})
	}
	if err != nil {
		panic(err)
	}
	return url, func() {
		if err := pgtest.Drop(ctx, url); err != nil {
			panic(err)
		}
	}
}

func ExampleIngest() {
	ctx := context.Background()
	url, drop := database(ctx) // stands for os.Getenv("DATABASE_URL")
	defer drop()
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		panic(err)
	}
	defer pool.Close()
	client, err := oxbow.New(pool)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)

	text := "# Boats\n\nHeron is a wooden sloop.\n\n## Sails\n\nThe jib is red.\n"
	for range 2 {
		report, err := documents.Ingest(ctx, client, documents.NewFile{UserID: "sailor", Path: "boats.md",
			Content: strings.NewReader(text)})
		if err != nil {
			panic(err)
		}
		fmt.Println(report.Added, "new,", report.Kept, "kept,", report.Removed, "erased; unchanged:", report.Unchanged)
		text = strings.Replace(text, "red", "blue", 1)
	}
	erased, err := documents.Delete(ctx, client, "sailor", "boats.md")
	if err != nil {
		panic(err)
	}
	fmt.Println(erased, "erased")

	// Output:
	// 2 new, 0 kept, 0 erased; unchanged: false
	// 1 new, 1 kept, 1 erased; unchanged: false
	// 2 erased
}
