package main

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const twoPersons = `{
  "wen": {"name": "Wen", "job": "florist", "interests": [
    {"kind": "hobby", "name": "chess", "match": ["chess", "下棋"]},
    {"kind": "hobby", "name": "board games", "match": ["board games"]},
    {"kind": "food", "name": "noodles", "match": ["noodles"]}]},
  "ada": {"name": "Ada", "interests": [{"kind": "hobby", "name": "sailing", "match": ["sail"]}]}
}`

func TestReadPersonas(t *testing.T) {
	t.Parallel()
	personas, err := readPersonas(strings.NewReader(twoPersons))
	require.NoError(t, err)
	require.Len(t, personas, 2)
	require.Equal(t, "ada", personas[0].user, "in the order of the users' names")
	require.Equal(t, interest{Name: "noodles", Match: []string{"noodles"}}, personas[1].Interests[2])

	for _, bad := range []struct{ name, json, says string }{
		{"not JSON", `wen`, "must be a JSON object"},
		{"a list", `[]`, "must be a JSON object"},
		{"no words", `{"wen":{"interests":[{"name":"chess","match":[]}]}}`, `person "wen": interests[0]`},
		{"an empty word", `{"wen":{"interests":[{"name":"chess","match":["a",""]}]}}`, "words to match"},
		{"no name", `{"wen":{"interests":[{"match":["a"]}]}}`, "a name"},
	} {
		_, err := readPersonas(strings.NewReader(bad.json))
		require.ErrorContains(t, err, bad.says, bad.name)
	}
}

func TestMissed(t *testing.T) {
	t.Parallel()
	personas, err := readPersonas(strings.NewReader(twoPersons))
	require.NoError(t, err)
	require.Equal(t, []string{"sailing"}, personas[0].missed(nil))
	require.Equal(t, []string{"noodles"}, personas[1].missed([]string{"Often plays CHESS", "Likes board games", "Is ill"}))
	require.Len(t, personas[1].missed([]string{"Plays chess and board games"}), 2, "a trait counts for one interest only")
}

// A greedy choice would give the first interest the only trait that the second could have.
func TestMissedIsMinimal(t *testing.T) {
	t.Parallel()
	p := persona{Interests: []interest{
		{Name: "either", Match: []string{"tea", "coffee"}}, {Name: "tea", Match: []string{"tea"}},
	}}
	require.Empty(t, p.missed([]string{"likes tea", "likes coffee"}))

	// Against trying every assignment, on small random graphs.
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		nInterests, nTraits := 1+rng.IntN(5), rng.IntN(6)
		p := persona{}
		texts := make([]string, nTraits)
		edge := make([][]bool, nInterests)
		for i := range nInterests {
			word := string(rune('a' + i))
			p.Interests = append(p.Interests, interest{Name: word, Match: []string{word}})
			edge[i] = make([]bool, nTraits)
			for j := range nTraits {
				if edge[i][j] = rng.IntN(3) == 0; edge[i][j] {
					texts[j] += word
				}
			}
		}
		require.Equal(t, best(edge, 0, map[int]bool{}), nInterests-len(p.missed(texts)))
	}
}

func best(edge [][]bool, i int, used map[int]bool) int {
	if i == len(edge) {
		return 0
	}
	most := best(edge, i+1, used)
	for j, ok := range edge[i] {
		if ok && !used[j] {
			used[j] = true
			most = max(most, 1+best(edge, i+1, used))
			delete(used, j)
		}
	}
	return most
}
