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
	personas, err := ReadPersonas(strings.NewReader(twoPersons))
	require.NoError(t, err)
	require.Len(t, personas, 2)
	require.Equal(t, "ada", personas[0].User, "in the order of the users' names")
	require.Equal(t, Interest{Kind: "food", Name: "noodles", Match: []string{"noodles"}}, personas[1].Interests[2])

	for _, bad := range []struct{ name, json, says string }{
		{"not JSON", `wen`, "must be a JSON object"},
		{"a list", `[]`, "must be a JSON object"},
		{"no words", `{"wen":{"interests":[{"name":"chess","match":[]}]}}`, `person "wen": interest "chess": match`},
		{"an empty word", `{"wen":{"interests":[{"name":"chess","match":["a",""]}]}}`, "not empty"},
		{"no name", `{"wen":{"interests":[{"match":["a"]}]}}`, "interests[0].name"},
	} {
		_, err := ReadPersonas(strings.NewReader(bad.json))
		require.ErrorContains(t, err, bad.says, bad.name)
	}
}

func TestSeenInterests(t *testing.T) {
	t.Parallel()
	personas, err := ReadPersonas(strings.NewReader(twoPersons))
	require.NoError(t, err)
	category := func(text string) (string, bool) { return "health", strings.Contains(text, "ill") }

	report := SeenInterests(personas, map[string][]string{
		"wen": {"Often plays chess", "Likes board games", "Is ill"},
		"eve": {"Often goes sailing"},
	}, category)
	require.Equal(t, 2, report.Seen)
	require.Equal(t, 4, report.Total)
	require.InDelta(t, 0.5, report.Share, 1e-9)
	require.Equal(t, 3, report.Most)
	require.Equal(t, []string{"sailing"}, report.Persons[0].Missed, "another user's traits do not count")
	require.Equal(t, []Sighting{{"chess", "Often plays chess"}, {"board games", "Likes board games"}},
		report.Persons[1].Sightings)
	require.Equal(t, []string{"noodles"}, report.Persons[1].Missed)
	require.Equal(t, []Sensible{{"Is ill", "health"}}, report.Persons[1].Sensitive)

	one := SeenInterests(personas[1:], map[string][]string{"wen": {"CHESS"}}, nil)
	require.Equal(t, 1, one.Seen, "a trait counts for one interest only")
	require.Empty(t, one.Persons[0].Sensitive)
	require.Zero(t, SeenInterests(nil, nil, nil).Share)
}

// A greedy choice would give the first interest the only trait that the second could have.
func TestSeenInterestsMatchesAsManyAsPossible(t *testing.T) {
	t.Parallel()
	personas := []Persona{{User: "u", Interests: []Interest{
		{Name: "either", Match: []string{"tea", "coffee"}}, {Name: "tea", Match: []string{"tea"}},
	}}}
	require.Equal(t, 2, SeenInterests(personas, map[string][]string{"u": {"likes tea", "likes coffee"}}, nil).Seen)

	// Against trying every assignment, on small random graphs.
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		nInterests, nTraits := 1+rng.IntN(5), rng.IntN(6)
		p := Persona{User: "u"}
		texts := make([]string, nTraits)
		edge := make([][]bool, nInterests)
		for i := range nInterests {
			word := string(rune('a' + i))
			p.Interests = append(p.Interests, Interest{Name: word, Match: []string{word}})
			edge[i] = make([]bool, nTraits)
			for j := range nTraits {
				if edge[i][j] = rng.IntN(3) == 0; edge[i][j] {
					texts[j] += word
				}
			}
		}
		require.Equal(t, best(edge, 0, map[int]bool{}), SeenInterests([]Persona{p}, map[string][]string{"u": texts},
			nil).Seen)
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
