package worker

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/embedding"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/traittest"
	"github.com/oxbow-memory/oxbow/jobs"
)

// halves returns the share of the ten nearest of some texts by vectors of half precision that are also among the ten nearest
// by full precision, or as near as the tenth.
func (b *bundle) halves(texts, questions int) float64 {
	b.Helper()
	var all []string
	for i := range texts {
		all = append(all, fmt.Sprintf("%s %s the %s in %s", []string{"Ann", "Bo", "Mei", "Tao", "Eva"}[i%5],
			[]string{"painted", "lost", "mended", "sold", "found", "drew", "hid"}[i%7],
			[]string{"boat", "lamp", "violin", "map", "kettle", "ladder", "clock", "coat", "bridge", "garden", "piano"}[i%11],
			[]string{"Porto", "Bergen", "Graz", "Lima", "Turku", "Bonn", "Faro", "Oslo", "Rome", "Riga", "Kyoto", "Cork", "Lyon"}[i%13]))
	}
	vectors, err := embedding.NewLocal(1024).Embed(b.Context(), all)
	require.NoError(b, err)
	encoded := make([]string, len(vectors))
	for i, v := range vectors {
		text, _ := json.Marshal(v) // numbers always encode
		encoded[i] = string(text)
	}
	b.exec(`create table public.halves as select n::integer as id, v::vector(1024) as whole, v::vector(1024)::halfvec(1024) as half
		from unnest($1::text[]) with ordinality u(v, n)`, encoded)
	return get[float64](b, `
		select avg(f.share)::float8 from public.halves q, lateral (
		    select max(d) as tenth from (select h.whole <=> q.whole as d from public.halves h where h.id <> q.id
		      order by d limit 10) h) t, lateral (
		    select avg((h.d <= t.tenth + 1e-6)::integer) as share from (select h.whole <=> q.whole as d from public.halves h
		      where h.id <> q.id order by h.half <=> q.half limit 10) h) f
		 where q.id <= $1`, questions)
}

// scanned returns how many partitions of memories the plan of a condition reads.
func (b *bundle) scanned(condition string) int {
	b.Helper()
	return strings.Count(get[string](b, `explain (format json) select content from oxbow.memories where user_id = 'ann' and `+
		condition), `"Relation Name"`)
}

// reconciled stores facts one after the other, each with the jobs that follow, and returns what became of them.
func (b *bundle) reconciled(facts ...string) string {
	b.Helper()
	for _, fact := range facts {
		b.exec(`insert into oxbow.memories (user_id, content) values ('ann', $1)`, fact)
		b.work()
	}
	return b.said(`select format('%s: %s', m.content, case when k.id is not null then 'replaced' when m.expired_at is not null
		  then 'ended' when m.mention_count > 1 then 'stored ' || m.mention_count || ' times' else 'added' end)
		from oxbow.memories m left join oxbow.memories k on k.id = m.superseded_by
		where k.content is distinct from m.content order by m.created_at`)
}

