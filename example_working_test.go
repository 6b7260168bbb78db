package oxbow_test

import (
	"context"
	"fmt"

	"github.com/oxbow-memory/oxbow"
)

// A working memory holds the items of the current conversation. At the end of
// the conversation, rehearsed or important items are stored.
func ExampleClient_CommitWorkingMemory() {
	ctx := context.Background()
	pool := connect(ctx)
	defer pool.Close()
	client, err := oxbow.New(pool)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)

	working, err := oxbow.NewWorkingMemory("diner", "chat 17", 0)
	if err != nil {
		panic(err)
	}
	for _, item := range []oxbow.WorkingItem{
		{Key: "table", Content: "Ann wants a table for four on Saturday.", Type: oxbow.TypeEpisodic},
		{Key: "weather", Content: "It rains."},
		{Key: "nuts", Content: "Ann is allergic to nuts.", Importance: new(0.9)},
	} {
		if _, err := working.Add(item); err != nil {
			panic(err)
		}
	}
	working.Rehearse("table") // "at seven, if you can"
	working.Rehearse("table") // "that table, by the window?"
	fmt.Print(working.Render())

	for range 2 { // a second commit does no harm
		written, err := client.CommitWorkingMemory(ctx, working, oxbow.CommitOptions{})
		if err != nil {
			panic(err)
		}
		for _, item := range written {
			fmt.Printf("remembered as %s: %s\n", item.Type, item.Content)
		}
	}

	// Output:
	// - Ann wants a table for four on Saturday.
	// - It rains.
	// - Ann is allergic to nuts.
	// remembered as episodic: Ann wants a table for four on Saturday.
	// remembered as fact: Ann is allergic to nuts.
}
