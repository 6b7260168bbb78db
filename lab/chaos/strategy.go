package chaos

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow"
)

// answer reports a reply that used the oldest of the recalled memories, so that recall gains from a lower bonus for
// recent ones.
func (c *client) answer(ctx context.Context, w *write, a Action) (outcome, error) {
	user := userName(a.User)
	return c.transact(ctx, a, func(tx pgx.Tx) error {
		bound := c.oxbow.WithTx(tx)
		reply := oxbow.Answer{Query: questions[int(a.Pick)%len(questions)], SessionID: sessionName(a.User, w.life, a.Pick>>4)}
		found, err := bound.Recall(ctx, oxbow.Query{UserID: user, Text: reply.Query, Limit: 20})
		if err != nil || len(found.Memories) == 0 {
			return err
		}
		oldest := found.Memories[0]
		for _, m := range found.Memories {
			reply.Recalled = append(reply.Recalled, m.ID)
			if m.CreatedAt.Before(oldest.CreatedAt) {
				oldest = m
			}
		}
		reply.Used = []uuid.UUID{oldest.ID}
		_, err = bound.Answered(ctx, user, reply)
		return err
	})
}

// operate does what an operator does with strategies: proposes one, rolls the latest back, or has molt suggest or adopt.
func (c *client) operate(ctx context.Context, a Action) (outcome, error) {
	n := int64(a.Pick >> 4)
	return c.transact(ctx, a, func(tx pgx.Tx) (err error) {
		switch a.Pick % 4 {
		case 0, 1:
			_, err = tx.Exec(ctx, `select oxbow.propose_policy(p.name, p.minimum + (p.maximum - p.minimum) * ($1 % 97) / 97.0,
				'a chaos run') from (select * from oxbow.policies where name like 'recall%'
				order by name offset $1 % 5 limit 1) p`, n)
		case 2:
			_, err = tx.Exec(ctx, `select oxbow.rollback_strategy(version) from oxbow.strategies where state = 'adopted'
				order by adopted_at desc limit 1`)
		default:
			_, err = tx.Exec(ctx, `select oxbow.set_policy('molt_mode', 1 + $1 % 2)`, n)
		}
		return err
	})
}

// judging matches the strategy that waits until enough replies followed its adoption.
const judging = `oxbow.strategies a where a.state = 'adopted' and a.judged_at is null`

// inTrial matches strategies of which molt has all that it needs for the next step.
const inTrial = `(state in ('proposed', 'tried') and not exists (select from ` + judging + `)
	  and (select count(*) >= oxbow.policy('molt_answers') from oxbow.replayed_answers(500)) -- the most that may be needed
	or state = 'adopted' and judged_at is null and (select count(*) >= oxbow.policy('molt_answers')
	     from oxbow.replayed_answers(500, 'infinity', adopted_at, true)))`

// trials are the rules for strategies.
var trials = []rule{
	{"strategies", "adopted, rejected, or waiting for replies", `
		select '', version, state from oxbow.strategies where ` + inTrial},
	{"strategies", "one that waits for its judgement at most", `
		select '', max(version), count(*) from ` + judging + ` having count(*) > 1`},
	{"strategies", "a gain", `
		select '', version, format('%s to %s', metric_before, metric_after) from oxbow.strategies
		 where state in ('tried', 'adopted', 'rolled_back') and metric_after is distinct from
		   greatest(metric_after, metric_before + 1e-9)`},
	{"strategies", "the value that the latest strategy set or restored", `
		select '', s.version, format('%s is %s and not %s', p.name, p.value, s.value)
		  from (select distinct on (c.key) s.version, c.key,
		               case s.state when 'adopted' then c.value else s.previous ->> c.key end::double precision as value
		          from oxbow.strategies s, jsonb_each_text(s.changes) c where s.state in ('adopted', 'rolled_back')
		         order by c.key, s.adopted_at desc) s
		  join oxbow.policies p on p.name = s.key where p.value <> s.value`},
}

// strategies checks what molt and operators did.
func (k *checker) strategies() int {
	k.rules(trials)
	return k.count(`oxbow.strategies`) + k.count(`oxbow.answers`)
}
