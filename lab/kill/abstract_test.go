package kill

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
)

// However often the worker is killed while it draws conclusions, each topic has the conclusions of an undisturbed run, with
// every source once. OXBOW_KILL_PEOPLE makes it a long run.
func TestKilledAbstractionsLeaveTheSameConclusions(t *testing.T) {
	t.Parallel()
	k := newKilling(t)
	people := k.number("OXBOW_KILL_PEOPLE", 40)
	notes := func(dsn string, from, to int) {
		k.exec(dsn, fmt.Sprintf(`
			insert into oxbow.memories (user_id, memory_type, content, valid_at, session_id, agent_id, importance)
			select 'person ' || p, 'episodic', format(n.content, i), now() - (40 - i) * interval '1 day', 'talk ' || i,
			       n.agent, 1
			  from generate_series(1, %d) p, generate_series(%d, %d) i,
			       (values ('Went running, round %%s', null), ('Cooked noodles, plate %%s', null),
			               ('又去跑步了，第%%s次', 'coach')) n(content, agent)
			 union all
			select 'person ' || p, 'episodic', 'I gave up running', now(), 'talk', 'diary', 1
			  from generate_series(1, %d) p where %d > 10`, people, from, to, people, to))
	}
	notes(k.dsn, 1, 8)
	calm, wild := k.clone("calm"), k.clone("wild")
	points := []string{failpoint.AbstractDecided, failpoint.AbstractWritten, failpoint.AbstractCommitted}
	k.work(calm, wild, k.concluded, points)
	require.GreaterOrEqual(t, k.count(wild, `oxbow.conclusions`), people)

	for _, dsn := range []string{calm, wild} { // and new versions
		notes(dsn, 11, 14)
	}
	k.work(calm, wild, k.concluded, points)
	require.Equal(t, people, k.count(wild, `oxbow.conclusions where denies`))
	k.oxbow(wild, "check")
}

// concluded returns the current conclusions with their sources, except what depends on how many memories a run had.
func (k *killing) concluded(dsn string) []string {
	return k.lines(dsn, `
		select jsonb_build_array('conclusion', c.user_id, c.topic, m.content, c.denies, c.voices, c.conditions,
		         round(c.confidence::numeric, 5), c.fragments, c.sessions,
		         (select jsonb_agg(s.content order by s.content) from oxbow.memory_links l
		            join oxbow.memories s on s.user_id = l.user_id and s.id = l.to_id
		           where l.user_id = c.user_id and l.from_id = m.id and l.relation = 'source'))
		  from oxbow.conclusions c join oxbow.memories m on m.user_id = c.user_id and m.id = c.memory_id
		 where m.expired_at is null`,
		`select jsonb_build_array('topic', user_id, topic, concluded, due) from oxbow.topics`)
}
