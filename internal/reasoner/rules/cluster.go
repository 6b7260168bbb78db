package rules

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reasoner/pattern"
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
	ends := contrasts{}
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
		if t.Parent != uuid.Nil {
			continue
		}
		head, id, _ := strings.Cut(t.Key, ":")
		id, name, _ := strings.Cut(id, "@")
		switch {
		case t.Subtype == lifecycle.Behavior && t.Confidence >= room.policies.PromotePreference:
			if g := groupOf(t, head, id, traits); g != "" {
				groups.add(g, name, t.ID)
				ends.add(lifecycle.Preference, words().groups[g].group, name, t)
			}
		case t.Subtype == lifecycle.Preference && t.Confidence >= room.policies.PromoteCore && head == "group":
			dimensions.add(words().groups[id].group, name, t.ID)
			ends.add(lifecycle.CoreTrait, words().groups[id].group, name, t)
		}
	}
	slices.SortStableFunc(groups.ids, func(a, b string) int { return len(groups.members[b]) - len(groups.members[a]) })
	chinese := 2*zh > len(traits.all)
	taken := map[uuid.UUID]bool{}
	propose := func(shared tendencies, head string, entries map[string]entry, subtype lifecycle.Subtype) {
		for _, id := range shared.ids {
			key := head + ":" + id
			if len(shared.members[id]) < 2 || made[key] {
				continue
			}
			c := reasoner.Cluster{Key: key, Subtype: subtype, Members: shared.members[id]}
			for _, m := range c.Members {
				taken[m] = true
			}
			id, name, _ := strings.Cut(id, "@")
			c.Content = of(name, entries[id].say(chinese), chinese)
			all = append(all, c)
		}
	}
	propose(groups, "group", words().groups, lifecycle.Preference)
	propose(dimensions, "dimension", words().dimensions, lifecycle.CoreTrait)
	for _, c := range ends.clusters(taken, chinese) {
		if !made[c.Key] {
			all = append(all, c)
		}
	}
	return all
}

// groupOf returns the group that a behavior belongs to, by its key or else by its sentence; "" if none.
func groupOf(t *reasoner.Trait, head, id string, traits held) string {
	switch head {
	case kindNames[doing]:
		return cmp.Or(activityOf(id).group, traits.signs[t.ID].group)
	case kindNames[eating]:
		return foodOf(id).group
	case kindNames[acting]:
		return words().actsByID[id].group
	case kindNames[self]:
		return words().selvesByID[id].group
	}
	return traits.signs[t.ID].group
}

// contrasts are traits of opposite ends of a dimension, by the subtype that they may make, the dimension and its end.
type contrasts map[contrast][]*reasoner.Trait

type contrast struct {
	subtype              lifecycle.Subtype
	dimension, name, end string
}

func (c contrasts) add(subtype lifecycle.Subtype, dimension, name string, t *reasoner.Trait) {
	for _, end := range []string{"high", "low"} {
		if base, ok := strings.CutSuffix(dimension, "_"+end); ok {
			k := contrast{subtype, base, name, end}
			c[k] = append(c[k], t)
		}
	}
}

// clusters proposes contextual traits: a person who is one thing at work and the opposite at home (C §3.2). It needs a
// trait of each end that shows in one context alone, and the contexts must differ. Traits that make another one are left.
func (c contrasts) clusters(taken map[uuid.UUID]bool, zh bool) (all []reasoner.Cluster) {
	inContext := func(k contrast) (t *reasoner.Trait) {
		for _, t := range c[k] {
			if !taken[t.ID] && slices.Contains(contexts[:len(contexts)-1], t.Context) {
				return t
			}
		}
		return nil
	}
	keys := slices.SortedFunc(maps.Keys(c), func(a, b contrast) int {
		return cmp.Or(strings.Compare(string(a.subtype), string(b.subtype)), strings.Compare(a.dimension, b.dimension),
			strings.Compare(a.name, b.name))
	})
	for _, k := range keys {
		if k.end != "high" {
			continue
		}
		opposite := k
		opposite.end = "low"
		high, low := inContext(k), inContext(opposite)
		if high == nil || low == nil || high.Context == low.Context {
			continue
		}
		key := "contrast:" + k.dimension
		if k.subtype == lifecycle.CoreTrait {
			key += ":core"
		}
		if k.name != "" {
			key += "@" + k.name
		}
		text := pick(zh, conditionWords[high.Context][0]+high.Content+"，"+conditionWords[low.Context][0]+low.Content,
			capitalized(conditionWords[high.Context][1])+": "+lowerFirst(high.Content)+"; "+conditionWords[low.Context][1]+": "+
				lowerFirst(low.Content))
		all = append(all, reasoner.Cluster{Key: key, Subtype: k.subtype, Content: of(k.name, text, zh),
			Members: []uuid.UUID{high.ID, low.ID}, Contexts: map[string]string{high.Context: high.Content, low.Context: low.Content}})
	}
	return all
}

func capitalized(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