var acceptedS = []acceptance{
	{"S §1", "vectors of half precision take half the space", func(b *bundle) string {
		return b.figures("%.0f bytes instead of %.0f", `select pg_column_size(array_fill(0.5::real, array[1024])::vector::halfvec)`,
			`select pg_column_size(array_fill(0.5::real, array[1024])::vector)`)
	}},
	{"S §1", "and lose less than 0.3 % of recall", func(b *bundle) string {
		lost := 100 * (1 - b.halves(2000, 100))
		return b.met("less than 0.3 % of the ten nearest of 2,000 texts", lost < 0.3, "%.3f %% lost", lost)
	}},
	{"S §2.1", "a query of one type skips the other partitions: 67 to 83 % less time", func(b *bundle) string {
		return fmt.Sprintf("it reads %d of %d partitions; the time depends on how the memories are spread, and was not measured",
			b.scanned(`memory_type = 'trait'`), b.scanned(`true`))
	}},
	{"S §2.4", "pages are filled to 80 % for traits, 90 for facts, 95 for episodes, 100 for documents", func(b *bundle) string {
		return b.said(`select coalesce((select option_value from pg_options_to_table(c.reloptions) where option_name = 'fillfactor'), '100')
			from unnest('{trait,fact,episodic,document}'::text[]) with ordinality t(name, nth)
			join pg_class c on c.oid = ('oxbow.memories_' || t.name)::regclass order by t.nth`)
	}},
	{"S §2.5", "one vector index for each partition", decided("an index for each large user, because one of several users finds too little",
		"**No index spans several users.**")},
	{"S §2.7", "a job finds evidence, history and sources without a memory", func(b *bundle) string {
		return fmt.Sprintf("foreign keys of %s exclude them", b.said(`select distinct conrelid::regclass::text from pg_constraint
			where contype = 'f' and confrelid = 'oxbow.memories'::regclass
			  and conrelid in ('oxbow.trait_evidence'::regclass, 'oxbow.memory_history'::regclass, 'oxbow.memory_sources'::regclass)
			order by 1`))
	}},
	{"S §4.1", "edges have two timelines", func(b *bundle) string {
		b.exec(`select oxbow.set_value('ann', 'location', '"Porto"')`)
		b.exec(`insert into oxbow.memories (user_id, content, metadata) values ('ann', 'I live in Bergen',
			'{"entities": [{"name": "Bergen", "kind": "place"}], "relations": [{"relation": "lives_in", "to": "Bergen"}]}')`)
		b.work()
		b.exec(`select oxbow.supersede('ann', id, 'I live in Turku') from oxbow.memories where content = 'I live in Bergen'`)
		b.work()
		return b.said(`select format('%s %s: %s', relation, to_name, case when invalid_at <= now() and expired_at <= now()
			then 'valid and believed until it was replaced' else 'current' end) from oxbow.entity_edges_of('ann') order by to_name`)
	}},
	{"S §5.1", "a materialized view of the decayed confidences, refreshed every 30 minutes",
		decided("confidences are computed when they are read, so they are never older than the question",
			"**Traits are settled when they are due instead of in a periodic refresh of all.**")},
	{"S §5.2", "uses are written every 5 minutes, weak traits and trends end every day, consistency is checked every day", func(b *bundle) string {
		var every []string
		for _, k := range jobs.Kinds() {
			switch k.Name {
			case "flush_activity", "settle", "consistency_check":
				every = append(every, k.Name+" every "+strings.NewReplacer("m0s", " minutes", "h0m0s", " hours", "s", " seconds").Replace(k.Every.String()))
			}
		}
		return strings.Join(every, ", ")
	}},
	{"S §5.3", "a fact that another contradicts ends when the other begins, and stays", func(b *bundle) string {
		b.exec(`select oxbow.supersede('ann', $1, 'I live in Porto', valid_at => now() - interval '3 days')`,
			b.fact("I live in Lisbon", 60, 1))
		return b.said(`select o.content || ': ended when the other began' from oxbow.memories o
			join oxbow.memories n on n.id = o.superseded_by where o.invalid_at = n.valid_at and o.expired_at is not null`)
	}},
	{"S §5.4", "ADD, NOOP for the same text, UPDATE for another value, DELETE (it ends, and stays) for what is no longer so", func(b *bundle) string {
		return b.reconciled("I have two cats", "I have two cats", "I live in Lisbon", "I live in Porto", "I'm a teacher", "I quit my job")
	}},
	{"S §5.5", "a change of a trait that another one overtook is decided again", func(b *bundle) string {
		tea := traittest.Trait{Content: "Likes tea.", Key: "tea", Events: []traittest.Event{traittest.Created(morning.AddDate(0, 0, -9),
			0.4)}}.Insert(b.T, b.pool)
		s := b.script(morning)
		b.waiting("ann", several(3, "tea")...)
		s.before = func(n int, _ reasoner.Batch) (*reasoner.Proposals, error) {
			if n == 0 {
				b.exec(`select oxbow.edit_trait('ann', $1, confidence => 0.6)`, tea)
			}
			return nil, nil
		}
		b.reflect("ann")
		return fmt.Sprintf("decided %d times: %s", s.times(), strings.Join(b.events(tea), ", "))
	}},
	{"S §6.1", "recency adds up to 0.15, importance 0.15, a trait's stage 0.25; arousal slows the recency by half", func(b *bundle) string {
		return b.figures("%.2f, %.2f, %.2f; after 30 days %.2f of the recency is left, with the highest arousal %.2f",
			`select oxbow.policy('recall_recency')`, `select oxbow.policy('recall_importance')`, `select oxbow.policy('recall_core')`,
			aroused(0), aroused(1))
	}},
	{"S §6.2", "the block for a prompt has traits of a confidence above 0.3", func(b *bundle) string {
		for content, c := range map[string]float64{"Rows at dawn (0.29)": 0.29, "Sings at dusk (0.32)": 0.32} {
			traittest.Trait{Content: content, Events: []traittest.Event{traittest.Created(time.Now(), c)}}.Insert(b.T, b.pool)
		}
		return b.said(`select text from oxbow.context_parts('ann')`)
	}},
	{"S §6.3", "knowledge as of an earlier moment", func(b *bundle) string {
		b.exec(`select oxbow.supersede('ann', $1, 'I live in Porto', valid_at => now() - interval '3 days')`,
			b.fact("I live in Lisbon", 60, 1))
		return b.said(`select content from oxbow.facts_as_of('ann', now() - interval '4 days')`) + "; now " +
			b.said(`select content from oxbow.facts_as_of('ann')`)
	}},
	{"S §7.1", "profile values become facts and traits", func(b *bundle) string {
		b.exec(`select oxbow.set_value('ann', 'occupation', '"carpenter"'), oxbow.set_value('ann', 'personality', '["introverted"]')`)
		return b.said(`select content from oxbow.memories order by content`) + "; traits follow from several statements"
	}},
	{"S §7.2", "a table of emotional profiles", decided("computed when it is asked for",
		"**Each call computes the emotional profile.**")},
	{"S §7.2", "what triggers emotions may become a trait", decided("the profile names it with its evidence",
		"**Emotional triggers do not become traits.**")},
	{"S §9", "summaries of communities, from 10,000 entities on", func(b *bundle) string {
		b.exec(`insert into oxbow.memories (user_id, content, metadata)
			values ('ann', 'Mei, Bo and Tao row together', '{"entities": ["Mei", "Bo", "Tao"]}')`)
		b.work()
		b.exec(`insert into oxbow.river_job (kind, queue, max_attempts, args) values ('community', 'default', 1, '{}')`)
		b.work()
		return b.said(`select format('%s entities: %s', members, summary) from oxbow.communities('ann')`)
	}},
	{"S §9", "VectorChord from 500,000 vectors on", decided("another extension to load and license",
		"**VectorChord is not used.**")},
	{"S §9", "reflection in two phases", recorded("decisions", "%s questions asked in two nights",
		`nights asked (\d+) questions`)},
}

// aroused returns a query of the share of the recency that is left after 30 days.
func aroused(arousal float64) string {
	return fmt.Sprintf(`select oxbow.recency(now() - interval '30 days', '%g', now(), oxbow.policy('recall_recency_days'),
		oxbow.policy('recall_arousal'))`, arousal)
}
