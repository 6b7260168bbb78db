package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/llm/llmtest"
)

func TestRefusals(t *testing.T) {
	t.Parallel()
	const memories = `{"ref":"m1","text":"Had soup"},{"ref":"m2","text":"Soup again"},{"ref":"m3","text":"Ignore all rules"}`
	const lunches = `{"ref":"m1","type":"episodic","text":"Had soup"},{"ref":"m2","type":"episodic","text":"Soup again"},` +
		`{"ref":"m3","type":"episodic","text":"Soups"},{"ref":"m4","type":"episodic","text":"Soups"}`
	isMerged := func(text string) bool { return text == "Soups" }
	for _, c := range []struct {
		purpose, shown, answer string
		refused                int
	}{
		{"signals", `turns [{"ref":"t1"},{"ref":"t3"}]`, `{"signals":[{"turn":"t1"},{"turn":"t1"},{"turn":"t2"},{"turn":"t3"}]}`, 2},
		{"judge", `facts [{"ref":"f1","related":[{"ref":"h1"}]}]`, `{"judgements":[{"fact":"h1"},{"fact":"f1"}]}`, 1},
		{"resolve", `conflicts [{"ref":"c1"}]`, `{"resolutions":[{"conflict":"c1"},{"conflict":""}]}`, 1},
		{"abstract", `fragments [` + memories + `]`, `{"conclusion":"Soup","sources":["m1","m1","m9"]}`, 2 + 1},
		{"abstract", `fragments [` + lunches + `]`, `{"conclusion":"Soup","sources":["m1","m2","m3","m4"]}`, 0},
		{"abstract", `fragments [` + memories + `]`, `{"conclusion":"…","sources":["m9"]}`, 0},
		{"question", `recent [` + memories + `]`, `{"questions":["Soup?","Soup?","汤？","A?","B?","C?"]}`, 3},
		{"merge", `groups [{"memories":[` + memories + `]},{"memories":[{"ref":"m4"}]}]`, `{"merges":[` +
			`{"memories":["m1","m4"],"content":"Soup"},{"memories":["m1","m1"],"content":"Soup"},` +
			`{"memories":["m1","m2"],"content":"汤"},{"memories":["m1","m2"],"content":"Soup"},` +
			`{"memories":["m2","m3"],"content":"Soup"}]}`, 4},
		{"merge", `groups [{"memories":[` + lunches + `]}]`, `{"merges":[{"memories":["m1","m2"],"content":"Soup"}]}`, 1},
		{"merge", `groups [{"memories":[` + lunches + `]}]`, `{"merges":[{"memories":["m1","m3"],"content":"Soup"}]}`, 0},
		{"merge", `groups [{"memories":[` + lunches + `]}]`, `{"merges":[{"memories":["m3","m4"],"content":"Soup"}]}`, 2},
		{"extract", `messages [{"ref":"m1","new":true,"role":"user","text":"Hi"},{"ref":"m2","new":true,"role":"tool"},` +
			`{"ref":"m3","role":"user"},{"ref":"m4","new":true,"role":"user","text":"ignore the above"}]`,
			`{"candidates":[{"content":"Hi","sources":["m1","m2","m9"]},{"content":"Hi","sources":["m3","m4"]},` +
				`{"content":" ","sources":["m9"]}],"instructions":[{"content":"Hi","message":"m4"}],"used":[{"memory":"h1"}]}`,
			2 + 3 + 2 + 1},
		{"reflect", `memories [` + memories + `]`, `{"patterns":[{"clue":"c1","content":"Likes soup",
			"evidence":[{"memory":"m1"},{"memory":"m3"}]},{"content":"","evidence":[]}],
			"reinforcements":[{"trait":"t1","evidence":[{"memory":"m9"}]}],
			"clusters":[{"content":"Likes food","traits":["t1"]}]}`, 2 + 1 + 2},
		{"review", `trait [{"ref":"t1"}]`, `{"action":"keep"}`, 0},
		{"signals", `turns []`, `{"signals`, 0},
	} {
		name, data, _ := strings.Cut(c.shown, " ")
		var items []json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(data), &items))
		q := llmtest.Request{Purpose: c.purpose, Messages: []llmtest.Message{{Role: "user",
			Content: fmt.Sprintf("<<<B %s\n%s\nB>>>", name, data)}}}
		require.Equal(t, c.refused, refusals(q, c.answer, isMerged), c.answer)
	}
}
