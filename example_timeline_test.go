package oxbow_test

import (
	"context"
	"fmt"
	"time"

	"github.com/oxbow-memory/oxbow"
)

func ExampleClient_Timeline() {
	ctx := context.Background()
	pool := connect(ctx)
	defer pool.Close()
	client, err := oxbow.New(pool)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)

	day := func(year int) time.Time { return time.Date(year, 5, 1, 0, 0, 0, 0, time.UTC) }
	id, err := client.Remember(ctx, oxbow.NewMemory{UserID: "moving", Content: "Ann lives in Berlin.",
		ValidAt: day(2020)})
	if err != nil {
		panic(err)
	}
	if _, err := client.Supersede(ctx, "moving", id, oxbow.Replacement{Content: "Her home is Lisbon.",
		ValidAt: day(2024)}); err != nil {
		panic(err)
	}
	work(ctx)
	timeline, err := client.Timeline(ctx, oxbow.TimelineQuery{UserID: "moving", Topic: "Where does Ann live?"})
	if err != nil {
		panic(err)
	}
	for _, e := range timeline.Entries {
		fmt.Println(e.ValidAt.Year(), e.Content, e.Current)
	}

	// Output:
	// 2020 Ann lives in Berlin. false
	// 2024 Her home is Lisbon. true
}
