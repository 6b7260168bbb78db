package worker

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/llm/llmtest"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/store"
)

// A fact that an application stores replaces, repeats or leaves the current ones, by the rules, whatever the order.
func TestReconcile(t *testing.T) {
	b := setup(t)
	keep := func(content string) {
		b.exec(`insert into oxbow.memories (user_id, content) values ('ann', $1)`, content)
	}
	b.exec(`insert into oxbow.memories (user_id, content, valid_at, created_at, category) values
		('ann', 'I live in Lisbon', now() - interval '60 days', now() - interval '60 days', 'home'),
		('ann', 'I have two cats', now() - interval '60 days', now() - interval '60 days', null),
		('bob', 'I live in Bergen', now() - interval '60 days', now() - interval '60 days', null)`)
	b.work()
	keep("I live in Porto")
	b.work()
	require.Equal(t, "I live in Porto", get[string](b, `select content from oxbow.recall('ann', 'where do I live') limit 1`))
	require.Equal(t, "I live in Lisbon", get[string](b, `
		select content from oxbow.recall('ann', 'where do I live', valid_as_of => now() - interval '1 day') limit 1`))
	require.Equal(t, "none home identity", get[string](b, `
		select string_agg(coalesce(category, 'none'), ' ' order by content) from oxbow.memories where user_id = 'ann'`),
		"a category is not changed, a missing one is added unless it is fact")
	require.Equal(t, "UPDATE another value of home rules-v1", get[string](b, `
		select string_agg(concat_ws(' ', h.event, h.reason, h.actor), ', ') from oxbow.memories m,
		  oxbow.history(m.user_id, m.id) h where m.content = 'I live in Lisbon' and h.event <> 'ADD'`))
	require.Equal(t, 2, b.count(`oxbow.memories m, oxbow.history(m.user_id, m.id) h where m.content = 'I live in Lisbon'
		and h.event = 'ADD' and h.actor is null`), "an application stored both")
	require.Equal(t, 1, b.count(`oxbow.memories where user_id = 'bob' and expired_at is null`), "another's fact stays")

	keep("I live in Porto now")
	b.work()
	require.Equal(t, 1, b.count(`oxbow.memories where content = 'I live in Porto' and expired_at is null
		and mention_count = 2 and cardinality(mentions) = 1`), "a repeat is a mention")
	require.Equal(t, 1, b.count(`oxbow.memories m join oxbow.memories k on k.id = m.superseded_by
		where m.content = 'I live in Porto now' and k.content = 'I live in Porto'`))
	require.Equal(t, "SUPERSEDE I live in Porto: it says the same", get[string](b, `
		select format('%s %s: %s', h.event, h.new_content, h.reason) from oxbow.memory_history h
		  join oxbow.memories m on m.user_id = h.user_id and m.id = h.memory_id where m.content = 'I live in Porto now'`))

	// an earlier home that is stored late goes before the later one
	b.exec(`insert into oxbow.memories (user_id, content, valid_at) values ('ann', 'I live in Faro', now() - interval '90 days')`)
	b.work()
	require.Equal(t, "I live in Faro, I live in Lisbon, I live in Porto", get[string](b, `
		select string_agg(content, ', ' order by valid_at) from oxbow.timeline('ann', 'where do I live?')
		where content not like '%now'`))
	require.Equal(t, "I live in Porto", get[string](b, `select content from oxbow.recall('ann', 'where do I live') limit 1`))

	b.exec(`select oxbow.restore('ann', id) from oxbow.memories where content = 'I live in Lisbon'`)
	require.Equal(t, 2, b.count(`oxbow.recall('ann', 'where do I live') where content ~ 'Lisbon|Porto'`),
		"a person can undo it")
}

// A fact with the user ID as a name is about the user. A fact with another name is not.
func TestReconcileNames(t *testing.T) {
	b := setup(t)
	for _, pair := range [][2]string{{"Ada lives in Lisbon", "I live in Porto"}, {"王明住在上海", "王明搬到了北京"},
		{"Ada's sister works at a bank", "Ada works at a brewery"}} {
		for _, content := range pair {
			b.exec(`insert into oxbow.memories (user_id, content) values ('ada', $1)`, content)
			b.work()
		}
	}
	require.Equal(t, "Ada lives in Lisbon, 王明住在上海", get[string](b, `
		select string_agg(content, ', ' order by content) from oxbow.memories where expired_at is not null`))
	require.Equal(t, "identity identity none none none identity", get[string](b, `
		select string_agg(coalesce(category, 'none'), ' ' order by created_at, content) from oxbow.memories`))
}

