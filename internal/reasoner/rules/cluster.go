package rules

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reasoner/pattern"
)

// maxPreferences and maxCores are how many traits may be made of others.
const (
	maxPreferences = 3
	maxCores       = 1
)

// clusters proposes preferences of behaviors in one group, and traits of subtype core of preferences in one dimension.
// Confidence is looked at only to spare proposals that the rules would refuse.
func clusters(traits held, room *room) []reasoner.Cluster {
	members, preferences := map[string][]uuid.UUID{}, map[string][]uuid.UUID{}
	var groups, dimensions []string
	made := map[string]bool{}
	zh := 0
	var nPreferences, nCores int
	for i := range traits.all {
		t := &traits.all[i]
		made[t.Key] = made[t.Key] || live(t)
		if !t.Stage.Visible() {
			continue
		}
		if pattern.HasHan(t.Content) {
			zh++
		}
		switch t.Subtype {
		case lifecycle.Behavior:
			g := groupOf(t, traits)
			if g != "" && t.Confidence >= 0.5 && t.Parent == uuid.Nil {
				if members[g] == nil {
					groups = append(groups, g)
				}
				members[g] = append(members[g], t.ID)
			}
		case lifecycle.Preference:
			nPreferences++
			if id, ok := strings.CutPrefix(t.Key, "group:"); ok && t.Confidence >= 0.6 && t.Parent == uuid.Nil {
				id, name, _ := strings.Cut(id, "@")
				d := words().groups[id].group
				if name != "" {
					d += "@" + name
				}
				if preferences[d] == nil {
					dimensions = append(dimensions, d)
				}
				preferences[d] = append(preferences[d], t.ID)
			}
		case lifecycle.CoreTrait:
			nCores++
		}
	}
	chinese := 2*zh > len(traits.all)
	slices.SortStableFunc(groups, func(a, b string) int { return len(members[b]) - len(members[a]) })
	var all []reasoner.Cluster
	for _, g := range groups {
		key := "group:" + g
		id, name, _ := strings.Cut(g, "@")
		if len(members[g]) < 2 || made[key] || nPreferences >= maxPreferences || !room.takeCluster() {
			continue
		}
		nPreferences++
		all = append(all, reasoner.Cluster{Key: key, Subtype: lifecycle.Preference,
			Content: of(name, words().groups[id].say(chinese), chinese), Members: members[g]})
	}
	for _, d := range dimensions {
		key := "dimension:" + d
		id, name, _ := strings.Cut(d, "@")
		if len(preferences[d]) < 2 || made[key] || nCores >= maxCores || !room.takeCluster() {
			continue
		}
		nCores++
		all = append(all, reasoner.Cluster{Key: key, Subtype: lifecycle.CoreTrait,
			Content: of(name, words().dimensions[id].say(chinese), chinese), Members: preferences[d]})
	}
	return all
}

// groupOf returns the group that a behavior belongs to, with the person's name in a record of a dialogue; "" if none.
func groupOf(t *reasoner.Trait, traits held) string {
	head, id, _ := strings.Cut(t.Key, ":")
	id, name, _ := strings.Cut(id, "@")
	g := traits.signs[t.ID].group
	switch head {
	case kindNames[doing]:
		g = cmp.Or(words().byID[id].group, g)
	case kindNames[eating]:
		g = foodOf(id).group
	}
	if g != "" && name != "" {
		g += "@" + name
	}
	return g
}
