package chaos

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/oxbow-memory/oxbow/store"
)

// vectors compares every vector with the provider's vector of the text.
func (k *checker) vectors() int {
	model, err := store.CurrentModel(k.ctx, k.tx)
	if err != nil {
		k.err = err
		return 0
	}
	if want := (store.EmbeddingModel{Model: "openai:" + embeddingModel, Dimension: dimension}); model != want {
		k.violate("embedding", "", "", "settings", want.String(), model.String())
	}
	looked := k.each(`
		select m.user_id, m.id, coalesce(m.speaker, ''), m.content, m.forgotten_at is not null, count(v.memory_id),
		max(v.embedding::text)
		  from oxbow.memories m left join oxbow.memory_vectors v on v.user_id = m.user_id
		  and v.memory_type = m.memory_type and v.memory_id = m.id
		 where m.sensitivity < 2 and m.source is distinct from 'merge' -- which has that of an original
		 group by m.user_id, m.memory_type, m.id`, func(c []string) {
		user, id, text := c[0], c[1], store.EmbeddedText(c[2], c[3])
		if c[5] != "1" && (c[5] != "0" || c[4] != "t") { // a memory that was forgotten early has none
			k.violate("embedding", user, id, "memory_vectors", "one vector of: "+text, c[5])
			return
		}
		if c[5] == "0" {
			return
		}
		want, err := k.provider.vector(k.ctx, text)
		if err != nil {
			k.err = err
			return
		}
		if like := cosine(want, c[6]); like < 0.99 {
			k.violate("embedding", user, id, "memory_vectors", "the vector of: "+text,
				fmt.Sprintf("one whose cosine with it is %.3f", like))
		}
	})
	k.none("embedding", "no refusal, because the provider refused nothing",
		`select user_id, memory_id, reason from oxbow.embedding_refusals`)
	return looked
}

// vectorIndex compares the copies of vectors in the indexes of the largest users with the vectors.
func (k *checker) vectorIndex() int {
	k.none("vector index", "a copy in its user's slot, equal to the vector", `
		select user_id, memory_id, format('slot %s, %s', x.slot,
		         case when v.embedding is null then 'no vector' when v.embedding <> x.embedding then 'another vector'
		              else 'a foreign slot' end)
		  from oxbow.indexed_vectors x left join oxbow.memory_vectors v using (user_id, memory_type, memory_id)
		  left join oxbow.vector_slots s using (user_id, memory_type)
		 where x.slot is not null and (v.embedding is null or v.embedding <> x.embedding or s.slot <> x.slot)`)
	k.none("vector index", "a copy of every vector of a user whose index is ready", `
		select user_id, memory_id, 'none'
		  from oxbow.vector_slots s join oxbow.memory_vectors v using (user_id, memory_type)
		  left join oxbow.indexed_vectors x using (user_id, memory_type, memory_id)
		 where s.ready_at is not null and x.user_id is null`)
	return k.count("oxbow.indexed_vectors where slot is not null")
}

// cosine compares a vector with one that PostgreSQL wrote.
func cosine(a []float32, text string) float64 {
	parts := strings.Split(strings.Trim(text, "[]"), ",")
	if len(parts) != len(a) {
		return -1
	}
	var dot, x, y float64
	for i, part := range parts {
		b, err := strconv.ParseFloat(part, 64)
		if err != nil {
			return -1
		}
		dot, x, y = dot+float64(a[i])*b, x+float64(a[i])*float64(a[i]), y+b*b
	}
	return dot / math.Sqrt(x*y)
}

