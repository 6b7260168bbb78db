// Package oxbow gives an application long-term memory of its users, stored in the application's own
// PostgreSQL database.
//
// An application in any language can store memories with a plain INSERT into oxbow.memories. This package
// does the same from Go, with types, and embeds queries:
//
//	client, err := oxbow.New(pool)
//	id, err := client.Remember(ctx, oxbow.NewMemory{UserID: "ann", Content: "Ann plays the cello."})
//	results, err := client.Recall(ctx, oxbow.Query{UserID: "ann", Text: "Which instrument does she play?"})
//
// A method runs in its own transaction. A client bound to a transaction of the caller uses that one
// instead, and commits or rolls back with it:
//
//	id, err := client.WithTx(tx).Remember(ctx, memory)
//
// A memory can be recalled as soon as a worker has embedded it: run oxbow work, or use package worker. The
// command oxbow migrate up, or package migrations, creates the schema. Package documents ingests files.
// Package sealed manages the keys of secret memories.
//
// Most types are aliases of types in package store, which documents their fields: go doc store.NewMemory.
//
// An invalid value is reported as an *InvalidError. Other errors match ErrNotFound, ErrDenied,
// ErrUnreachable and the rest with errors.Is.
package oxbow
