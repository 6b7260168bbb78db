package oxbow_test

import (
	"context"
	"fmt"
	"time"

	"github.com/oxbow-memory/oxbow"
)

func ExampleClient_Predict() {
	ctx := context.Background()
	pool := connect(ctx)
	defer pool.Close()
	client, err := oxbow.New(pool)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)
	sunday := time.Date(2031, 6, 1, 0, 0, 0, 0, time.UTC)
	_, err = client.Intend(ctx, "with plans", oxbow.NewIntention{Content: "Call mom", DueAt: sunday.Add(18 * time.Hour)})
	if err != nil {
		panic(err)
	}

	predictions, err := client.Predict(ctx, "with plans", sunday, sunday.AddDate(0, 0, 1), 10)
	if err != nil {
		panic(err)
	}
	for _, p := range predictions {
		fmt.Printf("%s: %s, with probability %.1f\n", p.Kind, p.Content, p.Probability)
	}

	// Output:
	// intention: Call mom, with probability 0.5
}
