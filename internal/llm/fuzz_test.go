package llm

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/llm/answer"
	"github.com/oxbow-memory/oxbow/internal/llm/llmtest"
	"github.com/oxbow-memory/oxbow/internal/llm/wording"
	"github.com/oxbow-memory/oxbow/internal/oneline"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// requireLine checks that a text is one storable line of at most most characters.
func requireLine(t *testing.T, text string, most int) {
	t.Helper()
	require.True(t, utf8.ValidString(text), "%q", text)
	require.False(t, strings.ContainsFunc(text, oneline.Unprintable), "%q", text)
	require.LessOrEqual(t, utf8.RuneCountInString(text), most+1) // an ellipsis
}

// FuzzVerdict checks that no answer to a review does harm.
func FuzzVerdict(f *testing.F) {
	split := []llmtest.Tendency{{Context: "work", Tendency: "drinks what there is"},
		{Context: "personal", Tendency: "在家手冲咖啡"}}
	f.Add(llmtest.Verdict{Action: "split", Content: "makes coffee by hand at home", Tendencies: split,
		Reason: "it\ndepends"}.JSON(), false)
	f.Add(llmtest.Verdict{Action: "revise", Content: "周末手冲咖啡", Reason: "周末"}.JSON(), true)
	f.Add(`{"action":"keep","content":null,"tendencies":null,"reason":"\u202e\ud800"}`, false)
	f.Fuzz(func(t *testing.T, text string, edited bool) {
		var read answer.Verdict
		if decode(text, &read) != nil {
			return
		}
		trait := reviewCase().Trait
		trait.Edited = edited
		v, err := verdictOf(read, trait)
		if err != nil {
			require.Less(t, len(err.Error()), 500) // it is sent to the model and stored
			return
		}
		requireLine(t, v.Reason, reasoner.MaxWording)
		requireLine(t, v.Content, reasoner.MaxWording)
		switch v.Action {
		case reasoner.Keep, reasoner.Dissolve:
			require.Empty(t, v.Content)
			require.Empty(t, v.Tendencies)
		case reasoner.Revise:
			require.NotEmpty(t, v.Content)
			require.False(t, edited)
		case reasoner.Split:
			require.NotEmpty(t, v.Content)
			require.GreaterOrEqual(t, len(v.Tendencies), 2)
			for context, tendency := range v.Tendencies {
				require.Contains(t, answer.Contexts, context)
				require.NotEmpty(t, tendency)
				requireLine(t, tendency, reasoner.MaxWording)
			}
		default:
			t.Fatalf("%q: %+v", text, v)
		}
	})
}

// FuzzSummary checks that no summary is kept that is too long or in a language that nobody used.
func FuzzSummary(f *testing.F) {
	f.Add(llmtest.Summary("The user lives in Bergen."), "I live in Bergen.")
	f.Add("```json\n"+llmtest.Summary("用户住在卑尔根。")+"\n```", "我住在卑尔根")
	f.Add(`<think>hm</think>{"summary":"\u2028\ud800"}`, "")
	f.Fuzz(func(t *testing.T, text, said string) {
		var read answer.Summary
		if decode(text, &read) != nil {
			return
		}
		summary, err := checked(read, []string{said})
		if err != nil {
			require.Less(t, len(err.Error()), 500)
			return
		}
		requireLine(t, summary, reasoner.MaxSummary)
		require.False(t, wording.Instructs(summary), "%q", summary)
		require.Empty(t, wording.Translated(summary, []string{said}))
	})
}
