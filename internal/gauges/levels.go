package gauges

import (
	"context"
	"fmt"
	"strings"

	"github.com/oxbow-memory/oxbow/store"
)

// Share is an estimated number of memories.
type Share struct {
	Name     string  `json:"name"`
	Memories float64 `json:"memories"`
}

// readLevels estimates the figures from a sample of pages, because counting all memories would take too long.
func (g *Gauges) readLevels(ctx context.Context, db store.DB) error {
	var samples []string
	for _, table := range []string{"memories_fact", "memories_episodic"} {
		from, times := sampled(table, samplePages)
		samples = append(samples, fmt.Sprintf(`
			select m.level, %s as times, oxbow.weight_of(m, now(), (select r.r from rules r)) as weight
			  from %s where m.forgotten_at is null and m.expired_at is null`, times, from))
	}
	shares, err := store.Collect[Share](ctx, db, `
		with rules as materialized (select oxbow.recall_rules('', 'infinity') as r),
		sample as materialized (`+strings.Join(samples, " union all ")+`)
		select l.name, coalesce(sum(s.times), 0) as memories
		  from unnest('{full,summary,tag,trace,archive}'::text[]) with ordinality l(name, nth)
		  left join sample s on s.level = l.name group by l.name, l.nth
		union all
		select b.name, coalesce(sum(s.times) filter (where s.weight < replace(b.name, '+Inf', 'Infinity')::float8), 0)
		  from unnest('{0.05,0.1,0.15,0.3,1,2,+Inf}'::text[]) b(name) left join sample s on true group by b.name`)
	for _, s := range shares {
		if s.Name[0] >= 'a' {
			g.Levels = append(g.Levels, s)
		} else {
			g.Weights = append(g.Weights, s)
		}
	}
	return err
}
