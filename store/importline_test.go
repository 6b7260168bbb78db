package store

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/jsonl"
)

// importLines holds lines of conversation files and exports, and malformed lines.
var importLines = []string{
	`{"type": "memory", "user": "conv-1", "id": "D1:1", "session": "s1", "seq": 1, "speaker": "Caro", "role": "user", "at": "2023-05-08T13:56:00+08:00", "content": "I adopted a cat."}`,
	`{"user_id": "安", "id": "01890a5d-ac96-774b-bcce-b302099a8057", "memory_type": "fact", "content": "住在杭州", "importance": 0.9, "valid_at": "0001-01-01T00:00:00Z", "invalid_at": "9999-12-31T23:59:59.999999Z", "metadata": {"role": "kept", "n": 1e3}}`,
	`{"type": "question", "user": "conv-1", "question": "Which pet?", "gold": ["D1:1"], "category": "1"}`,
	`{"type": "messages", "user_id": "ann", "session_id": "s", "content": "hello", "metadata": {"a": [1, null, "\ud800"]}}`,
	`{"user": "ann", "memory_type": "insight", "content": "likes tea", "trait_stage": "emerging", "trait_confidence": 0.5, "trait_contexts": {"work": {}}, "sensitivity": 0}`,
	`{"user": "ann", "content": "x", "sealed": "\\x00ff", "sealed_key": "1", "sensitivity": 3, "version": -1, "seq": 9223372036854775808}`,
	`{"user": "ann", "user": "bob", "content": null, "importance": 1e400}`, `{"user": "\u0000", "content": "a\u0000"}`,
	"\ufeff{}", "null", "[]", "{", "\xff", "\x1f\x8b\x08\x00", `{"user": "ann", "content": "` +
		strings.Repeat("x", 200) + "\x80\"}", strings.Repeat("[", 100),
}

// FuzzLines checks that every line either parses to values that the database can store, or fails
// with its number and a short, valid message.
func FuzzLines(f *testing.F) {
	for _, line := range importLines {
		f.Add([]byte(line), false)
	}
	f.Add([]byte(strings.Join(importLines, "\r\n")), true)
	f.Fuzz(func(t *testing.T, file []byte, traits bool) {
		in, err := jsonl.NewReader(bytes.NewReader(file))
		if err != nil {
			return
		}
		bad := 0
		src := &importSource{ctx: t.Context(), lines: in, tables: []string{"messages", "trait_events"},
			options: ImportOptions{SkipBad: true, Traits: traits, OnBad: func(e *InvalidError) {
				bad++
				require.Positive(t, e.Line)
				require.NotEmpty(t, e.Rule)
				require.LessOrEqual(t, len(e.Value), 120)
				require.True(t, utf8.ValidString(e.Value), "%q", e.Value)
			}}}
		rows := 0
		for src.fill() {
			rows += len(src.rows)
			for _, row := range src.rows {
				require.Len(t, row, len(copyColumns)+1)
				requireStorable(t, row, traits)
			}
		}
		require.Equal(t, bad, src.report.Bad)
		require.Equal(t, rows, src.report.Memories+src.report.Records)
		require.LessOrEqual(t, rows+bad+src.report.Ignored, src.report.Lines)
		if err := src.err; err != nil {
			require.False(t, errors.As(err, new(*InvalidError)), "%v should have been passed over", err)
		}
	})
}

func requireStorable(t *testing.T, row []any, traits bool) {
	t.Helper()
	value := func(column string) any { return row[1+slices.Index(copyColumns, column)] }
	for i, v := range row[1:] {
		switch v := v.(type) {
		case string:
			require.True(t, utf8.ValidString(v) && !strings.Contains(v, "\x00"), "%s %q", copyColumns[i], v)
		case []byte: // JSON, except for sealed, which is arbitrary bytes
			require.True(t, copyColumns[i] == "sealed" || !strings.Contains(string(v), "\x00"), "%s %q", copyColumns[i],
				v)
		}
	}
	if value("record_table") != nil {
		return
	}
	require.NotEmpty(t, strings.TrimSpace(value("content").(string)))
	require.NotEqual(t, uuid.Nil, value("id"))
	require.LessOrEqual(t, len(value("user_id").(string)), maxUserID)
	if importance := value("importance").(*float64); importance != nil {
		require.True(t, *importance >= 0 && *importance <= 1)
	}
	require.True(t, traits || value("memory_type") != "trait")
}
