package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// introduce stores a user with traits and memories.
func (d on) introduce() {
	d.t.Helper()
	const trait = `{"user":"ada","memory_type":"trait","trait_subtype":`
	r := d.input(trait+`"core","trait_stage":"established","trait_confidence":0.7,"content":"Is introverted"}
`+trait+`"preference","trait_stage":"emerging","trait_confidence":0.5,"content":"Prefers tea"}
`+trait+`"behavior","trait_stage":"core","trait_confidence":0.9,"content":"Rows at dawn"}
`+trait+`"behavior","trait_stage":"candidate","trait_confidence":0.2,"content":"Whistles"}
{"user":"ada","content":"The boat is called Heron.","memory_type":"fact"}
{"user":"ada","content":"We painted the boat.","speaker":"Ada","at":"2025-10-12T08:00:00Z"}
`, "import", "-", "--traits")
	require.Zero(d.t, r.code, r.err)
	d.work()
}

func TestContext(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	d.introduce()
	const traits = "## Core traits\n- Is introverted\n## Preferences\n- Prefers tea (probably)\n" +
		"## Behaviors\n- Rows at dawn"
	require.Equal(t,
		traits+"\n## Facts and events\n- The boat is called Heron.\n- 2025-10-12, Ada: We painted the boat.",
		d.ok("context", "ada", "What is the boat called?"))
	require.Equal(t, traits, d.ok("context", "ada", "--type", "trait"))
	require.Equal(t, "## Core traits\n- Is introverted", d.ok("context", "ada", "--max-tokens", "12"))
	read := d.input("the boat\n", "context", "ada", "-", "--type", "fact", "--words-only")
	require.Equal(t, "## Facts and events\n- The boat is called Heron.\n", read.out)

	require.Contains(t, d.run("context", "ada", "\xff").err, "text must be valid UTF-8")

	c := decoded[printedContext](t, d.ok("context", "ada", "boat", "--json"))
	require.Len(t, c.Parts, 5)
	require.Equal(t, "core", c.Parts[0].Section)
	require.Equal(t, "established", c.Parts[0].Stage)
	require.Contains(t, c.Text, c.Parts[4].Line)
	require.Positive(t, c.Tokens)
	require.JSONEq(t, `{"text": "", "tokens": 0, "parts": []}`, d.ok("context", "bob", "boat", "--json"))
	none := d.run("context", "bob", "boat")
	require.Zero(t, none.code)
	require.Empty(t, none.out)
	require.Equal(t, "User \"bob\" has nothing to show within 1,000 tokens.\n", none.err)
	require.Contains(t, d.ok("recall", "ada", "who is introverted?", "--explain"),
		"stage established +15.0 %; core, confidence 0.70, 0 supporting, 0 contradicting")
}
