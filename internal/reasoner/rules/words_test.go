package rules

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/sensitive"
)

// Nothing that the vocabulary can say of a person is of a category of which nothing is inferred.
func TestVocabularyIsNotSensitive(t *testing.T) {
	t.Parallel()
	r := New()
	for id, a := range r.v.activities {
		for _, text := range []string{"do:" + id, a.zh, a.en} {
			_, hit := sensitive.Category(text)
			require.False(t, hit, text)
		}
	}
	for _, g := range r.v.groups {
		for _, text := range []string{g.zh, g.en} {
			_, hit := sensitive.Category(text)
			require.False(t, hit, text)
		}
		require.Contains(t, r.v.dimensions, g.dimension)
	}
	for _, s := range selves2().said {
		for _, text := range []string{s.zh, s.en} {
			_, hit := sensitive.Category(text)
			require.False(t, hit, text)
		}
	}
	for form, w := range r.v.foods.forms {
		if w.role&(roleDish|roleCommon) != 0 {
			_, hit := sensitive.Category(form)
			require.False(t, hit, form)
			require.Contains(t, r.v.groups, w.group, form)
		}
	}
}
