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

// tendencies are traits by what they have in common, in the order in which it first shows.
type tendencies struct {
	ids     []string
	members map[string][]uuid.UUID
}

func (t *tendencies) add(id, name string, member uuid.UUID) {
	if name != "" {
		id += "@" + name
	}
	if t.members[id] == nil {
		t.ids = append(t.ids, id)
	}
	t.members[id] = append(t.members[id], member)
}

// clusters proposes preferences from behaviors of one group, and traits of subtype core from preferences of one
// dimension. It considers confidence only to avoid proposals that would be refused.
func clusters(traits held, room *room) (all []reasoner.Cluster) {
	groups, dimensions := tendencies{members: map[string][]uuid.UUID{}}, tendencies{members: map[string][]uuid.UUID{}}
	made := map[string]bool{}
	count := map[lifecycle.Subtype]int{}
	zh := 0
	for i := range traits.all {
		t := &traits.all[i]
		made[t.Key] = made[t.Key] || live(t)
		if !t.Stage.Visible() {
			continue
		}
		if pattern.HasHan(t.Content) {
			zh++
		}
		count[t.Subtype]++
		if t.Parent != uuid.Nil {
			continue
		}
		head, id, _ := strings.Cut(t.Key, ":")
		id, name, _ := strings.Cut(id, "@")
		switch {
		case t.Subtype == lifecycle.Behavior && t.Confidence >= room.policies.PromotePreference:
			if g := groupOf(t, head, id, traits); g != "" {
				groups.add(g, name, t.ID)
			}
		case t.Subtype == lifecycle.Preference && t.Confidence >= room.policies.PromoteCore && head == "group":
			dimensions.add(words().groups[id].group, name, t.ID)
		}
	}
	slices.SortStableFunc(groups.ids, func(a, b string) int { return len(groups.members[b]) - len(groups.members[a]) })
	propose := func(shared tendencies, head string, entries map[string]entry, subtype lifecycle.Subtype, most int) {
		for _, id := range shared.ids {
			key := head + ":" + id
			if len(shared.members[id]) < 2 || made[key] || count[subtype] >= most || !room.takeCluster() {
				continue
			}
			count[subtype]++
			name, chinese := "", 2*zh > len(traits.all)
			c := reasoner.Cluster{Key: key, Subtype: subtype, Members: shared.members[id]}
			id, name, _ = strings.Cut(id, "@")
			c.Content = of(name, entries[id].say(chinese), chinese)
			all = append(all, c)
		}
	}
	propose(groups, "group", words().groups, lifecycle.Preference, maxPreferences)
	propose(dimensions, "dimension", words().dimensions, lifecycle.CoreTrait, maxCores)
	return all
}

// groupOf returns the group that a behavior belongs to, by its key or else by its sentence; "" if none.
func groupOf(t *reasoner.Trait, head, id string, traits held) string {
	switch head {
	case kindNames[doing]:
		return cmp.Or(words().byID[id].group, traits.signs[t.ID].group)
	case kindNames[eating]:
		return foodOf(id).group
	}
	return traits.signs[t.ID].group
}
