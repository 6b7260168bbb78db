package browser

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

func executor(t testing.TB, pool *pgxpool.Pool) func(sql string, args ...any) {
	return func(sql string, args ...any) {
		t.Helper()
		_, err := pool.Exec(t.Context(), sql, args...)
		require.NoError(t, err)
	}
}

// people stores the memories of an app's users, who joined in the course of half a year, and some that a recall of mira
// leaves out.
func people(t testing.TB, pool *pgxpool.Pool) {
	t.Helper()
	exec := executor(t, pool)
	exec(`insert into oxbow.memories (user_id, memory_type, content, category, created_at, valid_at)
		select format('reader-%s', lpad(u::text, 3, '0')), case when n % 3 = 0 then 'fact' else 'episodic' end,
		       format('Read %s pages of volume %s in the reading room.', 10 + (u * 7 + n * 13) % 90, n),
		       case when n % 3 = 0 then 'short_preference' end, at, at
		  from generate_series(1, 60) u, generate_series(1, 12) n,
		       lateral (select now() - make_interval(days => 180 - 3 * u + (3 * u * (n - 1)) / 12) as at) a
		 where at < now()`)
	exec(`insert into oxbow.users (user_id, timezone, language) values ('reader-001', 'Asia/Shanghai', 'zh'),
		('reader-002', 'Europe/Lisbon', 'pt')`)
	exec(`insert into oxbow.memories (user_id, content, valid_at, invalid_at, created_at) values
		('mira', 'Mira bakes bread in a rented oven.', now() - interval '300 days', now() - interval '190 days',
		 now() - interval '300 days'),
		('mira', 'Mira sells bread at the Saturday market.', null, null, now() - interval '100 days'),
		('mira', 'Mira gives the bread that is left to the school.', null, null, now() - interval '20 days')`)
	exec(`insert into oxbow.memories (user_id, content, expires_at, created_at) values
		('mira', 'Mira has a voucher for bread tins.', now() - interval '2 days', now() - interval '40 days')`)
}

