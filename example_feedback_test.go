package oxbow_test

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow"
)

func ExampleClient_Feedback() {
	ctx := context.Background()
	pool := connect(ctx)
	defer pool.Close()
	client, err := oxbow.New(pool)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)
	for _, content := range []string{"Ben plays chess on Tuesdays.", "Ben plays chess with Tom."} {
		if _, err := client.Remember(ctx, oxbow.NewMemory{UserID: "with feedback", Content: content}); err != nil {
			panic(err)
		}
	}
	work(ctx)

	question := oxbow.Query{UserID: "with feedback", Text: "When does Ben play chess?"}
	found, err := client.Recall(ctx, question)
	if err != nil {
		panic(err)
	}
	for _, m := range found.Memories {
		if m.Content == "Ben plays chess on Tuesdays." { // "No, on Fridays."
			_, err := client.Feedback(ctx, "with feedback", oxbow.Feedback{Kind: "wrong", IDs: []uuid.UUID{m.ID},
				Query: question.Text})
			if err != nil {
				panic(err)
			}
		}
	}
	again, err := client.Recall(ctx, question)
	if err != nil {
		panic(err)
	}
	fmt.Println(len(found.Memories), "memories before")
	for _, m := range again.Memories {
		fmt.Println("after:", m.Content)
	}

	// Output:
	// 2 memories before
	// after: Ben plays chess with Tom.
}

// An application with its own judge stores what it finds out.
func ExampleClient_Signal() {
	ctx := context.Background()
	pool := connect(ctx)
	defer pool.Close()
	client, err := oxbow.New(pool)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)
	id, err := client.Remember(ctx, oxbow.NewMemory{UserID: "judged", Content: "Ben plays chess on Tuesdays."})
	if err != nil {
		panic(err)
	}
	work(ctx)

	question := oxbow.Query{UserID: "judged", Text: "When does Ben play chess?"}
	answer, err := client.Answered(ctx, "judged", oxbow.Answer{Query: question.Text, Recalled: []uuid.UUID{id}})
	if err != nil {
		panic(err)
	}
	for range 2 { // with an ExternalID a repeated call has no effect
		_, err := client.Signal(ctx, "judged", oxbow.Signal{Type: "mixed", Confidence: 0.8,
			Parts:      map[string]string{"final_answer": "negative", "tool_choice": "positive"},
			ActionHint: []string{"penalty"}, AnswerID: answer, ExternalID: "my judge, 17"})
		if err != nil {
			panic(err)
		}
	}
	found, err := client.Recall(ctx, question)
	if err != nil {
		panic(err)
	}
	fmt.Println(len(found.Memories), "memories")

	// Output:
	// 0 memories
}

func ExampleClient_Instruct() {
	ctx := context.Background()
	pool := connect(ctx)
	defer pool.Close()
	client, err := oxbow.New(pool)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)

	for _, n := range []oxbow.NewInstruction{
		{Content: "Always answer me in German", Aspect: "language"},
		{Content: "No emojis", Aspect: "avoid"},
		{Content: "Answer me in English again", Aspect: "language"}, // replaces the first
	} {
		if _, err := client.Instruct(ctx, "with wishes", n); err != nil {
			panic(err)
		}
	}
	block, err := client.Context(ctx, oxbow.ContextQuery{UserID: "with wishes"})
	if err != nil {
		panic(err)
	}
	fmt.Print(block.Text)

	// Output:
	// ## How the user wants to be answered
	// - Answer me in English again
	// - No emojis
}

func ExampleClient_Why() {
	ctx := context.Background()
	pool := connect(ctx)
	defer pool.Close()
	client, err := oxbow.New(pool)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)
	id, err := client.Intend(ctx, "curious", oxbow.NewIntention{Content: "Move to Berlin",
		DueAt: time.Date(2031, 3, 1, 0, 0, 0, 0, time.UTC), Precision: "month"})
	if err != nil {
		panic(err)
	}

	sentences, err := client.Why(ctx, "curious", id)
	if err != nil {
		panic(err)
	}
	for _, s := range sentences {
		if s.Aspect != "origin" { // which names today
			fmt.Println(s.Sentence)
		}
	}

	// Output:
	// It is for 2031-03-01 (open).
	// It has not been due yet.
	// It stays until it is done or dropped.
}
