package oxbow_test

import (
	"context"
	"fmt"

	"github.com/oxbow-memory/oxbow"
)

// Store a memory, let a worker embed it, and recall it.
func Example() {
	ctx := context.Background()
	pool := connect(ctx)
	defer pool.Close()

	client, err := oxbow.New(pool)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)

	for _, content := range []string{"Ann plays the cello in an orchestra.", "Ann is allergic to nuts.",
		"Ann works as a nurse."} {
		if _, err := client.Remember(ctx, oxbow.NewMemory{UserID: "ann", Content: content}); err != nil {
			panic(err)
		}
	}
	work(ctx)

	found, err := client.Recall(ctx, oxbow.Query{UserID: "ann", Text: "Which instrument does she play?", Limit: 1})
	if err != nil {
		panic(err)
	}
	for _, m := range found.Memories {
		fmt.Println(m.Content)
	}

	// Output:
	// Ann plays the cello in an orchestra.
}
