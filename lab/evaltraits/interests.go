package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Persona lists the known interests of a person of an evaluation set.
type Persona struct {
	User      string
	Name      string
	Interests []Interest
}

// Interest is an interest that reflection should find.
type Interest struct {
	Kind  string   `json:"kind"` // hobby, food
	Name  string   `json:"name"`
	Match []string `json:"match"` // a trait that shows the interest contains one of these words
}

// ReadPersonas reads {"USER":{"name":N,"interests":[{"kind":K,"name":N,"match":[WORD,…]},…]},…}.
// They come in the order of their users' names. An error names the person, the field and the value.
func ReadPersonas(r io.Reader) ([]Persona, error) {
	var file map[string]struct {
		Name      string     `json:"name"`
		Interests []Interest `json:"interests"`
	}
	if err := json.NewDecoder(r).Decode(&file); err != nil {
		return nil, fmt.Errorf("must be a JSON object of persons by their user: %w", err)
	}
	personas := make([]Persona, 0, len(file))
	for user, p := range file {
		for i, interest := range p.Interests {
			if interest.Name == "" {
				return nil, fmt.Errorf(`person %q: interests[%d].name must not be empty`, user, i)
			}
			if len(interest.Match) == 0 || slices.Contains(interest.Match, "") {
				return nil,
					fmt.Errorf("person %q: interest %q: match must be a list of words that are not empty, got %q", user,
						interest.Name, interest.Match)
			}
		}
		personas = append(personas, Persona{User: user, Name: p.Name, Interests: p.Interests})
	}
	slices.SortFunc(personas, func(a, b Persona) int { return strings.Compare(a.User, b.User) })
	return personas, nil
}

// TraitReport says how many of the interests were seen.
type TraitReport struct {
	Seen    int            `json:"seen"`
	Total   int            `json:"total"`
	Share   float64        `json:"share"` // of the interests that were seen, 0 to 1; 0 if there are none
	Most    int            `json:"most"`  // how many visible traits the person with the most has
	Persons []PersonReport `json:"persons"`
}

// PersonReport is a TraitReport of one person.
type PersonReport struct {
	User      string     `json:"user"`
	Seen      int        `json:"seen"`
	Total     int        `json:"total"`
	Traits    int        `json:"traits"` // visible ones
	Sightings []Sighting `json:"sightings"`
	Missed    []string   `json:"missed"` // names of interests
	Sensitive []Sensible `json:"sensitive"`
}

// Sighting is an interest with the trait that counts for it.
type Sighting struct {
	Interest string `json:"interest"`
	Trait    string `json:"trait"`
}

// Sensible is a trait in a sensitive category, which must not exist.
type Sensible struct {
	Trait    string `json:"trait"`
	Category string `json:"category"`
}

// SeenInterests compares the sentences of the visible traits of each user with the person's
// interests. An interest is seen when a trait contains one of its words (upper and lower case
// alike), and a trait counts for one interest only: as many as possible are seen, by a maximum
// matching. sensitive, if not nil, returns the sensitive category of a text.
func SeenInterests(personas []Persona, traits map[string][]string,
	sensitive func(text string) (category string, ok bool)) TraitReport {
	report := TraitReport{Persons: make([]PersonReport, 0, len(personas))}
	for _, p := range personas {
		person := seenOf(p, traits[p.User])
		for _, t := range traits[p.User] {
			if sensitive == nil {
				break
			}
			if category, ok := sensitive(t); ok {
				person.Sensitive = append(person.Sensitive, Sensible{Trait: t, Category: category})
			}
		}
		report.Seen += person.Seen
		report.Total += person.Total
		report.Most = max(report.Most, person.Traits)
		report.Persons = append(report.Persons, person)
	}
	if report.Total > 0 {
		report.Share = float64(report.Seen) / float64(report.Total)
	}
	return report
}

func seenOf(p Persona, traits []string) PersonReport {
	shows := make([][]int, len(p.Interests)) // the traits that may count for each interest
	for i, interest := range p.Interests {
		for j, t := range traits {
			lower := strings.ToLower(t)
			if slices.ContainsFunc(interest.Match, func(word string) bool {
				return strings.Contains(lower, strings.ToLower(word))
			}) {
				shows[i] = append(shows[i], j)
			}
		}
	}
	counts := matching(shows, len(traits))
	r := PersonReport{User: p.User, Total: len(p.Interests), Traits: len(traits), Sightings: []Sighting{},
		Missed: []string{}, Sensitive: []Sensible{}}
	for i, interest := range p.Interests {
		if counts[i] < 0 {
			r.Missed = append(r.Missed, interest.Name)
			continue
		}
		r.Seen++
		r.Sightings = append(r.Sightings, Sighting{Interest: interest.Name, Trait: traits[counts[i]]})
	}
	return r
}

// matching returns a maximum matching of a bipartite graph by augmenting paths (Kuhn): for each
// left node its right node, -1 if it has none.
func matching(edges [][]int, right int) []int {
	owner := make([]int, right)
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
	for i := range edges {
		visited = make([]bool, right)
		augment(i)
	}
	matched := make([]int, len(edges))
	for i := range matched {
		matched[i] = -1
	}
	for j, i := range owner {
		if i >= 0 {
			matched[i] = j
		}
	}
	return matched
}
