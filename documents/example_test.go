package oxbow_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/oxbow-memory/oxbow"
)

func ExampleClient_Ingest() {
	ctx := context.Background()
	pool := connect(ctx)
	defer pool.Close()
	client, err := oxbow.New(pool)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)

	text := "# Boats\n\nHeron is a wooden sloop.\n\n## Sails\n\nThe jib is red.\n"
	for range 2 {
		report, err := client.Ingest(ctx, oxbow.IngestedFile{UserID: "sailor", Path: "boats.md", Content: strings.NewReader(text)})
		if err != nil {
			panic(err)
		}
		fmt.Println(report.Added, "new,", report.Kept, "kept,", report.Removed, "erased; unchanged:", report.Unchanged)
		text = strings.Replace(text, "red", "blue", 1)
	}
	erased, err := client.DeleteFile(ctx, "sailor", "boats.md")
	if err != nil {
		panic(err)
	}
	fmt.Println(erased, "erased")

	// Output:
	// 2 new, 0 kept, 0 erased; unchanged: false
	// 1 new, 1 kept, 1 erased; unchanged: false
	// 2 erased
}
