package worker_test

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/tmc/langchaingo/llms"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/migrations"
	"github.com/oxbow-memory/oxbow/worker"
)

// vowels stands for an embedder of langchaingo: it counts the vowels of a text.
type vowels struct{}

func (vowels) EmbedDocuments(_ context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = make([]float32, 1024)
		vectors[i][1023] = 1
		for _, r := range text {
			for j, vowel := range "aeiou" {
				if r == vowel {
					vectors[i][j]++
				}
			}
		}
	}
	return vectors, nil
}

// silent stands for a language model of langchaingo: it never proposes anything.
type silent struct{ asked *atomic.Int64 }

func (m silent) GenerateContent(context.Context, []llms.MessageContent,
	...llms.CallOption) (*llms.ContentResponse, error) {
	m.asked.Add(1)
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{{Content: `{"patterns": [], "reinforcements": [], "contradictions": [], "clusters": []}`}}}, nil
}

func (m silent) Call(ctx context.Context, prompt string, options ...llms.CallOption) (string, error) {
	return llms.GenerateFromSinglePrompt(ctx, m, prompt, options...)
}

// A worker in your own program can use any embedder and any language model of langchaingo. It may connect as the owner,
// as here, or with a login of oxbow_worker.
func Example() {
	ctx := context.Background()
	url, err := pgtest.Create(ctx) // stands for os.Getenv("DATABASE_URL")
	check(err)
	check(migrations.Up(ctx, url, migrations.Options{}))
	pool, err := pgxpool.New(ctx, url)
	check(err)
	defer pool.Close()
	_, err = pool.Exec(ctx, `update oxbow.settings set value = '{"model": "example:vowels", "dimension": 1024}'
		where key = 'embedding'`)
	check(err)
	_, err = pool.Exec(ctx, `insert into oxbow.memories (user_id, memory_type, content, importance)
		values ('ada', 'episodic', 'Had tea', 1), ('ada', 'episodic', 'Had coffee', 1),
		       ('ada', 'episodic', 'Walked in the rain', 1)`)
	check(err)

	var asked atomic.Int64
	embedder, err := oxbow.NewEmbedder(vowels{}, "example:vowels", 1024)
	check(err)
	w, err := worker.New(ctx, worker.Config{DatabaseURL: url, Embedder: embedder,
		Reasoner: worker.ReasonerConfig{Client: silent{&asked}, Model: "silent"}})
	check(err)
	defer w.Close()
	check(w.RunUntilIdle(ctx, nil))

	var embedded int
	check(pool.QueryRow(ctx, `select count(*) from oxbow.memory_vectors where user_id = 'ada'`).Scan(&embedded))
	fmt.Println(embedded, "memories embedded, the model was asked:", asked.Load() > 0)
	// Output: 3 memories embedded, the model was asked: true
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
