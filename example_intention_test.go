package oxbow_test

import (
	"context"
	"fmt"
	"time"

	"github.com/oxbow-memory/oxbow"
)

func ExampleClient_Intend() {
	ctx := context.Background()
	pool := connect(ctx)
	defer pool.Close()
	client, err := oxbow.New(pool)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)

	monday := time.Date(2031, 6, 2, 9, 0, 0, 0, time.UTC)
	for _, n := range []oxbow.NewIntention{
		{Content: "Submit the report", Kind: "reminder", DueAt: monday, Recurrence: "FREQ=WEEKLY"},
		{Content: "Buy stamps", Condition: "at the post office"},
	} {
		if _, err := client.Intend(ctx, "forgetful", n); err != nil {
			panic(err)
		}
	}
	upcoming, err := client.Upcoming(ctx, "forgetful", time.Time{}, 10)
	if err != nil {
		panic(err)
	}
	for _, i := range upcoming {
		fmt.Printf("%s %s: %s\n", i.State, i.Kind, i.Content)
	}

	// Output:
	// open reminder: Submit the report
	// open intention: Buy stamps
}

func ExampleClient_SetValue() {
	ctx := context.Background()
	pool := connect(ctx)
	defer pool.Close()
	client, err := oxbow.New(pool)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)

	for _, job := range []string{"baker", "teacher"} { // the second supersedes the first
		if _, err := client.SetValue(ctx, "employed", "occupation", job); err != nil {
			panic(err)
		}
	}
	work(ctx)
	found, err := client.Recall(ctx, oxbow.Query{UserID: "employed", Text: "occupation"})
	if err != nil {
		panic(err)
	}
	for _, m := range found.Memories {
		fmt.Println(m.Content)
	}

	// Output:
	// I work as teacher
}