// terms looks at the text index and its statistics.
func (k *checker) terms() int {
	k.none("text index", "one entry, of as many terms as its text has", `
		select m.user_id, m.id, format('%s entries, %s terms and not %s: %s', count(t.memory_id), max(t.len),
		max(n.len), m.content)
		  from oxbow.memories m
		 cross join lateral oxbow.terms(coalesce(m.speaker || ': ', '') || m.content) n
		  left join oxbow.memory_terms t
		    on t.user_id = m.user_id and t.memory_type = m.memory_type and t.memory_id = m.id
		 where m.sensitivity < 2
		 group by m.user_id, m.memory_type, m.id
		having count(t.memory_id) <> 1 and not (count(t.memory_id) = 0 and max(m.forgotten_at) is not null)
		or max(t.len) <> max(n.len) and m.source is distinct from 'merge' -- its dates change`)
	k.none("text index", "statistics of as many memories and terms as there are", `
		select user_id, memory_type,
		       format('%s of %s memories, %s of %s terms', s.documents, t.documents, s.terms, t.terms)
		  from oxbow.memory_term_stats s
		  full join (select user_id, memory_type, count(*) as documents, sum(len) as terms
		               from oxbow.memory_terms group by 1, 2) t using (user_id, memory_type)
		 where coalesce(s.documents, 0) <> coalesce(t.documents, 0) or coalesce(s.terms, 0) <> coalesce(t.terms, 0)`)
	return k.count("oxbow.memory_terms")
}

// messages checks that each message was extracted once. A message that repeats a memory becomes one of its sources, and
// has no memory once that memory is erased.
func (k *checker) messages() int {
	erased := []string{} // nil would be null, and the condition never true
	for user, home := range k.ledger.erasedHome {
		if home {
			erased = append(erased, userName(user))
		}
	}
	k.none("extraction", "a memory of each message of the user", `
		select g.user_id, g.id, g.content from oxbow.messages g
		 where g.role = 'user' and not (g.user_id = any($1) and g.content ~ 'live in|住在')
		   and not exists (select from oxbow.memory_sources s where s.user_id = g.user_id and s.message_id = g.id)`,
		erased)
	for _, c := range []struct{ expected, sql string }{
		{"extracted", `select user_id, id, format('it waits, after %s failures: %s %s', extract_failures,
			coalesce(extract_error, ''), content) from oxbow.messages where extracted_at is null`},
		{"one memory with these words of one message", `
			select s.user_id, s.message_id, format('%s of them: %s', count(*), m.content)
			  from oxbow.memory_sources s join oxbow.memories m on m.user_id = s.user_id
			  and m.memory_type = s.memory_type and m.id = s.memory_id
			 where s.message_id is not null and m.superseded_by is null
			 group by s.user_id, s.message_id, m.content having count(*) > 1`},
		{"each event of a message and a memory once", `
			select h.user_id, g, format('%s times %s of memory %s', count(*), h.event, h.memory_id)
			  from oxbow.memory_history h, unnest(h.message_ids) g
			 group by h.user_id, g, h.event, h.memory_id having count(*) > 1`},
		{"no message of the assistant among the sources", `
			select s.user_id, s.memory_id, g.content from oxbow.memory_sources s
			join oxbow.messages g on g.user_id = s.user_id and g.id = s.message_id where g.role <> 'user'`},
		{"one current summary of a conversation", `
			select o.user_id, o.session_id, format('%s summaries', count(distinct m.id)) from oxbow.memory_sources o
			  join oxbow.memories m on m.user_id = o.user_id and m.memory_type = o.memory_type and m.id = o.memory_id
			 where o.message_id is null and m.source = 'summary' and m.expired_at is null and m.forgotten_at is null
			 group by o.user_id, o.session_id having count(distinct m.id) > 1`},
	} {
		k.none("extraction", c.expected, c.sql)
	}
	return k.count("oxbow.messages")
}

