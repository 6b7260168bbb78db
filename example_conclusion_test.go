package oxbow_test

import (
	"context"
	"fmt"
	"time"

	"github.com/oxbow-memory/oxbow"
)

func ExampleClient_Conclusions() {
	ctx := context.Background()
	pool := connect(ctx)
	defer pool.Close()
	client, err := oxbow.New(pool)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)

	for i, note := range []string{"Went running in the morning", "Before breakfast I ran along the canal",
		"A morning run in the rain", "I went running this morning"} {
		if _, err := client.Remember(ctx, oxbow.NewMemory{UserID: "runner", Type: oxbow.TypeEpisodic, Content: note,
			ValidAt: time.Date(2025, 5, 1+i, 0, 0, 0, 0, time.UTC), Importance: new(0.8)}); err != nil {
			panic(err)
		}
	}
	work(ctx)
	conclusions, err := client.Conclusions(ctx, "runner", oxbow.ConclusionsQuery{})
	if err != nil {
		panic(err)
	}
	for _, c := range conclusions {
		fmt.Printf("%s (confidence %.2f, from %d memories)\n", c.Content, c.Confidence, len(c.Sources))
	}

	// Output:
	// Often goes running, mostly in the morning (confidence 0.59, from 4 memories)
}
