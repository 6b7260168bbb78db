// Package oxbow gives an application long-term memory of its users, in the application's own PostgreSQL.
//
// A plain INSERT into oxbow.memories is all that an application in any language needs. This package does the same from
// Go, with types, and embeds queries:
//
//	client, err := oxbow.New(pool)
//	id, err := client.Remember(ctx, oxbow.NewMemory{UserID: "ann", Content: "Ann plays the cello."})
//	results, err := client.Recall(ctx, oxbow.Query{UserID: "ann", Text: "Which instrument does she play?"})
//
// A method runs in a transaction of its own, unless the client is bound to a transaction of the caller's: then it
// commits or rolls back with everything else there.
//
//	id, err := client.WithTx(tx).Remember(ctx, memory)
//
// A memory can be recalled as soon as a worker (oxbow work, or package worker) has embedded it. oxbow migrate up, or
// package migrations, makes the schema. Package documents ingests files, and package sealed has the keys of secret
// memories.
//
// An error of a wrong value is an *InvalidError. Other errors are for errors.Is: ErrNotFound, ErrDenied, ErrUnreachable
// and the rest.
package oxbow
