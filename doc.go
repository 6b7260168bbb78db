// Package oxbow remembers things about an application's users, and recalls them, in the application's own PostgreSQL.
//
// A plain INSERT into oxbow.memories is all that an application in any language needs; this package does the same from
// Go, with types, and with the embedding of queries:
//
//	client, err := oxbow.New(pool)
//	id, err := client.Remember(ctx, oxbow.NewMemory{UserID: "ann", Content: "Ann plays the cello."})
//	found, err := client.Recall(ctx, oxbow.Query{UserID: "ann", Text: "Which instrument does she play?"})
//
// A method of a client runs in a transaction of its own. Bound to a transaction of the caller's, it commits or rolls
// back with whatever else happens there:
//
//	id, err := client.WithTx(tx).Remember(ctx, memory)
//
// What is remembered can be recalled as soon as a worker (`oxbow work`, or package worker) has embedded it. The schema
// is made by `oxbow migrate up`.
package oxbow