// operate adds what an operator has to look at: changes of weights, jobs of all states, contradictions, keys and a log.
func operate(t testing.TB, pool *pgxpool.Pool) {
	t.Helper()
	exec := executor(t, pool)
	exec(`update oxbow.trait_events set at = at - (60 - right(user_id, 2)::integer) * interval '2 days' where user_id like 'reader-%'`)
	exec(`update oxbow.memories_trait set created_at = created_at - (60 - right(user_id, 2)::integer) * interval '2 days'
		where user_id like 'reader-%'`)
	exec(`insert into oxbow.weight_log (user_id, memory_type, memory_id, at, cause, before, after)
		select m.user_id, m.memory_type, m.id, now() - make_interval(days => d), c.cause, 0.5, 0.6
		  from (select * from oxbow.memories_fact where user_id like 'reader-%' order by id limit 40) m,
		       generate_series(1, 28) d, unnest('{used,mentioned,negated}'::text[]) with ordinality c(cause, nth)
		 where (d * 5 + ascii(right(m.id::text, 1)) * c.nth) % (3 * c.nth) = 0`)
	exec(`select oxbow.propose_policy('recall_recency', 0.05, 'the first memory that was used came sixth');
		select oxbow.note_trial(1, true, 'mrr', 120, 0.41, 0.58, 0.1);
		select oxbow.propose_policy('recall_importance', 0.6, 'the first memory that was used came fourth');
		select oxbow.note_trial(2, false, 'mrr', 120, 0.58, 0.55, -0.05)`)
	exec(`select oxbow.propose_policy('recall_weight', 0.075, 'the first memory that was used came fifth');
		select oxbow.note_trial(3, true, 'mrr', 130, 0.52, 0.6, 0.03)`)
	exec(`select oxbow.adopt_strategy(3)`)
	exec(`insert into oxbow.webhooks (url, secret, created_at, deliveries)
		select url, '\x00', now() - interval '30 days', (
		         select jsonb_agg(jsonb_build_object('at', now() - n * interval '7 hours', 'status', status[1 + n % cardinality(status)]))
		           from generate_series(0, 4) n)
		  from (values ('https://hooks.example.com/reminders', array['204 No Content']),
		    ('https://calendar.example.org/oxbow/due', array['503 Service Unavailable', '200 OK', '200 OK'])) h(url, status)`)
	exec(`select oxbow.record_delivery(id, '410 Gone', true) from oxbow.webhooks where url ~ 'calendar'`)
	exec(`insert into oxbow.settings (key, value) values ('patterns', '{"enabled": true}')`)
	exec(`select oxbow.publish_patterns(now() - interval '70 days', 1, 20, 3, 228, '{}', '{}', '{}'),
		oxbow.publish_patterns(now() - interval '5 days', 1, 20, 3, 228,
		  '{dimension:conscientiousness_high,dimension:openness_high,value:self_direction,dimension:extraversion_low}',
		  '{work,general,learning,social}', '{143,121,88,64}')`)
	exec(`insert into oxbow.river_job (kind, queue, args, state, attempt, finalized_at, created_at, scheduled_at, errors)
		select k, 'default', jsonb_build_object('user_id', u), 'discarded', 25, now() - a, now() - a - interval '1 day',
		       now() - a, array[jsonb_build_object('error', e)]
		  from (values ('embed', 'reader-007', interval '40 minutes',
		          'POST "https://api.example.com/v1/embeddings": 400 Bad Request: input is too long for the model'),
		        ('embed', 'reader-012', interval '3 hours',
		          'POST "https://api.example.com/v1/embeddings": 400 Bad Request: input is too long for the model'),
		        ('summarize', 'mira', interval '1 day', 'the answer is not valid JSON: unexpected end of input')) j(k, u, a, e)`)
	exec(`insert into oxbow.river_job (kind, queue, args, state, attempt, created_at, scheduled_at, errors) values
		('reflect', 'default', '{"user_id": "reader-003"}', 'retryable', 4, now() - interval '2 hours',
		 now() + interval '30 minutes', array['{"error": "the model does not answer: context deadline exceeded"}'::jsonb])`)
	exec(`insert into oxbow.river_job (kind, queue, args, state, created_at, scheduled_at)
		select 'extract', 'default', jsonb_build_object('user_id', 'reader-0' || (10 + n)), 'available',
		       now() - interval '12 minutes', now() - n * interval '1 minute' from generate_series(1, 7) n`)
	exec(`insert into oxbow.river_job (kind, queue, args, state, created_at, scheduled_at, attempted_at, attempt) values
		('extract', 'default', '{"user_id": "reader-020"}', 'running', now() - interval '1 minute',
		 now() - interval '1 minute', now() - interval '20 seconds', 1)`)
	exec(`insert into oxbow.river_job (kind, queue, args, state, created_at, scheduled_at, finalized_at, attempt)
		select k, 'default', '{"user_id": "reader-001"}', 'completed', at - interval '2 seconds', at - interval '1 second', at, 1
		  from generate_series(1, 540) n, lateral (select now() - n * interval '1 second' as at) a,
		       unnest(array['embed', 'check_trigger']) k
		 where n % (2 + (n / 60) % 4) = 0`)
	exec(`update oxbow.memories_trait set trait_review_due_at = now() - interval '2 days'
		where user_id = 'mira' and content like 'Bakes for herself%'`)
	exec(`update oxbow.memories_trait set trait_review_due_at = now() - interval '5 hours'
		where user_id = 'xiaowen' and content like '周末清晨%'`)
	exec(`insert into oxbow.users (user_id, opted_out) values ('xiaowen', true)
		on conflict (user_id) do update set opted_out = true`)
	exec(`insert into oxbow.river_job (kind, queue, args, state, attempt, created_at, scheduled_at, errors) values
		('contradiction_review', 'default', '{"user_id": "mira"}', 'retryable', 2, now() - interval '4 hours',
		 now() + interval '2 hours', array['{"error": "the model does not answer: context deadline exceeded"}'::jsonb])`)
	exec(`insert into oxbow.river_leader (elected_at, expires_at, leader_id) values (now(), now() + interval '1 day', 'x')
		on conflict do nothing`)
	for i, name := range []string{"Reading app", "Kiosk in the lobby", "Mira's phone"} {
		role, user := "app", ""
		if i == 2 {
			role, user = "person", "mira"
		}
		exec(`insert into oxbow.api_keys (user_id, id, role, name, hash, created_at, expires_at, last_used_at, revoked_at)
			values ($1, gen_random_uuid(), $2, $3::text, sha256($3::text::bytea), now() - $4::int * interval '30 days',
			        case when $4::int = 2 then now() + interval '200 days' end, now() - $4::int * interval '3 hours',
			        case when $4::int = 3 then now() - interval '10 days' end)`, user, role, name, i+1)
	}
	for i, operation := range []string{"recall", "add-memory", "context", "list-traits", "forget-memory", "recall"} {
		exec(`insert into oxbow.api_log (user_id, id, at, role, operation, target, status)
			values ('mira', $1::text::uuid, $2, $3, $4::text, case when $4::text = 'forget-memory' then $1::text end, 200)`,
			fmt.Sprintf("0192f000-0000-7000-8000-00000000000%d", i), time.Now().Add(time.Duration(i-6)*time.Hour),
			[]string{"app", "app", "app", "person", "person", "app"}[i], operation)
	}
}