// repeats checks that one of several equal facts is current, and that its mentions are counted.
func (k *checker) repeats() int {
	k.none("repeated fact", "one current fact with these words", `
		select user_id, min(id::text), format('%s of them: %s', count(*), content) from oxbow.memories_fact
		 where expired_at is null and forgotten_at is null and invalid_at is null
		   and not exists (select from oxbow.memory_history h where h.user_id = memories_fact.user_id
		     and h.memory_type = 'fact' and h.memory_id = memories_fact.id and h.event = 'UNMERGE')
		 group by user_id, content having count(*) > 1`)
	var common, alone []string
	for _, w := range k.ledger.writes {
		if w.action != "repeat" && w.action != "common" {
			continue
		}
		for _, row := range w.rows {
			common = append(common, row.content)
			alone = append(alone, userName(w.user))
		}
	}
	k.none("repeated fact", "as many mentions as it was said", `
		select f.user_id, f.id, format('%s mentions, said %s times: %s', f.mention_count, n.times, f.content)
		  from (select distinct user_id, content from unnest($1::text[], $2::text[]) c(user_id, content)) c
		  join oxbow.memories_fact f on f.user_id = c.user_id and f.content = c.content and f.expired_at is null
		  and f.forgotten_at is null
		 cross join lateral (select count(*) as times from oxbow.memories_fact d where d.user_id = f.user_id
		 and d.content = f.content) n
		 where f.mention_count <> n.times`, alone, common)
	return len(common)
}

// replaced checks that the history of each replaced fact records the replacement.
func (k *checker) replaced() int {
	k.none("replaced fact", "an event that says why", `
		select m.user_id, m.id, m.content from oxbow.memories_fact m
		 where m.superseded_by is not null and not exists (select from oxbow.memory_history h
		   where h.user_id = m.user_id and h.memory_type = 'fact' and h.memory_id = m.id
		   and h.event in ('UPDATE', 'SUPERSEDE'))`)
	return k.count("oxbow.memories_fact where superseded_by is not null")
}

// reflections counts the memories that were reflected on, for users who lost none.
func (k *checker) reflections() int {
	var steady []string
	for user := range users {
		if isSteady(user) {
			steady = append(steady, userName(user))
		}
	}
	k.none("reflection", "each memory reflected on once, or waiting for it", `
		select u.user_id, '', format('%s memories, %s reflected on, %s waiting', m.n, c.n, i.n)
		  from unnest($1::text[]) u(user_id)
		 cross join lateral (select count(*) as n from oxbow.memories m where m.user_id = u.user_id
		 and m.memory_type in ('fact', 'episodic') and coalesce(m.source, '') not in ('summary', 'merge', 'abstract')) m
		 cross join lateral (select coalesce(sum(c.memories_scanned), 0) as n from oxbow.reflection_cycles c
		 where c.user_id = u.user_id) c
		 cross join lateral (select count(*) as n from oxbow.reflection_inbox i where i.user_id = u.user_id) i
		 where m.n <> c.n + i.n`, steady)
	return len(steady)
}

