package rules

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// maxPreferences and maxCores are how many traits may be made of others.
const (
	maxPreferences = 3
	maxCores       = 1
)

// clusters proposes preferences of behaviors in one group, and traits of subtype core of preferences in one dimension.
// Confidence is looked at only to spare proposals that the rules would refuse.
func (r *Reasoner) clusters(traits held, room *room) []reasoner.Cluster {
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
		if hasHan(t.Content) {
			zh++
		}
		switch t.Subtype {
		case lifecycle.Behavior:
			g := r.groupOf(t, traits)
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
				d := r.v.groups[id].dimension
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
			Content: named(name, chinese, r.v.groups[id].zh, r.v.groups[id].en), Members: members[g]})
	}
	for _, d := range dimensions {
		key := "dimension:" + d
		id, name, _ := strings.Cut(d, "@")
		if len(preferences[d]) < 2 || made[key] || nCores >= maxCores || !room.takeCluster() {
			continue
		}
		nCores++
		all = append(all, reasoner.Cluster{Key: key, Subtype: lifecycle.CoreTrait,
			Content: named(name, chinese, r.v.dimensions[id][0], r.v.dimensions[id][1]), Members: preferences[d]})
	}
	return all
}

func named(name string, chinese bool, zh, en string) string {
	switch {
	case chinese:
		return name + zh
	case name == "":
		return en
	}
	return title(name) + " " + strings.ToLower(en[:1]) + en[1:]
}

// groupOf returns the group that a behavior belongs to, with the person's name in a record of a dialogue; "" if none.
func (r *Reasoner) groupOf(t *reasoner.Trait, traits held) string {
	head, id, _ := strings.Cut(t.Key, ":")
	id, name, _ := strings.Cut(id, "@")
	g := ""
	switch {
	case head == kindNames[doing] && r.v.activities[id] != nil:
		g = r.v.activities[id].group
	case head == kindNames[eating]:
		g = r.foodGroup(id)
	default:
		g = traits.signs[t.ID].group
	}
	if g != "" && name != "" {
		g += "@" + name
	}
	return g
}

func (r *Reasoner) foodGroup(name string) string {
	if d, ok := r.v.dishAt(name); ok {
		return d.group
	}
	if all := tokens(name, nil); len(all) > 0 {
		if p, ok := r.v.phraseAt(all); ok {
			return p.food
		}
	}
	return ""
}
