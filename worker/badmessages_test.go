package worker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/gauges"
	"github.com/oxbow-memory/oxbow/internal/llm/llmtest"
)

// Users may use the same session id for different sessions.
func TestSessionsOfTwoUsers(t *testing.T) {
	b := setup(t)
	l := b.listen()
	b.say("ann", "s1", "fact: Ann plays chess")
	b.say("bob", "s1", "fact: Bob has a dog")
	b.exec(`select oxbow.end_session('ann', 's1')`)
	require.Equal(t, 1, b.count(`oxbow.sessions where user_id = 'bob' and ended_at is null`))
	b.work()
	require.Len(t, l.heard, 2)
	for _, c := range l.heard {
		require.Len(t, c.Messages, 1)
	}
	require.Equal(t, 1, b.count(`oxbow.memories m join oxbow.memory_sources s on s.memory_id = m.id
		join oxbow.messages g on g.id = s.message_id
		where m.user_id = 'bob' and m.content = 'Bob has a dog' and g.user_id = 'bob' and s.user_id = 'bob'`))
	require.Equal(t, 2, b.count(`oxbow.memories`))
}

// A message that arrives late or twice is extracted once, in its place.
func TestMessagesOutOfOrder(t *testing.T) {
	b := setup(t)
	l := b.listen()
	id := uuid.New()
	insert := func(id uuid.UUID, at int, content string) {
		b.exec(`insert into oxbow.messages (user_id, session_id, id, content, created_at, seq)
			values ('ann', 's1', $1, $2, timestamptz '2026-03-01 08:00Z' + $3 * interval '1 minute', $3)
			on conflict do nothing`, id, content, at)
		b.work()
	}
	insert(uuid.New(), 10, "fact: Ann plays chess")
	insert(id, 30, "fact: Ann has a cat")
	insert(uuid.New(), 20, "fact: Ann rides a bicycle")
	require.Equal(t, []string{"fact: Ann plays chess", "fact: Ann rides a bicycle"},
		[]string{l.heard[2].Messages[0].Content, l.heard[2].Messages[1].Content}, `with what came before it`)
	insert(id, 30, "fact: Ann has a cat")
	insert(id, 40, "fact: Ann has two cats")
	require.Len(t, l.heard, 3)
	require.Equal(t, "Ann plays chess, Ann rides a bicycle, Ann has a cat",
		get[string](b, `select string_agg(content, ', ' order by seq) from oxbow.memories`))
	require.Equal(t, 3, b.count(`oxbow.memories where mention_count = 1`))
	_, err := b.pool.Exec(t.Context(), `insert into oxbow.messages (user_id, session_id, id, content)
		values ('ann', 's1', $1, 'x')`, id)
	require.ErrorContains(t, err, "duplicate key")
}

// A message of 1 MiB is extracted like any other, and does not affect its neighbours.
func TestLongestMessages(t *testing.T) {
	server := llmtest.New(t)
	server.Answer(llmtest.Remember("I have a cat named Milo.", "Milo"))
	for name, reasoner := range map[string]ReasonerConfig{"rules": {},
		"model": {Provider: "openai", Model: "m", URL: server.URL(), APIKey: "k"}} {
		t.Run(name, func(t *testing.T) {
			b := setup(t)
			b.cfg.Reasoner = reasoner
			b.say("ann", "s1", strings.Repeat("我住在杭州，", 1<<20/18), strings.Repeat("\"\\\n\t", 1<<18))
			if name == "rules" { // the rules read all of it
				b.say("ann", "s1", strings.Repeat("x", 1<<20), strings.Repeat("word ", 1<<20/5))
			}
			b.say("ann", "s1", "I have a cat named Milo.")
			b.work()
			require.Zero(t, b.count(`oxbow.messages where extracted_at is null`))
			require.Equal(t, 1, b.count(`oxbow.memories where content = 'I have a cat named Milo.'`))
			require.Zero(t, b.count(`oxbow.memories where length(content) > 6000`))
		})
	}
}

// If a model names memories that it was not shown, they do not change, whoever owns them. A model
// cannot flood a user with memories.
func TestModelInventsThings(t *testing.T) {
	b := setup(t)
	server := llmtest.New(t)
	b.cfg.Reasoner = ReasonerConfig{Provider: "openai", Model: "m", URL: server.URL(), APIKey: "k"}
	var log logRecords
	b.cfg.Logger = log.logger()
	b.cfg.Concurrency = 1
	for _, user := range []string{"ann", "bob"} {
		server.Answer(llmtest.Remember("I live in Lisbon.", "Lisbon"))
		b.say(user, "s1", "I live in Lisbon.")
		b.work()
	}
	others := get[string](b, `select id::text from oxbow.memories where user_id = 'bob'`)
	own := get[string](b, `select id::text from oxbow.memories where user_id = 'ann'`)
	resolved := 0
	server.Answer(func(r llmtest.Request) llmtest.Reply {
		switch r.Purpose {
		case "extract":
			said := r.Said()
			var e llmtest.Extraction
			for i := range 1000 {
				e.Candidates = append(e.Candidates, llmtest.Fact(fmt.Sprintf("I live in Lisbon, at number %d.", i),
					said...))
			}
			e.Candidates[0].Sources = []string{"m99", uuid.NewString()}
			e.Used = []llmtest.Used{{Memory: others, Reply: said[0]}, {Memory: "h9", Reply: said[0]}}
			return llmtest.Say(e.JSON())
		case "resolve":
			var all llmtest.Resolutions
			for i, c := range r.Data("conflicts") {
				resolved++
				all = append(all, llmtest.Resolution{Conflict: c.Ref,
					Operation: []string{"UPDATE", "DELETE", "NOOP", "ERASE", "UPDATE"}[i%5],
					Target:    []string{others, "h999", uuid.NewString(), c.Similar[0].Ref, own}[i%5],
					Reason:    "because"})
			}
			for i := range 1000 {
				all = append(all, llmtest.Resolution{Conflict: fmt.Sprint("c", 100+i), Operation: "DELETE",
					Target: "h1", Reason: "because"})
			}
			return llmtest.Say(all.JSON())
		}
		return llmtest.Nothing(r)
	})
	b.say("ann", "s2", "I live in Lisbon, at many numbers.")
	b.work()
	require.Positive(t, resolved)
	require.Equal(t, 1, b.count(`oxbow.memories where user_id = 'bob' and expired_at is null and mention_count = 1
		and strength = 1`))
	require.Equal(t, 1, b.count(`oxbow.memories where id = $1::text::uuid and expired_at is null
		and invalid_at is null`, own), "nor by its id, which was not shown")
	require.Equal(t, 49, b.count(`oxbow.memories where user_id = 'ann' and content like '%at number%'
		and expired_at is null`), "50, and one rests on nothing")
	require.Zero(t, b.count(`oxbow.memory_history where event in ('UPDATE', 'DELETE', 'NOOP', 'BOOST')`))
	require.Zero(t, b.count(`oxbow.messages where extracted_at is null`))
	require.Contains(t, log.lines, "INFO dropped a proposal of the extractor")
	require.Contains(t, log.lines, "INFO dropped a part of a model's answer")
}

