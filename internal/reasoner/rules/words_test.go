package rules

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/reasoner/language"
	"github.com/oxbow-memory/oxbow/internal/sensitive"
)

// Nothing that the vocabulary can say of a person is of a category of which nothing is inferred.
func TestVocabularyIsNotSensitive(t *testing.T) {
	t.Parallel()
	v := words()
	for _, entries := range []map[string]entry{v.activities, v.acts, v.selves, v.groups, v.dimensions} {
		require.NotEmpty(t, entries)
		for value, e := range entries {
			for _, text := range []string{e.id, e.zh, e.en} {
				require.NotEmpty(t, text, value)
				_, hit := sensitive.Category(text)
				require.False(t, hit, text)
			}
		}
	}
	for _, e := range slices.Concat(slices.Collect(maps.Values(v.activities)), slices.Collect(maps.Values(v.acts))) {
		require.Contains(t, v.groups, e.group, e.id)
	}
	for _, e := range v.groups {
		require.Contains(t, v.dimensions, e.group, e.id)
	}
	for food, group := range foods() {
		_, hit := sensitive.Category(food)
		require.False(t, hit, food)
		require.Contains(t, v.groups, group, food)
	}
}

// foods returns the foods of the lists with their groups.
func foods() map[string]string {
	all := map[string]string{}
	lists := language.Lists()
	for _, name := range lists.Names() {
		if group, ok := strings.CutPrefix(name, "food."); ok {
			for _, food := range lists.List(name) {
				all[food] = group
			}
		}
	}
	return all
}