// A person can take back a negation, whatever the policy of the category, and an end that was stated before stays.
func TestRestoreNegated(t *testing.T) {
	for policy, ends := range map[string]bool{"version_keep": true, "weight_balance": false} {
		t.Run(policy, func(t *testing.T) {
			b := setup(t)
			b.exec(`update oxbow.settings set value = value || $1 where key = 'conversations'`,
				`{"policies": {"stable_preference": "`+policy+`"}}`)
			b.exec(`insert into oxbow.memories (user_id, content, valid_at) values ('ann', '我喜欢喝咖啡', '2020-01-01')`)
			b.work()
			if !ends {
				b.exec(`update oxbow.memories set invalid_at = '2090-01-01'`)
			}
			b.exec(`insert into oxbow.memories (user_id, content) values ('ann', '我不再喜欢喝咖啡了')`)
			b.work()
			old := get[uuid.UUID](b, `select id from oxbow.memories where content = '我喜欢喝咖啡'`)
			require.Equal(t, 1, b.count(`oxbow.memories where id = $1 and negated_at is not null
				and (invalid_at <= now()) = $2`, old, ends))

			b.exec(`select oxbow.restore('ann', $1)`, old)
			require.Equal(t, 1, b.count(`oxbow.memories where id = $1 and negated_at is null and expired_at is null
				and (invalid_at is null) = $2`, old, ends))
			require.Equal(t, 2, b.count(`oxbow.recall('ann', '喝咖啡')`), "both are current")
			require.Equal(t, 2, b.count(`oxbow.timeline('ann', '喝咖啡') where current and contradicted_by is null`))
			_, err := b.pool.Exec(t.Context(), `select oxbow.restore('ann', $1)`, old)
			require.ErrorContains(t, err, "is not forgotten", "it takes back a negation once")
		})
	}
}

// Facts of one statement are reconciled with each other, in the order in which they became true, also if all
// of them are earlier than those stored already.
func TestReconcileOneStatement(t *testing.T) {
	b := setup(t)
	b.exec(`insert into oxbow.memories (user_id, content, valid_at) values
		('ann', 'I live in Porto', now() - interval '1 day'), ('ann', 'I live in Lisbon', now() - interval '9 days'),
		('ann', 'I live in Faro', now() - interval '20 days')`)
	b.work()
	b.exec(`insert into oxbow.memories (user_id, content, valid_at) values
		('ann', 'I live in Kyoto', now() - interval '40 days'), ('ann', 'I live in Bergen', now() - interval '30 days')`)
	b.work() // each of the two is earlier than all that are stored
	require.Equal(t, "I live in Kyoto until I live in Bergen, I live in Bergen until I live in Faro, "+
		"I live in Faro until I live in Lisbon, I live in Lisbon until I live in Porto, I live in Porto",
		get[string](b, `
		select string_agg(m.content || coalesce(' until ' || n.content, ''), ', ' order by m.valid_at)
		  from oxbow.memories m left join oxbow.memories n on n.id = m.superseded_by
		 where (m.expired_at is null) = (n.id is null) and m.invalid_at is not distinct from n.valid_at`))
}

// Facts are not reconciled for users or databases without it, nor those of an import.
func TestReconcileIsOptional(t *testing.T) {
	for name, off := range map[string]string{
		"the user":    `insert into oxbow.users (user_id, reconcile) values ('ann', false)`,
		"opted out":   `insert into oxbow.users (user_id, opted_out) values ('ann', true)`,
		"the setting": `insert into oxbow.settings (key, value) values ('reconcile', '{"enabled": false}')`,
		"an import":   `select set_config('oxbow.origin', 'import', false)`,
	} {
		t.Run(name, func(t *testing.T) {
			b := setup(t)
			b.exec(off + `; insert into oxbow.memories (user_id, content, created_at) values
				('ann', 'I live in Lisbon', now() - interval '9 days'), ('ann', 'I live in Porto', now())`)
			b.work()
			require.Equal(t, 2, b.count(`oxbow.memories where expired_at is null and invalid_at is null`))
			require.Zero(t, b.count(`oxbow.river_job where kind = 'reconcile' and state <> 'completed'`))
		})
	}
}

// A language model is also asked about facts in other words, in one call for all facts of a job.
func TestReconcileByModel(t *testing.T) {
	b := setup(t)
	b.exec(`insert into oxbow.memories (user_id, content) values ('ann', 'The red bicycle is in the cellar'),
		('ann', '院子里的猫叫煤球'), ('ann', 'Plays the cello')`)
	b.work()
	server := llmtest.New(t)
	b.cfg.Reasoner = ReasonerConfig{Provider: "openai", Model: "m", URL: server.URL(), APIKey: "k"}
	server.Answer(func(r llmtest.Request) llmtest.Reply {
		var all llmtest.Resolutions
		for _, c := range r.Data("conflicts") {
			all = append(all, llmtest.Resolution{Conflict: c.Ref, Operation: "UPDATE", Target: c.Similar[0].Ref,
				Reason: "it changed"})
		}
		if all == nil {
			return llmtest.Nothing(r)
		}
		return llmtest.Say(all.JSON())
	})
	b.exec(`insert into oxbow.memories (user_id, content) values ('ann', 'The red bicycle is in the garage'),
		('ann', '院子里的猫改叫雪球'), ('ann', 'Went to Kyoto')`)
	b.work()
	require.Equal(t, "Plays the cello, The red bicycle is in the garage, Went to Kyoto, 院子里的猫改叫雪球", get[string](b, `
		select string_agg(content, ', ' order by content collate "C") from oxbow.memories where expired_at is null`))
	require.Equal(t, 1, b.count(`oxbow.llm_calls where purpose = 'resolve'`))
}

