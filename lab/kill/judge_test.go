package kill

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
)

// However often the worker is killed while it judges conversations and counts what people say, each message has one
// signal and each memory one adjustment, as in an undisturbed run. OXBOW_KILL_PEOPLE makes it a long run.
func TestKilledJudgeLeavesTheSameSignals(t *testing.T) {
	t.Parallel()
	k := newKilling(t)
	people := k.number("OXBOW_KILL_PEOPLE", 40)
	k.exec(k.dsn, fmt.Sprintf(`
		insert into oxbow.memories (user_id, content)
		select 'person ' || i, 'The boat of person ' || i || ' is green' from generate_series(1, %d) i`, people))
	k.oxbow(k.dsn, "work", "--until-idle")
	k.exec(k.dsn, `
		select oxbow.answered(m.user_id, 'What colour is the boat?', array[m.id], array[m.id], 'talk',
		  now() - interval '1 minute') from oxbow.memories m;
		insert into oxbow.messages (user_id, session_id, role, content, created_at)
		select distinct m.user_id, 'talk', s.role, s.content, now() - make_interval(secs => 60 - s.nth)
		  from oxbow.memories m, (values (1, 'user', 'What colour is the boat?'), (2, 'assistant', 'Green.'),
		    (3, 'user', 'No, that is wrong, it is blue.'), (4, 'assistant', 'I see: green.'),
		    (5, 'user', '你根本没听懂我的意思'), (6, 'assistant', 'Sorry.'), (7, 'user', 'What is for lunch?'))
		    s(nth, role, content) order by 5`)
	calm, wild := k.clone("calm"), k.clone("wild")
	k.work(calm, wild, k.judged, []string{failpoint.JudgeDecided, failpoint.JudgeWritten, failpoint.JudgeCommitted})
	require.Equal(t, 2*people, k.count(wild, `oxbow.feedback_signals where type = 'negative'`))

	k.run("dispatch", calm, wild)
	k.work(calm, wild, k.judged, []string{failpoint.DispatchWritten, failpoint.DispatchBatch})
	require.Equal(t, people, k.count(wild, `oxbow.adjustments where undone_at is null`))
	k.oxbow(wild, "check")
}

// judged returns what judge and dispatch wrote, except what depends on the clock.
func (k *killing) judged(dsn string) []string {
	return k.lines(dsn,
		`select jsonb_build_array('signal', s.user_id, m.content, s.kind, s.type, s.confidence, s.targets, s.query,
			s.answer_id is null, s.dispatched_at is null, (select count(*) from oxbow.feedback_subjects f
			 where f.user_id = s.user_id and f.signal_id = s.id), (select count(*) from oxbow.suppressions f
			 where f.user_id = s.user_id and f.signal_id = s.id))
		   from oxbow.feedback_signals s join oxbow.messages m on m.user_id = s.user_id and m.id = s.message_id`,
		`select jsonb_build_array('adjustment', user_id, kind, before, after, cause, cardinality(signals))
		   from oxbow.adjustments`,
		`select jsonb_build_array('memory', user_id, content, strength) from oxbow.memories where content ~ '^The boat'`,
		`select jsonb_build_array('mark', user_id, kind, content) from oxbow.sensory`,
	)
}