// Messages for which a model gives an invalid answer stay queued, are reported, and are extracted
// once the model recovers.
func TestModelAnswersNonsense(t *testing.T) {
	b := setup(t)
	server := llmtest.New(t)
	b.cfg.Reasoner = ReasonerConfig{Provider: "openai", Model: "m", URL: server.URL(), APIKey: "k"}
	server.Answer(func(llmtest.Request) llmtest.Reply { return llmtest.BrokenJSON() })
	b.say("ann", "s1", "I live in Lisbon.", "我养了一只猫。")
	b.say("bob", "s1", "I live in Rome.")
	b.hurry()
	require.ErrorAs(t, b.drain(), new(*UnfinishedError))
	o, err := gauges.ReadOverview(t.Context(), b.pool, gauges.ExactCounts)
	require.NoError(t, err)
	require.Equal(t, []any{int64(3), int64(3), 1}, []any{o.Messages.Waiting, o.Messages.Failing, o.Messages.Failures})
	require.Contains(t, o.Messages.LastError, "does not fit the schema")
	require.Equal(t, 2, b.count(`oxbow.river_job where kind = 'extract' and state = 'scheduled' and args ? 'retry'
		and scheduled_at > now()`))
	require.Equal(t, 2*2, b.count(`oxbow.llm_calls where error is not null`))

	server.Answer(llmtest.Remember("I live in Lisbon.", "Lisbon"))
	b.work()
	require.Equal(t, 1, b.count(`oxbow.memories`))
	o, err = gauges.ReadOverview(t.Context(), b.pool, gauges.ExactCounts)
	require.NoError(t, err)
	require.Zero(t, o.Messages)
	require.Zero(t, b.count(`oxbow.messages where extracted_at is null or extract_error is not null`))
}

// The sweep finds messages whose job was discarded or lost, however many others wait for their jobs.
func TestSweepFindsLostMessages(t *testing.T) {
	b := setup(t)
	b.listen()
	b.exec(`insert into oxbow.messages (user_id, session_id, content, extract_failures)
		select 'aaa', 's' || n, 'fact: it waits ' || n, 1 from generate_series(1, 700) n`)
	for _, user := range []string{"ann", "bob", "cid", "dan"} {
		b.say(user, "s1", "fact: "+user+" plays chess")
	}
	b.exec(`update oxbow.river_job set state = 'retryable', attempt = 3, scheduled_at = now() + interval '6 hours',
		args = args || case args ->> 'user_id' when 'aaa' then '{"retry": true}' else '{}' end::jsonb`)
	b.exec(`delete from oxbow.river_job where args ->> 'user_id' = 'ann'`)
	b.exec(`update oxbow.river_job set state = 'discarded', finalized_at = now() where args ->> 'user_id' = 'bob'`)
	// whose job does not retry them
	b.exec(`update oxbow.messages set extract_failures = 3, extract_error = 'odd' where user_id = 'cid'`)
	sweep := func() {
		b.exec(`insert into oxbow.river_job (kind, queue, max_attempts, args) values ('sweep', 'default', 1, '{}')`)
		require.ErrorAs(t, b.drain(), new(*UnfinishedError))
	}
	sweep()
	sweep()
	require.Zero(t, b.count(`oxbow.memories`), "they are young")
	b.exec(`update oxbow.messages set created_at = now() - interval '11 minutes'`)
	sweep()
	require.Zero(t, b.count(`oxbow.memories`), "they are on the second page")
	sweep()
	require.Equal(t, "ann plays chess, bob plays chess, cid plays chess",
		get[string](b, `select string_agg(content, ', ' order by content) from oxbow.memories`))
	require.Equal(t, 701, b.count(`oxbow.messages where extracted_at is null`))
	require.Equal(t, 700, b.count(`oxbow.river_job where kind = 'extract' and args ->> 'user_id' = 'aaa'`),
		"whoever has a job gets no other")
	require.Equal(t, 1, b.count(`oxbow.river_job where kind = 'extract' and args ->> 'user_id' = 'dan'`))
	b.exec(`delete from oxbow.river_job where args ->> 'user_id' = 'dan'`)
	sweep()
	sweep()
	require.Equal(t, 4, b.count(`oxbow.memories`), "it begins anew after the last")
}
