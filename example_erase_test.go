package oxbow_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow"
)

func ExampleClient_EraseMemory() {
	ctx := context.Background()
	pool := connect(ctx)
	defer pool.Close()
	client, err := oxbow.New(pool)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)

	id, err := client.Remember(ctx, oxbow.NewMemory{UserID: "erased once", Content: "My number is 555 0100."})
	if err != nil {
		panic(err)
	}
	receipt, err := client.EraseMemory(ctx, "erased once", id)
	if err != nil {
		panic(err)
	}
	fmt.Println(receipt.Rows()) // the memory, and the job that would have embedded it
	_, err = client.Get(ctx, "erased once", id)
	fmt.Println(errors.Is(err, oxbow.ErrNotFound))

	// Output:
	// 2
	// true
}

func ExampleClient_EraseUser() {
	ctx := context.Background()
	pool := connect(ctx)
	defer pool.Close()
	client, err := oxbow.New(pool)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)

	if _, err := client.Remember(ctx, oxbow.NewMemory{UserID: "leaving", Content: "Ann lives in Berlin."}); err != nil {
		panic(err)
	}
	receipt, err := client.EraseUser(ctx, "leaving")
	if err != nil {
		panic(err)
	}
	for _, e := range receipt.Erased {
		fmt.Println(e.Table, e.Rows)
	}
	again, err := client.FindReceipt(ctx, "leaving", uuid.Nil, receipt.Proof)
	if err != nil {
		panic(err)
	}
	fmt.Println(again.ID == receipt.ID, again.Kind)

	// Output:
	// memories 1
	// river_job 1
	// true user
}

func ExampleClient_ExportUser() {
	ctx := context.Background()
	pool := connect(ctx)
	defer pool.Close()
	client, err := oxbow.New(pool)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)

	id, err := client.Remember(ctx, oxbow.NewMemory{UserID: "exported", Content: "Ann lives in Berlin."})
	if err != nil {
		panic(err)
	}
	if _, err := client.Supersede(ctx, "exported", id, oxbow.Replacement{Content: "Ann lives in Paris."}); err != nil {
		panic(err)
	}
	var file bytes.Buffer
	written, err := client.ExportUser(ctx, "exported", &file)
	if err != nil {
		panic(err)
	}
	fmt.Println(written.Memories, "versions,", written.Records, "other records")

	if _, err := client.EraseUser(ctx, "exported"); err != nil {
		panic(err)
	}
	read, err := client.Import(ctx, &file, oxbow.ImportOptions{Traits: true})
	if err != nil {
		panic(err)
	}
	fmt.Println(read.New, "versions,", read.Records, "other records")

	// Output:
	// 2 versions, 2 other records
	// 2 versions, 2 other records
}

func ExampleClient_Import() {
	ctx := context.Background()
	pool := connect(ctx)
	defer pool.Close()
	client, err := oxbow.New(pool)
	if err != nil {
		panic(err)
	}
	defer client.Close(ctx)

	file := `
{"user": "imported", "id": "1", "session": "chat 1", "seq": 1, "speaker": "Ann", "at": "2025-10-12T08:30:00Z", ` +
		`"content": "I adopted a cat."}
{"user": "imported", "id": "2", "session": "chat 1", "seq": 2, "speaker": "Mel", "at": "2025-10-12T08:30:20Z", ` +
		`"content": ""}
`
	_, err = client.Import(ctx, strings.NewReader(file), oxbow.ImportOptions{})
	fmt.Println(err)

	report, err := client.Import(ctx, strings.NewReader(file), oxbow.ImportOptions{SkipBad: true})
	if err != nil {
		panic(err)
	}
	fmt.Println(report.New, "new,", report.Bad, "left out")

	// Output:
	// line 3: content must not be blank, got ""
	// 1 new, 1 left out
}
