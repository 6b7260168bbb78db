package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// persona is a person of an evaluation set, whose interests reflection should find.
type persona struct {
	user      string
	Interests []interest `json:"interests"`
}

type interest struct {
	Name  string   `json:"name"`
	Match []string `json:"match"` // a trait that shows the interest contains one of these words
}

// readPersonas reads {"USER": {"interests": [{"name": N, "match": [WORD, …]}, …]}, …} and sorts the persons by user.
func readPersonas(r io.Reader) ([]persona, error) {
	var file map[string]persona
	if err := json.NewDecoder(r).Decode(&file); err != nil {
		return nil, fmt.Errorf("personas must be a JSON object that maps users to persons: %w", err)
	}
	var personas []persona
	for user, p := range file {
		for i, in := range p.Interests {
			if in.Name == "" || len(in.Match) == 0 || slices.Contains(in.Match, "") {
				return nil, fmt.Errorf("person %q: interests[%d] must have a name and words to match, got %+v", user, i, in)
			}
		}
		p.user = user
		personas = append(personas, p)
	}
	slices.SortFunc(personas, func(a, b persona) int { return strings.Compare(a.user, b.user) })
	return personas, nil
}

// missed returns the names of the interests that no trait shows. A trait shows an interest if it contains one of its
// words, in upper or lower case, and counts for one interest: as many interests as possible are shown.
func (p persona) missed(traits []string) (names []string) {
	shows := make([][]int, len(p.Interests)) // the traits that may count for each interest
	for i, in := range p.Interests {
		for j, t := range traits {
			if slices.ContainsFunc(in.Match, func(word string) bool {
				return strings.Contains(strings.ToLower(t), strings.ToLower(word))
			}) {
				shows[i] = append(shows[i], j)
			}
		}
	}
	for i, shown := range matching(shows, len(traits)) {
		if !shown {
			names = append(names, p.Interests[i].Name)
		}
	}
	return names
}

// matching finds a maximum matching of a bipartite graph by augmenting paths (Kuhn), and reports which left nodes have
// a right node.
func matching(edges [][]int, right int) []bool {
	owner, matched := make([]int, right), make([]bool, len(edges))
	for j := range owner {
		owner[j] = -1
	}
	var visited []bool
	var augment func(i int) bool
	augment = func(i int) bool {
		for _, j := range edges[i] {
			if visited[j] {
				continue
			}
			visited[j] = true
			if owner[j] < 0 || augment(owner[j]) {
				owner[j] = i
				return true
			}
		}
		return false
	}
	for i := range edges { // a matched node stays matched
		visited = make([]bool, right)
		matched[i] = augment(i)
	}
	return matched
}
