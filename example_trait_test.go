package oxbow_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/traittest"
)

// reflected stands for the reflections on a user until January 2025, which found one trait.
func reflected(ctx context.Context, pool *pgxpool.Pool, userID string) uuid.UUID {
	at := func(day int) time.Time { return time.Date(2025, 1, day, 6, 0, 0, 0, time.UTC) }
	id, err := traittest.Trait{UserID: userID, Content: "Ann gets up early.", Events: []traittest.Event{
		traittest.Created(at(20), 0.4,
			traittest.Evidence{Content: "Up at five again.", At: at(4), Session: "chat-1"},
			traittest.Evidence{Content: "I was first at the pool.", At: at(11), Session: "chat-2"},
			traittest.Evidence{Content: "The bread was done before sunrise.", At: at(18), Session: "chat-3"}),
		traittest.Reinforced(at(27), 0.15, traittest.Evidence{Content: "Breakfast at six, as always.", At: at(26),
			Session: "chat-4"}),
	}}.Make(ctx, pool)
	if err != nil {
		panic(err)
	}
	return id
}

func ExampleClient_Traits() {
	ctx := context.Background()
	pool := connect(ctx)
	defer pool.Close()
	client, err := oxbow.New(pool)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)
	reflected(ctx, pool, "with traits") // a worker does this

	february := time.Date(2025, 2, 1, 0, 0, 0, 0, time.UTC)
	traits, err := client.Traits(ctx, "with traits", oxbow.TraitsOptions{Now: february})
	if err != nil {
		panic(err)
	}
	for _, t := range traits {
		fmt.Printf("%s Subtype %s, stage %s, confidence %.2f.\n", t.Content, t.Subtype, t.Stage, t.Confidence)
		fmt.Printf("Without further evidence it becomes a %s on %s.\n", t.NextStage,
			t.NextTransition.Format(time.DateOnly))
	}

	// Output:
	// Ann gets up early. Subtype behavior, stage emerging, confidence 0.47.
	// Without further evidence it becomes a candidate on 2025-05-09.
}

func ExampleClient_Trait() {
	ctx := context.Background()
	pool := connect(ctx)
	defer pool.Close()
	client, err := oxbow.New(pool)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)
	id := reflected(ctx, pool, "explained")

	trait, err := client.Trait(ctx, "explained", id)
	if err != nil {
		panic(err)
	}
	for _, event := range trait.Events {
		fmt.Printf("%s %s: %.2f\n", event.At.Format(time.DateOnly), event.Event, event.Confidence)
		for _, e := range trait.Evidence {
			if e.EventSeq == event.Seq {
				fmt.Printf("  %s, quality %s: %s\n", e.Direction, e.Quality, e.Content)
			}
		}
	}

	// Output:
	// 2025-01-20 created: 0.40
	//   supporting, quality C: Up at five again.
	//   supporting, quality C: I was first at the pool.
	//   supporting, quality C: The bread was done before sunrise.
	// 2025-01-27 reinforced: 0.48
	//   supporting, quality C: Breakfast at six, as always.
}

func ExampleClient_EditTrait() {
	ctx := context.Background()
	pool := connect(ctx)
	defer pool.Close()
	client, err := oxbow.New(pool)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)
	id := reflected(ctx, pool, "corrected")

	var newer uuid.UUID
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) (err error) { // together with the application's own changes
		newer, err = client.WithTx(tx).EditTrait(ctx, "corrected", id,
			oxbow.TraitEdit{Content: "Ann gets up early on weekdays.", Reason: "she said so"})
		return err
	})
	if err != nil {
		panic(err)
	}
	trait, err := client.Trait(ctx, "corrected", newer)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s Stage %s, confidence %.2f.\n", trait.Content, trait.Stage, trait.Confidence)
	last := trait.Events[len(trait.Events)-1]
	fmt.Println(last.Event, "by the", last.Actor+":", last.Reason)
	_, err = client.Trait(ctx, "corrected", id)
	fmt.Println(errors.Is(err, oxbow.ErrSuperseded))

	// Output:
	// Ann gets up early on weekdays. Stage core, confidence 0.90.
	// edited by the user: she said so
	// true
}

func ExampleClient_DissolveTrait() {
	ctx := context.Background()
	pool := connect(ctx)
	defer pool.Close()
	client, err := oxbow.New(pool)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)
	id := reflected(ctx, pool, "dissolved")

	if err := client.DissolveTrait(ctx, "dissolved", id, "that was a hard winter"); err != nil {
		panic(err)
	}
	traits, err := client.Traits(ctx, "dissolved", oxbow.TraitsOptions{Stages: []string{"dissolved"}})
	if err != nil {
		panic(err)
	}
	fmt.Println(traits[0].Content, traits[0].Stage)

	// Output:
	// Ann gets up early. dissolved
}

func ExampleClient_DeleteTrait() {
	ctx := context.Background()
	pool := connect(ctx)
	defer pool.Close()
	client, err := oxbow.New(pool)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)
	id := reflected(ctx, pool, "deleted")

	if _, err := client.DeleteTrait(ctx, "deleted", id); err != nil {
		panic(err)
	}
	_, err = client.Trait(ctx, "deleted", id)
	fmt.Println(errors.Is(err, oxbow.ErrNotFound))

	// Output:
	// true
}
