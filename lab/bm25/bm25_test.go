package bm25

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTerms(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"swim", "hop", "bus", "nation", "2024"}, Terms("swimming hoped buses nations 2024"))
	require.Equal(t, []string{"dog", "run", "run", "hous"}, Terms("The dogs were running; she runs a house."))
	require.Equal(t, []string{"我喜", "喜欢", "欢猫", "cat", "猫"}, Terms("我喜欢猫, cats 猫。"))
	require.Empty(t, Terms("What is it?"))
}

func TestSearch(t *testing.T) {
	t.Parallel()
	x := New([]string{
		"The dog sleeps.",
		"A cat and a dog sleep in the house by the river with everybody else.",
		"Rain again.",
		"The dog sleeps.",
	})
	found := x.Search("dogs sleeping", nil)
	require.Len(t, found, 3)
	require.Equal(t, []int{0, 3, 1}, []int{found[0].Text, found[1].Text, found[2].Text},
		"short texts first, of equal scores the earlier one")
	// By hand: N = 4, three texts have each term, idf = ln(1 + 1.5/3.5); lengths 2, 7, 2, 2, so 3.25 on average.
	require.InDelta(t, 2*0.3566749439*2.2/(1+1.2*(0.25+0.75*2/3.25)), found[0].Score, 1e-9)
	require.Equal(t, found[1:], x.Search("dogs sleeping", func(text int) bool { return text > 0 }))
	require.Empty(t, x.Search("the", nil))
	require.Empty(t, New(nil).Search("dog", nil))
}
