package oxbow_test

import (
	"context"
	"fmt"
	"time"

	"github.com/tmc/langchaingo/embeddings"
	"github.com/tmc/langchaingo/llms/openai"

	"github.com/oxbow-memory/oxbow"
)

func ExampleClient_Recall() {
	ctx := context.Background()
	pool := connect(ctx)
	defer pool.Close()
	client, err := oxbow.New(pool)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)

	moved := time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC)
	id, err := client.Remember(ctx, oxbow.NewMemory{UserID: "recalled", Content: "Ann lives in Berlin.",
		ValidAt: moved.AddDate(-4, 0, 0)})
	if err != nil {
		panic(err)
	}
	if _, err := client.Supersede(ctx, "recalled", id, oxbow.Replacement{Content: "Ann lives in Paris.",
		ValidAt: moved}); err != nil {
		panic(err)
	}
	work(ctx)

	now, err := client.Recall(ctx, oxbow.Query{UserID: "recalled", Text: "Where does Ann live?"})
	if err != nil {
		panic(err)
	}
	then, err := client.Recall(ctx, oxbow.Query{
		UserID: "recalled", Text: "Where did Ann live?", Types: []oxbow.MemoryType{oxbow.TypeFact},
		ValidAsOf: moved.AddDate(-1, 0, 0)})
	if err != nil {
		panic(err)
	}
	if now.Degraded != nil {
		fmt.Println("found by words alone:", now.Degraded)
	}
	fmt.Println(now.Memories[0].Content)
	fmt.Println(then.Memories[0].Content)
	fmt.Println("rank by words:", then.Memories[0].Explain.Text.Rank)

	// Output:
	// Ann lives in Paris.
	// Ann lives in Berlin.
	// rank by words: 1
}

// A client must use the embedder of the database. This one is langchaingo's, for a server with the API of
// OpenAI.
func ExampleNewEmbedder() {
	llm, err := openai.New(openai.WithBaseURL("http://127.0.0.1:8000/v1"), openai.WithToken("none"),
		openai.WithEmbeddingModel("bge-m3"))
	if err != nil {
		panic(err)
	}
	e, err := embeddings.NewEmbedder(llm)
	if err != nil {
		panic(err)
	}
	embedder, err := oxbow.NewEmbedder(e, "openai:bge-m3", 1024)
	if err != nil {
		panic(err)
	}
	fmt.Println(embedder.Model(), embedder.Dimension())

	_, err = oxbow.NewEmbedder(e, "openai:bge-m3", 100_000)
	fmt.Println(err)

	// Output:
	// openai:bge-m3 1024
	// oxbow: NewEmbedder: dimension 100000 is out of range: it must be 1 to 3584
}

func ExampleLocalEmbedder() {
	embedder := oxbow.LocalEmbedder()
	fmt.Println(embedder.Model(), embedder.Dimension())

	// Output:
	// local-v1 1024
}

// Recall counts an access to each memory that it returns. The program reports which of them a reply used.
func ExampleClient_Used() {
	ctx := context.Background()
	pool := connect(ctx)
	defer pool.Close()
	client, err := oxbow.New(pool)
	if err != nil {
		panic(err)
	}
	id, err := client.Remember(ctx, oxbow.NewMemory{UserID: "used", Content: "Ann likes tea."})
	if err != nil {
		panic(err)
	}
	client.Used("used", id)
	if err := client.Close(ctx); err != nil { // sends the waiting reports
		panic(err)
	}

	var reported int
	if err := pool.QueryRow(ctx,
		`select count(*) from oxbow.activity where user_id = 'used'`).Scan(&reported); err != nil {
		panic(err)
	}
	fmt.Println(reported)

	// Output:
	// 1
}
