package rules

import (
	"slices"
)

// Vocabulary returns the keys of all preferences and dimensions that the rules know, sorted. They are words of this
// program and say nothing of a person, unlike a trait's sentence or a key with a name.
func Vocabulary() []string {
	var keys []string
	for id := range words().groups {
		keys = append(keys, "group:"+id)
	}
	for id := range words().dimensions {
		keys = append(keys, "dimension:"+id)
	}
	slices.Sort(keys)
	return keys
}