// If an answer about many facts is unusable, the model is asked about fewer at once.
func TestReconcileFewerFacts(t *testing.T) {
	b := setup(t)
	for _, content := range numbered(5, "The red bicycle is in the cellar, with tree") {
		b.exec(`insert into oxbow.memories (user_id, content) values ('ann', $1)`, content)
	}
	b.work()
	server := llmtest.New(t)
	b.cfg.Reasoner = ReasonerConfig{Provider: "openai", Model: "m", URL: server.URL(), APIKey: "k"}
	var asked []int
	server.Answer(func(r llmtest.Request) llmtest.Reply {
		if r.Purpose != "resolve" {
			return llmtest.Nothing(r)
		}
		asked = append(asked, len(r.Data("conflicts")))
		if asked[len(asked)-1] > 1 {
			return llmtest.Prose()
		}
		return llmtest.Nothing(r)
	})
	b.exec(`insert into oxbow.memories (user_id, content)
		select 'ann', 'The red bicycle is in the garage, with tree ' || n from generate_series(1, 5) n`)
	b.work()
	slices.Sort(asked)
	require.Equal(t, []int{1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 5, 5}, asked, "each invalid answer is repaired once")
	require.Zero(t, b.count(`oxbow.river_job where state <> 'completed'`))
	require.Equal(t, 10, b.count(`oxbow.memories where expired_at is null`))
}

// A fact whose text the provider refused has no vector to compare with.
func TestReconcileWithoutVector(t *testing.T) {
	b := setup(t)
	b.remote().Refuse(func(texts []string) bool { return slices.Contains(texts, "A forbidden text") })
	server := llmtest.New(t)
	b.cfg.Reasoner = ReasonerConfig{Provider: "openai", Model: "m", URL: server.URL(), APIKey: "k"}
	server.Answer(llmtest.Nothing)
	b.exec(`insert into oxbow.memories (user_id, content) values ('ann', 'A forbidden text'), ('ann', 'Plays the cello')`)
	b.work()
	require.Equal(t, 1, b.count(`oxbow.embedding_refusals`))
	require.Equal(t, 1, b.count(`oxbow.river_job where kind = 'reconcile' and state = 'completed' and attempt = 1`))
}

// What another extraction wrote meanwhile is seen under the lock.
func TestReconcileSeesOthers(t *testing.T) {
	b := setup(t)
	b.exec(`insert into oxbow.memories (user_id, content) values ('ann', 'I live in Lisbon')`)
	b.work()
	ids := []uuid.UUID{get[uuid.UUID](b, `select id from oxbow.memories`)}
	facts, err := store.FactsToReconcile(t.Context(), b.pool, "ann", ids)
	require.NoError(t, err)
	require.Len(t, facts, 1)
	require.WithinDuration(t, time.Now(), facts[0].At, time.Minute)
	tx, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	others, err := store.LockReconciliation(t.Context(), tx, "ann", facts[0].Number)
	require.NoError(t, err)
	require.False(t, others)
	others, err = store.LockReconciliation(t.Context(), tx, "ann", facts[0].Number-1)
	require.NoError(t, err)
	require.True(t, others)
	require.NoError(t, tx.Rollback(t.Context()))
}

// A fact that was forgotten after it was read replaces nothing.
func TestReconcileAfterForgetting(t *testing.T) {
	b := setup(t)
	b.exec(`insert into oxbow.memories (user_id, content, created_at) values
		('ann', 'I live in Lisbon', now() - interval '9 days')`)
	b.work()
	b.exec(`insert into oxbow.settings (key, value) values ('reconcile', '{"enabled": false}')`)
	b.exec(`insert into oxbow.memories (user_id, content) values ('ann', 'I live in Porto')`)
	b.work()
	old := get[uuid.UUID](b, `select id from oxbow.memories where content = 'I live in Lisbon'`)
	fact := store.Extracted{ID: get[uuid.UUID](b, `select id from oxbow.memories where content = 'I live in Porto'`)}
	fact.Type, fact.Content, fact.Time = "fact", "I live in Porto", time.Now()
	fact.Operation, fact.Target = reasoner.Update, old
	write := func() error {
		return pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
			_, err := store.WriteReconciliation(t.Context(), tx, "ann", "rules", []store.Extracted{fact})
			return err
		})
	}
	b.exec(`select oxbow.forget('ann', $1)`, fact.ID)
	require.ErrorIs(t, write(), store.ErrStale)
	require.Equal(t, 1, b.count(`oxbow.memories where id = $1 and expired_at is null`, old))
	b.exec(`select oxbow.restore('ann', $1)`, fact.ID)
	require.NoError(t, write())
	require.Equal(t, 1, b.count(`oxbow.memories where id = $1 and superseded_by = $2`, old, fact.ID))
}
