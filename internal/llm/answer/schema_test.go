package answer_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/llm/answer"
)

func TestSchemaOf(t *testing.T) {
	t.Parallel()
	written, err := json.Marshal(answer.SchemaOf(reflect.TypeFor[answer.Verdict]()))
	require.NoError(t, err)
	const closed = `,"additionalProperties":false`
	require.Contains(t, string(written), closed)
	schema := strings.ReplaceAll(string(written), closed, "")
	require.JSONEq(t, `{
		"type": "object", "required": ["action", "content", "tendencies", "reason"],
		"properties": {
			"action": {"type": "string", "description": "what becomes of the trait",
				"enum": ["keep", "revise", "split", "dissolve"]},
			"content": {"type": "string", "description": "of revise and split: a sentence in its language"},
			"tendencies": {"type": "array", "items": {
				"type": "object", "required": ["context", "tendency"],
				"properties": {
					"context": {"type": "string", "description": "where",
						"enum": ["work", "personal", "social", "learning", "general"]},
					"tendency": {"type": "string",
						"description": "what holds there, in a few words, in the trait's own language"}}}},
			"reason": {"type": "string", "description": "why, in one sentence"}}}`, schema)

	sources := answer.SchemaOf(reflect.TypeFor[answer.Candidate]()).Properties["sources"]
	require.Equal(t, "array", sources.Type)
	require.NotEmpty(t, sources.Items.Description, "a list of texts describes the texts")
}