// orphans looks for dangling references: in every table with a memory_id, and in the other ones.
func (k *checker) orphans() int {
	var sqls []string
	k.each(`select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid
		and a.attname = 'memory_id' and not a.attisdropped
		where c.relnamespace = 'oxbow'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition order by 1`,
		func(c []string) {
			sqls = append(sqls, fmt.Sprintf(`select t.user_id, t.memory_id, 'a row of %[1]s' from oxbow.%[1]s t
			where not exists (select from oxbow.memories m where m.user_id = t.user_id and m.id = t.memory_id)`, c[0]))
		})
	for _, ref := range [][3]string{ // table, what it names, where that is
		{"trait_evidence", "trait_id", "memories"}, {"trait_events", "trait_id", "memories"},
		{"entity_mentions", "entity_id", "entities"}, {"entity_edges", "from_id", "entities"},
		{"entity_edges", "to_id", "entities"}, {"memory_links", "from_id", "memories"},
		{"memory_links", "to_id", "memories"}, {"memories", "superseded_by", "memories"},
		{"memories", "trait_parent_id", "memories"}, {"sessions", "summary_id", "memories"},
		{"messages", "session_id", "sessions"}, {"memory_sources", "message_id", "messages"},
		{"document_chunks", "file_id", "document_files"}, {"entities", "community_id", "communities"},
		{"feedback_signals", "message_id", "messages"},
		{"instructions", "message_id", "messages"}, {"instructions", "replaced_by", "instructions"},
		{"intentions", "message_id", "messages"}, {"intentions", "parent_id", "intentions"},
		{"skills", "message_id", "messages"}, {"skills", "replaced_by", "skills"},
	} {
		sqls = append(sqls, fmt.Sprintf(`select t.user_id, t.%[2]s, 'a row of %[1]s whose %[2]s is not in %[3]s'
			  from oxbow.%[1]s t left join oxbow.%[3]s r on r.user_id = t.user_id and r.id = t.%[2]s
			 where t.%[2]s is not null and r.id is null`, ref[0], ref[1], ref[2]))
	}
	sqls = append(sqls, `select e.user_id, e.id, format('entity %s, which nothing names', e.name) from oxbow.entities e
		where e.kind <> 'self' and not exists (select from oxbow.entity_mentions m where m.user_id = e.user_id
		and m.entity_id = e.id)`)
	sqls = append(sqls, `select e.user_id, e.trait_id, format('evidence of the missing event %s', e.event_seq)
		from oxbow.trait_evidence e
		where not exists (select from oxbow.trait_events t where t.user_id = e.user_id and t.trait_id = e.trait_id
		and t.seq = e.event_seq)`)
	sqls = append(sqls, `select a.user_id, i.id, 'a row of activity' from oxbow.activity a, unnest(a.memory_ids) i(id)
		where not exists (select from oxbow.memories m where m.user_id = a.user_id and m.id = i.id)`)
	for _, sql := range sqls {
		k.none("orphan", "no reference to a missing row", sql)
	}
	return len(sqls)
}

// periodic lists the kinds of periodic jobs. They have one attempt: the next job does the rest.
var periodic = []string{"flush_activity", "sweep", "sensory", "settle", "consistency_check", "vector_index",
	"dispatch", "remind", "pattern", "molt", "community"}

// jobs looks at unfinished jobs after all workers have stopped, and at the errors of all.
func (k *checker) jobs() int {
	k.each(`select coalesce(args ->> 'user_id', ''), id, kind, state, attempt,
		coalesce(errors[cardinality(errors)] ->> 'error', ''), scheduled_at <= now()
		from oxbow.river_job where state <> 'completed' and not `+long+` order by id`, func(c []string) {
		user, id, kind, state, attempt, why, due := c[0], c[1], c[2], c[3], c[4], c[5], c[6] == "t"
		found := fmt.Sprintf("%s, %s, attempt %s: %s", kind, state, attempt, why)
		switch {
		case state == "running":
			k.violate("job stuck", user, id, "river_job", "no job running, because no worker runs", found)
		case state == "discarded" && slices.Contains(periodic, kind) && faulty(why):
		case state == "discarded", state == "cancelled":
			k.violate("job given up", user, id, "river_job", "no job given up", found)
		case slices.Contains(periodic, kind): // due again just before the workers stopped
		case due:
			k.violate("job stuck", user, id, "river_job", "no job that is due", found)
		}
	})
	k.none("job panicked", "no panic, even if another attempt went well", `
		select coalesce(j.args ->> 'user_id', ''), j.id, concat_ws(' ', j.kind, e ->> 'error', left(e ->> 'trace', 300))
		  from oxbow.river_job j, unnest(j.errors) e where e ->> 'trace' <> ''`)
	return k.count("oxbow.river_job")
}

// faulty reports whether the faults explain an error.
func faulty(why string) bool {
	for _, part := range []string{"connect", "conn ", "SQLSTATE 57", "EOF", "broken pipe", "reset by peer", "timeout",
		"deadline", "canceled", "Stuck job rescued", "closed", "unexpected message", "shutting down", "starting up", "openai:" + embeddingModel,
		"recovery mode", "42703", "42P01", "42883"} {
		if strings.Contains(why, part) {
			return true
		}
	}
	return false
}
