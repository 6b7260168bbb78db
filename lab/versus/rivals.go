package main

// ours is the name of Oxbow among the rivals, which is compared with the others, and overHTTP that of its server, which is
// not.
const (
	ours     = "oxbow"
	overHTTP = "oxbow-http"
)

// rival is a memory to measure: a directory with an adapter and the packages that it needs.
type rival struct {
	name     string
	about    string // for the page
	database bool   // gets a PostgreSQL

	command []string // set by install
}

var rivals = []rival{
	{name: ours, about: "Oxbow", database: true},
	{name: overHTTP, about: "Oxbow over HTTP", database: true},
	{name: "mem0", about: "mem0 (Python)", database: true},
	{name: "mem0-node", about: "mem0 (Node.js)", database: true},
	{name: "hindsight", about: "Hindsight", database: true},
	{name: "langgraph", about: "LangGraph store", database: true},
	{name: "pgvector", about: "pgvector, one table", database: true},
	{name: "bm25", about: "BM25 (tantivy)"},
}
