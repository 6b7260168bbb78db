package worker

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/consistency"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/jobs"
)

// scripted is a reasoner that treats "tea: …" as support of the trait "Likes tea." and "no tea: …" as a
// contradiction of it. before lets a test act during a call.
type scripted struct {
	mu     sync.Mutex
	before func(n int, b reasoner.Batch) (*reasoner.Proposals, error) // n is the number of earlier calls
	ctx    context.Context                                            // of the latest call
	judge  func(c reasoner.Case) (reasoner.Verdict, error)
	asked  []reasoner.Batch
	cases  []reasoner.Case
}

func (*scripted) Name() string { return "scripted" }

func topic(m reasoner.Memory) (key string, against bool) {
	key, _, _ = strings.Cut(m.Content, ":")
	key, against = strings.CutPrefix(key, "no ")
	return key, against
}

func (*scripted) Keys(memories []reasoner.Memory) (keys []string, found any) {
	keys = []string{}
	for _, m := range memories {
		key, _ := topic(m)
		keys = append(keys, key)
	}
	return keys, nil
}

func (s *scripted) Reflect(ctx context.Context, b reasoner.Batch) (p reasoner.Proposals, err error) {
	s.mu.Lock()
	n := len(s.asked)
	s.asked, s.ctx = append(s.asked, b), ctx
	before := s.before
	s.mu.Unlock()
	if before != nil {
		if given, err := before(n, b); given != nil || err != nil {
			if given == nil {
				given = &p
			}
			return *given, err
		}
	}
	live := map[string]uuid.UUID{}
	for _, t := range b.Traits {
		if t.Stage != "dissolved" {
			live[t.Key] = t.ID
		}
	}
	pro, con := map[string][]reasoner.Support{}, map[string][]reasoner.Support{}
	var order []string
	for _, m := range b.Memories {
		key, against := topic(m)
		if pro[key] == nil && con[key] == nil {
			order = append(order, key)
		}
		if e := (reasoner.Support{Memory: m.ID}); against {
			con[key] = append(con[key], e)
		} else {
			pro[key] = append(pro[key], e)
		}
	}
	for _, key := range order {
		switch id, there := live[key]; {
		case !there && pro[key] != nil:
			p.Patterns = append(p.Patterns, reasoner.Pattern{Key: key, Content: "Likes " + key + ".",
				Evidence: pro[key]})
		case there && pro[key] != nil:
			p.Reinforcements = append(p.Reinforcements, reasoner.Reinforcement{Trait: id, Evidence: pro[key]})
		}
		if con[key] != nil && live[key] != uuid.Nil {
			p.Contradictions = append(p.Contradictions, reasoner.Contradiction{Trait: live[key], Evidence: con[key],
				Reason: "denied"})
		}
	}
	return p, nil
}

func (s *scripted) Review(_ context.Context, c reasoner.Case) (reasoner.Verdict, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cases = append(s.cases, c)
	if s.judge == nil {
		return reasoner.Verdict{Action: reasoner.Keep, Reason: "why not"}, nil
	}
	return s.judge(c)
}

// times returns how often the reasoner was asked to reflect.
func (s *scripted) times() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

// morning is the reference time of the tests.
var morning = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

// script sets the reasoner and the clock.
func (b *bundle) script(now time.Time) *scripted {
	s := &scripted{}
	b.cfg.testReasoner = s
	b.cfg.Now = func() time.Time { return now }
	return s
}

// waiting puts memories into the inbox as if they had been embedded. They are a day apart, and the last one is
// from the day before now.
func (b *bundle) waiting(user string, contents ...string) []uuid.UUID {
	b.Helper()
	ids := make([]uuid.UUID, len(contents))
	for i := range ids {
		ids[i] = uuid.New()
	}
	now := morning
	if b.cfg.Now != nil {
		now = b.cfg.Now()
	}
	b.exec(`
		with m as (
		  insert into oxbow.memories (user_id, memory_type, id, content, valid_at)
		  select $1, 'episodic', id, content, $4::timestamptz - (cardinality($2::uuid[]) - n + 1) * interval '1 day'
		    from unnest($2::uuid[], $3::text[]) with ordinality x(id, content, n) returning id, valid_at, importance)
		insert into oxbow.reflection_inbox (user_id, memory_type, memory_id, importance, valid_at)
		select $1, 'episodic', id, importance, valid_at from m`,
		user, ids, contents, now)
	b.exec(`delete from oxbow.river_job where kind = 'embed'`)
	return ids
}

// several returns n memories about one thing.
func several(n int, what string) []string { return numbered(n, what+":") }

// enqueue inserts a job for a user.
func (b *bundle) enqueue(kind, user string) {
	b.Helper()
	b.exec(`insert into oxbow.river_job (kind, queue, max_attempts, args) values ($1, case $1
		when 'expire_trend' then 'default' else 'reflect' end, 25,
		jsonb_build_object('user_id', $2::text, 'trigger_type', 'importance_accumulated', 'trigger_value', 42))`, kind,
		user)
}

// reflect processes the inbox immediately, with a new worker.
func (b *bundle) reflect(user string) []jobs.Outcome {
	b.Helper()
	outcomes, err := b.tryReflect(user, false)
	require.NoError(b, err)
	return outcomes
}

func (b *bundle) tryReflect(user string, dryRun bool) (outcomes []jobs.Outcome, err error) {
	b.Helper()
	w, err := New(b.Context(), b.cfg)
	require.NoError(b, err)
	defer w.Close()
	err = w.Reflect(b.Context(), user, dryRun, func(o jobs.Outcome) { outcomes = append(outcomes, o) })
	return outcomes, err
}

// trait is the part of a trait that the tests check.
type trait struct {
	ID         uuid.UUID
	Content    string
	Stage      string
	Confidence float64 // 0: none
	Reinforced int
	Supporting int
	Against    int
}

// held returns the user's only trait.
func (b *bundle) held(user string) trait {
	b.Helper()
	all := b.allHeld(user)
	require.Len(b, all, 1)
	return all[0]
}

func (b *bundle) allHeld(user string) (all []trait) {
	b.Helper()
	rows, err := b.pool.Query(b.Context(), `
		select id, content, stored_stage, coalesce(stored_confidence, 0), reinforcement_count, supporting, contradicting
		  from oxbow.traits where user_id = $1 order by content`, user)
	require.NoError(b, err)
	defer rows.Close()
	for rows.Next() {
		var t trait
		require.NoError(b, rows.Scan(&t.ID, &t.Content, &t.Stage, &t.Confidence, &t.Reinforced, &t.Supporting,
			&t.Against))
		all = append(all, t)
	}
	require.NoError(b, rows.Err())
	return all
}

// events returns the events of a trait.
func (b *bundle) events(id uuid.UUID) []string {
	b.Helper()
	return get[[]string](b, `select coalesce(array_agg(event order by seq), '{}') from oxbow.trait_events
		where trait_id = $1`, id)
}

// consistent checks that all traits agree with their events and their evidence.
func (b *bundle) consistent() {
	b.Helper()
	_, err := consistency.CheckNext(b.Context(), b.pool, b.cfg.Now(), 1000, func(p consistency.Problem) error {
		b.Errorf("%+v", p)
		return nil
	})
	require.NoError(b, err)
}
