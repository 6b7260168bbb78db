package kill

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
)

// However often the worker is killed while it embeds what many users inserted one by one, every
// memory gets its vector and its terms, and a repeated fact is folded and counted once.
func TestKilledEmbeddingLeavesTheSameVectors(t *testing.T) {
	t.Parallel()
	k := newKilling(t)
	k.exec(k.dsn, `
		do $$ begin
		  for i in 1..1000 loop
		    insert into oxbow.memories (user_id, memory_type, content)
		    values ('person ' || i % 40, case when i % 4 = 0 then 'fact' else 'episodic' end,
		            case when i % 4 = 0 then 'Keeps ' || i % 3 || ' bees' else 'Saw heron number ' || i end);
		  end loop;
		end $$`)
	require.Equal(t, 1000, k.count(k.dsn, `oxbow.river_job where kind = 'embed'`))
	k.exec(k.dsn, `insert into oxbow.memories (user_id, memory_type, content) -- more than one call takes
		select 'person 0', 'episodic', repeat('Saw heron number ' || i || ' ', 1500) from generate_series(1, 40) i`)
	calm, wild := k.clone("calm"), k.clone("wild")
	k.work(calm, wild, k.embedded, []string{failpoint.EmbedSaved, failpoint.EmbedComputed, failpoint.EmbedWritten,
		failpoint.EmbedCommitted})
	// The worker that is killed above may check every inbox before it is, so the check is killed over another inbox.
	for _, dsn := range []string{calm, wild} {
		k.exec(dsn, `insert into oxbow.memories (id, user_id, memory_type, content)
			select md5(i::text)::uuid, 'newcomer', 'episodic', 'Saw heron number ' || i from generate_series(1, 40) i`)
	}
	k.work(calm, wild, k.embedded, []string{failpoint.TriggerAsked})
	for _, dsn := range []string{calm, wild} {
		require.Equal(t, 1080, k.count(dsn, `oxbow.memory_vectors where memory_type <> 'trait'`))
		require.Zero(t, k.count(dsn, `oxbow.river_job where kind = 'embed' and state <> 'completed'`))
	}
	k.oxbow(wild, "check")
}

// embedded returns what embedding wrote.
func (k *killing) embedded(dsn string) []string {
	return k.lines(dsn,
		`select jsonb_build_array('memory', id, md5(content), mention_count, expired_at is null, superseded_by)
			from oxbow.memories where memory_type <> 'trait'`,
		`select jsonb_build_array('vector', memory_id, md5(embedding::text)) from oxbow.memory_vectors
			where memory_type <> 'trait'`,
		`select jsonb_build_array('terms', memory_id, len, tsv) from oxbow.memory_terms where memory_type <> 'trait'`,
		`select jsonb_build_array('counts', user_id, memory_type, documents, terms) from oxbow.memory_term_stats
			where memory_type <> 'trait'`)
}
