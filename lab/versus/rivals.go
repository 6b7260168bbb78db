package main

// ours is the name of Oxbow among the rivals.
const ours = "oxbow"

// rival is a memory to measure: a directory with an adapter and, for Python, its requirements.
type rival struct {
	name     string
	about    string // for the page
	database bool   // gets a PostgreSQL
	settings string // for the page: how it runs, and what differs from its own advice

	command []string
}

var rivals = []rival{
	{name: ours, about: "Oxbow", database: true},
	{name: "mem0", about: "mem0 (Python)", database: true},
	{name: "langgraph", about: "LangGraph store", database: true},
	{name: "pgvector", about: "pgvector, one table", database: true},
	{name: "bm25", about: "BM25 (tantivy)"},
}
