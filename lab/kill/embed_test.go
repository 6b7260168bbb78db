package kill

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
)

// However often the worker is killed while it embeds what many users inserted one by one, every
// memory gets its vector and its terms, and a repeated fact is folded and counted once.
func TestKilledEmbeddingLeavesTheSameVectors(t *testing.T) {
	t.Parallel()
	points := []string{failpoint.EmbedComputed, failpoint.EmbedWritten, failpoint.EmbedCommitted}
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
	calm, wild := k.clone("calm"), k.clone("wild")
	begun := time.Now()
	k.oxbow(calm, "work", "--until-idle")
	killed := k.killAtPoints(wild, points, time.Since(begun), "work", "--until-idle")
	k.oxbow(wild, "work", "--until-idle")

	t.Logf("seed %d: killed at %v", k.seed, killed)
	for name, sql := range map[string]string{
		"memories": `select jsonb_build_array(id, content, mention_count, expired_at is null, superseded_by)
			from oxbow.memories where memory_type <> 'trait'`,
		"vectors": `select jsonb_build_array(memory_id, md5(embedding::text)) from oxbow.memory_vectors
			where memory_type <> 'trait'`,
		"terms": `select jsonb_build_array(memory_id, len, tsv) from oxbow.memory_terms
			where memory_type <> 'trait'`,
		"counts": `select jsonb_build_array(user_id, memory_type, documents, terms) from oxbow.memory_term_stats
			where memory_type <> 'trait'`,
	} {
		lines := `select string_agg(line::text, E'\n' order by line::text) from (` + sql + `) q(line)`
		want := k.text(calm, lines)
		require.NotEmpty(t, want, name)
		require.Equal(t, want, k.text(wild, lines), name)
	}
	for _, dsn := range []string{calm, wild} {
		require.Equal(t, 1000, k.count(dsn, `oxbow.memory_vectors where memory_type <> 'trait'`))
		require.Zero(t, k.count(dsn, `oxbow.river_job where kind = 'embed' and state <> 'completed'`))
	}
	k.oxbow(wild, "check")
}
