package kill

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
)

// However often the worker is killed while it tries policies on past replies, it adopts what an undisturbed run adopts,
// once, and no other value is ever in force.
func TestKilledMoltAdoptsTheSame(t *testing.T) {
	t.Parallel()
	k := newKilling(t)
	k.exec(k.dsn, `
		insert into oxbow.memories (user_id, content, created_at, valid_at)
		select 'ann', format('%s %s %s', md5('a' || i), case n when 0 then 'harbour' else 'lantern' end,
		              case n when 0 then md5('b' || i) else md5(i || ' ' || n) end), now() - a.age, now() - a.age
		  from generate_series(1, 24) i, generate_series(0, 5) n,
		  lateral (select case n when 0 then interval '300 days' else (i + n) * interval '1 hour' end) a(age)`)
	k.oxbow(k.dsn, "work", "--until-idle")
	k.exec(k.dsn, `
		select oxbow.set_policy('molt_mode', 2), oxbow.set_policy('molt_answers', 20), oxbow.set_policy('molt_share', 0.1),
		       oxbow.set_policy('recall_recency', 6)`) // in a transaction of its own: it may take 2 seconds
	k.exec(k.dsn, `
		select oxbow.answered('ann', q, r.recalled, r.used) from generate_series(1, 24) i,
		  lateral (select md5('a' || i) || ' ' || md5('b' || i)) t(q),
		  lateral (select array_agg(id), array_agg(id) filter (where content like '%harbour%')
		             from oxbow.recall('ann', q)) r(recalled, used)`)
	k.run("molt", k.dsn)
	calm, wild := k.clone("calm"), k.clone("wild")
	adopted := func(dsn string) []string {
		return k.lines(dsn, `select jsonb_build_array(changes, state, answers) from oxbow.strategies`,
			`select jsonb_build_array(name, value) from oxbow.policy_changes where name not like 'molt%'`)
	}
	k.work(calm, wild, adopted, []string{failpoint.MoltProposed, failpoint.MoltTried, failpoint.MoltAdopted})
	require.Equal(t, 1, k.count(wild, `oxbow.strategies where state = 'adopted' and metric_after > metric_before`))

	// Then replies use nothing, and it is rolled back, once.
	for _, dsn := range []string{calm, wild} {
		k.exec(dsn, `
			select oxbow.answered('ann', 'what now?', array(select id from oxbow.memories order by id limit 3), '{}')
			  from generate_series(1, 20)`)
	}
	k.run("molt", calm, wild)
	k.oxbow(calm, "work", "--until-idle")
	require.True(t, k.killAt(wild, failpoint.MoltJudged+":1", 0, "work", "--until-idle"))
	k.oxbow(wild, "work", "--until-idle")
	// The killed job does when it is tried again what otherwise the next run does.
	k.run("molt", calm)
	k.oxbow(calm, "work", "--until-idle")
	require.Equal(t, adopted(calm), adopted(wild))
	require.Equal(t, 1, k.count(wild, `oxbow.strategies where state = 'rolled_back'`))
	require.Equal(t, 1, k.count(wild, `oxbow.policies where name = 'recall_recency' and value = 6`))
	k.oxbow(wild, "check")
}

// A worker that is killed while it publishes patterns has published and paid for a release, or neither.
func TestKilledPatternsArePaidForOnce(t *testing.T) {
	t.Parallel()
	k := newKilling(t)
	k.exec(k.dsn, `
		insert into oxbow.settings (key, value) values ('patterns', '{"enabled": true}');
		insert into oxbow.users (user_id, share_patterns) select 'person ' || i, true from generate_series(1, 60) i`)
	k.run("pattern", k.dsn)
	require.True(t, k.killAt(k.dsn, failpoint.PatternWritten+":1", 0, "work", "--until-idle"))
	require.Zero(t, k.count(k.dsn, `oxbow.pattern_releases`))
	require.True(t, k.killAt(k.dsn, failpoint.PatternCommitted+":1", 0, "work", "--until-idle"))
	require.Equal(t, 1, k.count(k.dsn, `oxbow.pattern_releases`))
	k.oxbow(k.dsn, "work", "--until-idle")
	require.Equal(t, 1, k.count(k.dsn, `oxbow.pattern_releases`))
}

// However often the worker is killed while it answers questions at night, each is asked once, with the traits of an
// undisturbed run.
func TestKilledNightsAnswerTheSame(t *testing.T) {
	t.Parallel()
	k := newKilling(t)
	k.exec(k.dsn, `
		select oxbow.set_policy('quiet_from', 3), oxbow.set_policy('quiet_to', 3); -- always
		insert into oxbow.memories (user_id, memory_type, content, valid_at, session_id)
		select 'person ' || p, 'episodic', t.content, now() - (60 - 5 * n) * interval '1 day', 's' || n
		  from generate_series(1, 20) p, (values (1, 'I practised the cello'), (2, 'Saw a heron at the lake'),
		    (3, '周末去钓鱼了'), (4, 'I practised the cello again'), (5, '又去钓鱼了')) t(n, content)`)
	k.oxbow(k.dsn, "work", "--until-idle")
	k.exec(k.dsn, `insert into oxbow.river_job (kind, queue, max_attempts, args)
		select 'reflect', 'reflect', 25, jsonb_build_object('user_id', 'person ' || p) from generate_series(1, 20) p`)
	k.oxbow(k.dsn, "work", "--until-idle")
	require.Positive(t, k.count(k.dsn, `oxbow.nights`))
	k.exec(k.dsn, `update oxbow.nights set due_at = now();
		insert into oxbow.river_job (kind, queue, max_attempts, args)
		select 'sleep', 'reflect', 25, jsonb_build_object('user_id', user_id) from oxbow.nights`)
	calm, wild := k.clone("calm"), k.clone("wild")
	slept := func(dsn string) []string {
		return k.lines(dsn, `select jsonb_build_array(user_id, hash) from oxbow.night_questions`,
			`select jsonb_build_array(user_id, content, stage, supporting, contradicting) from oxbow.traits`)
	}
	k.work(calm, wild, slept, []string{failpoint.SleepAsked, failpoint.SleepWritten, failpoint.SleepCommitted})
	require.Positive(t, k.count(calm, `oxbow.night_questions`))
	k.oxbow(wild, "check")
}

// However often the worker is killed while it finds communities, each entity is in that of an undisturbed run.
func TestKilledCommunitiesAreTheSame(t *testing.T) {
	t.Parallel()
	k := newKilling(t)
	k.exec(k.dsn, `
		insert into oxbow.memories (user_id, content, metadata)
		select 'person ' || p, format('Group %s of %s meets', g, p), jsonb_build_object('entities',
		         jsonb_build_array(format('A%sx%s', p, g), format('B%sx%s', p, g), format('C%sx%s', p, g)))
		  from generate_series(1, 20) p, generate_series(1, 4) g`)
	k.oxbow(k.dsn, "work", "--until-idle")
	k.run("community", k.dsn)
	calm, wild := k.clone("calm"), k.clone("wild")
	found := func(dsn string) []string {
		return k.lines(dsn, `select jsonb_build_array(e.user_id, e.name, c.members, c.central, c.sources)
			from oxbow.entities e left join oxbow.communities c on c.user_id = e.user_id and c.id = e.community_id`)
	}
	k.work(calm, wild, found, []string{failpoint.CommunityBatch})
	require.Equal(t, 80, k.count(wild, `oxbow.communities where members = 3 and not due`))
}
