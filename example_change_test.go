package oxbow_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/oxbow-memory/oxbow"
)

func ExampleClient_Supersede() {
	ctx := context.Background()
	pool := connect(ctx)
	defer pool.Close()
	client, err := oxbow.New(pool)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)

	id, err := client.Remember(ctx, oxbow.NewMemory{UserID: "superseded", Content: "Ann works as a nurse."})
	if err != nil {
		panic(err)
	}
	newer, err := client.Supersede(ctx, "superseded", id, oxbow.Replacement{Content: "Ann works as a doctor.",
		Reason: "she said so"})
	if err != nil {
		panic(err)
	}
	old, err := client.Get(ctx, "superseded", id)
	if err != nil {
		panic(err)
	}
	fmt.Println(old.SupersededBy == newer)

	_, err = client.Supersede(ctx, "superseded", id, oxbow.Replacement{Content: "Ann works as a surgeon."})
	fmt.Println(errors.Is(err, oxbow.ErrSuperseded))

	// Output:
	// true
	// true
}

func ExampleClient_History() {
	ctx := context.Background()
	pool := connect(ctx)
	defer pool.Close()
	client, err := oxbow.New(pool)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)

	id, err := client.Remember(ctx, oxbow.NewMemory{UserID: "historic", Content: "Ann has one cat."})
	if err != nil {
		panic(err)
	}
	newer, err := client.Supersede(ctx, "historic", id, oxbow.Replacement{Content: "Ann has two cats.",
		Reason: "adopted"})
	if err != nil {
		panic(err)
	}
	changes, err := client.History(ctx, "historic", newer)
	if err != nil {
		panic(err)
	}
	for _, c := range changes {
		fmt.Println(c.Event, "version", c.Version, c.NewContent)
	}

	// Output:
	// ADD version 1 Ann has one cat.
	// ADD version 2 Ann has two cats.
	// SUPERSEDE version 1 Ann has two cats.
}

func ExampleClient_Forget() {
	ctx := context.Background()
	pool := connect(ctx)
	defer pool.Close()
	client, err := oxbow.New(pool)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)

	id, err := client.Remember(ctx, oxbow.NewMemory{UserID: "forgotten", Content: "Ann was ill in March."})
	if err != nil {
		panic(err)
	}
	work(ctx)
	if err := client.Forget(ctx, "forgotten", id, "Ann asked for it"); err != nil {
		panic(err)
	}
	found, err := client.Recall(ctx, oxbow.Query{UserID: "forgotten", Text: "Was Ann ill?"})
	if err != nil {
		panic(err)
	}
	fmt.Println(len(found.Memories))

	// Output:
	// 0
}

func ExampleClient_Restore() {
	ctx := context.Background()
	pool := connect(ctx)
	defer pool.Close()
	client, err := oxbow.New(pool)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)

	id, err := client.Remember(ctx, oxbow.NewMemory{UserID: "restored", Content: "Ann has a sister."})
	if err != nil {
		panic(err)
	}
	work(ctx)
	if err := client.Forget(ctx, "restored", id, ""); err != nil {
		panic(err)
	}
	if err := client.Restore(ctx, "restored", id); err != nil {
		panic(err)
	}
	found, err := client.Recall(ctx, oxbow.Query{UserID: "restored", Text: "Who is Ann's sister?"})
	if err != nil {
		panic(err)
	}
	fmt.Println(found.Memories[0].Content)
	fmt.Println(errors.Is(client.Restore(ctx, "restored", id), oxbow.ErrNotForgotten))

	// Output:
	// Ann has a sister.
	// true
}
