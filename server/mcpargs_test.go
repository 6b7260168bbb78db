package server

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

var searchSchema = argumentsOf[searchArguments]("query", "limit", "types", "valid_as_of", "max_tokens")

func TestLenientArguments(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"query": "tea"}`: `{"query":"tea"}`,
		`{"Q": "tea", "topK": "5", "user_id": "ada"}`:  `{"query":"tea","limit":5}`,
		`"{\"text\": \"tea\"}"`:                        `{"query":"tea"}`,
		`{"query": 2024, "limit": 5.0, "types": null}`: `{"query":"2024","limit":5}`,
		`{"query": "tea", "types": "Fact, episodic"}`:  `{"query":"tea","types":["fact","episodic"]}`,
		`{"query": "tea", "type": "[\"fact\"]"}`:       `{"query":"tea","types":["fact"]}`,
		`{"query": "tea", "asOf": "2024-05-01"}`:       `{"query":"tea","valid_as_of":"2024-05-01T00:00:00Z"}`,
		`{"query": "茶", "at": "2024-05-01 08:30"}`:     `{"query":"茶","valid_as_of":"2024-05-01T08:30:00Z"}`,
		`{"query": "tea", "token-budget": "500"}`:      `{"query":"tea","max_tokens":500}`,
	} {
		in, _, err := decodeArguments[searchArguments](searchSchema, "ada", json.RawMessage(text))
		require.NoError(t, err, text)
		got, err := json.Marshal(in)
		require.NoError(t, err)
		require.JSONEq(t, want, string(got), text)
	}
	id := uuid.New()
	in, target, err := decodeArguments[idArguments](argumentsOf[idArguments]("id"), "ada",
		json.RawMessage(`{"memoryId": " `+memoryURI+strings.ToUpper(id.String())+`"}`))
	require.NoError(t, err)
	require.Equal(t, id, in.ID)
	require.Equal(t, id.String(), target)
}

// An error names the argument, its value and the rule.
func TestWrongArguments(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                                  "query must be given",
		`[1]`:                               `arguments must be a JSON object, got "[1]"`,
		`{"query": "tea", "limit": "many"}`: `limit is invalid: expected integer, got "many"`,
		`{"query": "tea", "limit": 0}`:      "limit is invalid: expected number >= 1, got 0",
		`{"query": "tea", "max_tokens": 1}`: "max_tokens is invalid: expected number >= 200, got 1",
		`{"query": ""}`:                     `query is invalid: expected length >= 1, got ""`,
		`{"query": "tea", "q": "coffee"}`:   `query is given twice, as q and as query, got "tea"`,
		`{"query": "tea", "before": "noon"}`: "before is not an argument of this tool, which has limit, max_tokens, query, types, " +
			"valid_as_of",
		`{"query": "tea", "user_id": "bob"}`: "user_id must be left out: the credential names the user",
		`{"query": "tea", "userId": "bob"}`:  "userId must be left out: the credential names the user",
		`{"query": "tea", "as_of": "monday"}`: "valid_as_of must be a date such as 2024-05-01 or a time such as " +
			`2024-05-01T08:30:00Z, got "monday"`,
		`{"query": "tea", "types": ["poem"]}`: `types[0] is invalid: expected value to be one of "fact, episodic, trait, ` +
			`document", got "poem"`,
	} {
		_, _, err := decodeArguments[searchArguments](searchSchema, "ada", json.RawMessage(text))
		require.EqualError(t, err, want, text)
	}
	_, _, err := decodeArguments[idArguments](argumentsOf[idArguments]("id"), "ada", json.RawMessage(`{"id": "first"}`))
	require.EqualError(t, err, `id must be a UUID, got "first"`)
}

// Whatever a model sends is decoded, or refused with an error that is not too long for it.
func FuzzArguments(f *testing.F) {
	for _, text := range []string{`{"q": "tea", "limit": "5"}`, `{"query": "茶", "types": "fact,episodic", "at": "2024"}`,
		`"{\"query\": \"x\"}"`, `[]`, `{"metadata": "{}", "memory": "x", "importance": "0.5"}`,
		`{"id": "oxbow://memories/x"}`, `{"` + strings.Repeat("\xc6", 1000) + `": 1}`} {
		f.Add([]byte(text))
	}
	newMemory := argumentsOf[NewMemory]("content", "memory_type", "valid_at", "importance", "metadata")
	ids := argumentsOf[idArguments]("id", "max_tokens")
	f.Fuzz(func(t *testing.T, text []byte) {
		_, _, err := decodeArguments[searchArguments](searchSchema, "ada", text)
		_, _, err2 := decodeArguments[NewMemory](newMemory, "ada", text)
		_, _, err3 := decodeArguments[idArguments](ids, "ada", text)
		for _, err := range []error{err, err2, err3} {
			if err != nil {
				require.Less(t, len(err.Error()), 1000+len(text))
			}
		}
	})
}

// The estimate is that of the database, and an answer stays within it.
func TestBudget(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	for _, text := range []string{"", "tea", "林喝绿茶。", "Grüße 🙂 한국어", strings.Repeat("lake ", 100)} {
		var want int
		require.NoError(t, tx.QueryRow(t.Context(), "select oxbow.estimate_tokens($1)", text).Scan(&want))
		require.Equal(t, want, estimateTokens(text), text)
	}
	long := brief{ID: uuid.New(), Content: strings.Repeat("湖边的长椅 <b>\"bench\"</b>\n", 2000)}
	short := brief{ID: uuid.New(), Content: "Ada rows."}
	for _, c := range []struct {
		items         []brief
		kept, leftOut int
	}{{[]brief{long, short}, 1, 1}, {[]brief{short, short, long}, 2, 1}, {[]brief{short}, 1, 0}, {nil, 0, 0}} {
		kept, leftOut := fit(c.items, 200)
		require.Len(t, kept, c.kept)
		require.Equal(t, c.leftOut, leftOut)
		require.LessOrEqual(t, costOf(briefs{Memories: kept, LeftOut: leftOut}), 200)
		require.Equal(t, len(kept) > 0 && kept[0].ID == long.ID, len(kept) > 0 && kept[0].Shortened)
	}
}
