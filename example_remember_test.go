package oxbow_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/oxbow-memory/oxbow"
)

func ExampleClient_Remember() {
	ctx := context.Background()
	pool := connect(ctx)
	defer pool.Close()
	client, err := oxbow.New(pool)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)

	memory := oxbow.NewMemory{
		UserID:     "remembered",
		Content:    "I adopted a cat. She is called Luna.",
		Type:       oxbow.TypeEpisodic,
		ValidAt:    time.Date(2025, 10, 12, 8, 30, 0, 0, time.UTC),
		SessionID:  "chat 17",
		Speaker:    "Ann",
		ExternalID: "message 4711", // a retry stores no second memory
		Importance: new(0.8),
		Metadata:   map[string]any{"channel": "phone"},
	}
	first, err := client.Remember(ctx, memory)
	if err != nil {
		panic(err)
	}
	second, err := client.Remember(ctx, memory)
	if err != nil {
		panic(err)
	}
	fmt.Println(first == second)

	_, err = client.Remember(ctx, oxbow.NewMemory{UserID: "remembered", Content: "x", Importance: new(7.0)})
	fmt.Println(err)

	// Output:
	// true
	// importance must be between 0 and 1, got 7
}

// A memory stored on the application's transaction exists if and only if that transaction commits.
func ExampleClient_WithTx() {
	ctx := context.Background()
	pool := connect(ctx)
	defer pool.Close()
	client, err := oxbow.New(pool)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)

	tx, err := pool.Begin(ctx)
	if err != nil {
		panic(err)
	}
	// … the application's own statements on tx …
	id, err := client.WithTx(tx).Remember(ctx, oxbow.NewMemory{UserID: "transacted", Content: "Ann ordered a tent."})
	if err != nil {
		panic(err)
	}
	if err := tx.Rollback(ctx); err != nil {
		panic(err)
	}

	_, err = client.Get(ctx, "transacted", id)
	fmt.Println(errors.Is(err, oxbow.ErrNotFound))

	// Output:
	// true
}

func ExampleClient_RememberMany() {
	ctx := context.Background()
	pool := connect(ctx)
	defer pool.Close()
	client, err := oxbow.New(pool)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)

	ids, err := client.RememberMany(ctx, []oxbow.NewMemory{
		{UserID: "many", Content: "Where shall we go?", Type: oxbow.TypeEpisodic, SessionID: "chat 18", Speaker: "Mel"},
		{UserID: "many", Content: "To the mountains.", Type: oxbow.TypeEpisodic, SessionID: "chat 18", Speaker: "Ann"},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(len(ids))

	_, err = client.RememberMany(ctx, []oxbow.NewMemory{{UserID: "many", Content: "Fine."},
		{UserID: "many", Content: " "}})
	var invalid *oxbow.InvalidError
	if errors.As(err, &invalid) {
		fmt.Println(invalid.Index, invalid.Field)
	}

	// Output:
	// 2
	// 1 content
}

func ExampleClient_Get() {
	ctx := context.Background()
	pool := connect(ctx)
	defer pool.Close()
	client, err := oxbow.New(pool)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)

	id, err := client.Remember(ctx, oxbow.NewMemory{UserID: "got", Content: "Ann lives in Berlin.",
		Category: oxbow.CategoryIdentity})
	if err != nil {
		panic(err)
	}
	m, err := client.Get(ctx, "got", id)
	if err != nil {
		panic(err)
	}
	fmt.Println(m.Type, m.Version, m.Category, m.Content)

	// Output:
	// fact 1 identity Ann lives in Berlin.
}
