package main

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestImportOfTheUnreleasedSchema imports an export written by the program of the unreleased schema
// at version 17: facts, episodes, a forgotten document, messages with memories extracted from them,
// and traits, one edited and one dissolved.
func TestImportOfTheUnreleasedSchema(t *testing.T) {
	t.Parallel()
	const file = "testdata/unreleased-17.jsonl"
	d := onDatabase(t)
	require.Contains(t, d.ok("import", "--traits", file), "15 memories added")

	text, err := os.ReadFile(file)
	require.NoError(t, err)
	old, now := records(t, string(text)), records(t, d.ok("export", "mira"))
	require.Len(t, now, len(old))
	for _, record := range old {
		require.True(t, slices.ContainsFunc(now, func(r map[string]any) bool { return holds(r, record) }), "%v", record)
	}
	d.work()
	require.Contains(t, d.ok("traits", "mira"), "Rows most mornings")
	require.Contains(t, d.ok("check"), "no problems")
	require.Contains(t, d.ok("recall", "mira", "linen thread"), "Mira likes linen thread.")
}

// records decodes the objects of JSON Lines.
func records(t *testing.T, text string) (all []map[string]any) {
	for line := range strings.Lines(text) {
		var record map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &record))
		all = append(all, record)
	}
	return all
}

// holds reports whether the record has all the values of part.
func holds(record, part map[string]any) bool {
	for key, value := range part {
		if !reflect.DeepEqual(record[key], value) {
			return false
		}
	}
	return true
}
