package worker

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/store"
)

// Memories become traits through the whole chain of jobs with the real rules. The evidence is dated
// in the user's time zone.
func TestTraitsSettle(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		zone     string
		memories []string
		late     string // the day of the last memory, at 23:30
		words    []string
	}{
		"English": {"America/New_York", []string{
			"Went running in the park before work.", "Had ramen for lunch with a colleague.",
			"Went running again, six kilometres.", "The bus was late.", "Another evening run along the river.",
			"Ordered ramen at the place around the corner.",
			"Bought new running shoes and went running.", "Read the news.", "Ramen again, with extra noodles.",
			"Cleaned the kitchen.",
			"Went running with Tom.", "Ate ramen at home."}, "day 2026-02-28", []string{"run", "ramen"}},
		"Chinese": {"Asia/Shanghai", []string{
			"早上去公园跑步了。", "中午和同事吃了拉面。", "又去跑步，六公里。", "公交车晚点了。", "傍晚沿着江边跑步。", "在拐角那家店吃拉面。",
			"买了新跑鞋，去跑步了。", "看了会儿新闻。", "又吃了拉面，加了一份面。", "打扫了厨房。", "和小汤一起跑步。", "在家吃拉面。"}, "day 2026-02-28", []string{"跑步",
			"拉面"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := setup(t)
			zone, err := time.LoadLocation(c.zone)
			require.NoError(t, err)
			last := time.Date(2026, 2, 28, 23, 30, 0, 0, zone)
			b.cfg.Now = func() time.Time { return last.Add(time.Hour) }
			b.exec(`insert into oxbow.users (user_id, timezone) values ('ann', $1)`, c.zone)
			b.exec(`insert into oxbow.memories (user_id, memory_type, content, valid_at)
				select 'ann', 'episodic', x, $2::timestamptz - (cardinality($1::text[]) - n) * interval '1 day'
				from unnest($1::text[]) with ordinality as m(x, n)`,
				c.memories, last)
			require.NoError(t, b.drain())

			require.Zero(t, b.count(`oxbow.reflection_inbox`))
			require.Equal(t, 1, b.count(`oxbow.reflection_cycles where status = 'completed'
				and trigger_type = 'importance_accumulated' and trigger_value = 60
				and memories_scanned = 12 and reasoner = 'rules-v1' and now = $1 and traits_created > 0`,
				last.Add(time.Hour)))
			for _, word := range c.words {
				require.Equal(t, 1, b.count(`oxbow.traits where content like '%' || $1 || '%'
					and stored_stage = 'emerging' and stored_confidence = 0.4 and supporting >= 3`, word), word)
			}
			require.Zero(t, b.count(`oxbow.trait_evidence where timezone <> $1`, c.zone))
			require.Positive(t, b.count(`oxbow.trait_evidence where session_key = $1`, c.late),
				"the day of the user's own clock")
			require.Equal(t, b.count(`oxbow.trait_evidence`),
				get[int](b, `select sum(memories) from oxbow.trait_events`))
			require.Equal(t, b.count(`oxbow.traits`), b.count(`oxbow.memory_vectors_trait`), "traits are embedded")
			require.Equal(t, b.count(`oxbow.traits where stored_stage = 'trend'`),
				b.count(`oxbow.river_job where kind = 'expire_trend' and state = 'scheduled'`))
			require.Equal(t, b.count(`oxbow.traits`), b.count(`oxbow.traits_as_of('ann', $1)`, last.Add(time.Hour)))
			b.consistent()
		})
	}
}

// No single memory prevents the reflection on its user, such as a huge one, or one at the start of the year 1,
// which is in the year 0 in a time zone further west.
func TestOddMemoriesBlockNothing(t *testing.T) {
	b := setup(t)
	b.cfg.Now = func() time.Time { return morning.Add(8 * time.Hour) } // about noon in New York
	b.exec(`insert into oxbow.users (user_id, timezone) values ('ann', 'America/New_York')`)
	b.exec(`insert into oxbow.memories (user_id, memory_type, content, valid_at, importance)
		select 'ann', 'fact', repeat(x, 150000), $1::timestamptz - interval '5 days', 1
		from unnest('{0 1 ,a-a-,e t ,毛病}'::text[]) x`, morning)
	b.exec(`insert into oxbow.memories (user_id, memory_type, content, valid_at, importance)
		values ('ann', 'episodic', 'Went running in the year one.', '0001-01-01 00:00:00+00', 1)`)
	b.waiting("ann", "Went running.", "Went running again.", "Running by the river.",
		"A run in the rain: went running.")
	b.reflect("ann")
	require.NoError(t, b.drain())
	require.Zero(t, b.count(`oxbow.reflection_inbox`))
	require.Equal(t, "Often goes running", b.held("ann").Content)
	b.consistent()
}

// A trait that a person has reworded no longer follows its pattern: later evidence of the pattern leaves it alone.
func TestWhatAPersonWordedIsNotRefuted(t *testing.T) {
	b := setup(t)
	b.cfg.Now = func() time.Time { return morning }
	run := []string{"Went running.", "Went running again.", "Running by the river.", "Went running in the rain."}
	b.waiting("ann", run...)
	b.reflect("ann")
	b.exec(`select oxbow.edit_trait('ann', $1, content => 'Ann swims; she does not run any more')`, b.held("ann").ID)
	corrected := b.held("ann")
	afterwards := time.Now().Truncate(24 * time.Hour).Add(10*24*time.Hour + 12*time.Hour)
	b.cfg.Now = func() time.Time { return afterwards }
	b.waiting("ann", append(run, "I no longer run.")...)
	b.reflect("ann")
	after := b.held("ann")
	require.Equal(t, corrected, after, "neither made anew, nor reinforced, nor contradicted")
	require.Positive(t, b.count(`oxbow.reflection_cycles where dropped::text like '%the person worded the trait%'`))
	b.consistent()

	// Nor is a person's wording of a sensitive trait shown to a reasoner.
	s := b.script(b.cfg.Now())
	b.exec(`select oxbow.edit_trait('ann', $1, content => 'Ann lives with HIV.')`, after.ID)
	b.waiting("ann", "tea: 1")
	b.reflect("ann")
	require.Len(t, s.asked, 1)
	for _, shown := range s.asked[0].Traits {
		require.Empty(t, shown.Content)
	}
}

// A cycle records why the reflection ran, with the value that reached the threshold.
func TestTriggersAreRecorded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		given func(*bundle)
		want  store.Trigger
	}{
		"importance": {func(b *bundle) { b.waiting("ann", several(7, "tea")...) },
			store.Trigger{Type: "importance_accumulated", Value: 35}},
		"a conversation ended": {func(b *bundle) {
			b.waiting("ann", several(2, "tea")...)
			b.exec(`insert into oxbow.sessions (user_id, id, last_activity_at, ended_at)
				select 'ann', i::text, now() - interval '1 minute', now() from generate_series(1, 2) i`)
		}, store.Trigger{Type: "session_end", Value: 2}},
		"a day passed": {func(b *bundle) {
			b.waiting("ann", several(2, "tea")...)
			b.exec(`update oxbow.reflection_inbox set added_at = now() - interval '30 hours'`)
		}, store.Trigger{Type: "scheduled", Value: 30}},
	} {
		for _, by := range []string{"check_trigger", "sweep"} {
			t.Run(name+", asked by "+by, func(t *testing.T) {
				b := setup(t)
				b.script(morning) // the triggers use the machine's clock
				c.given(b)
				b.exec(`insert into oxbow.river_job (kind, queue, max_attempts, args)
					values ($1, 'default', 1, '{"user_id": "ann"}')`, by)
				require.NoError(t, b.drain())
				var got store.Trigger
				var started, completed time.Time
				require.NoError(t, b.pool.QueryRow(t.Context(),
					`select trigger_type, trigger_value, started_at, completed_at from oxbow.reflection_cycles`).
					Scan(&got.Type, &got.Value, &started, &completed))
				require.Equal(t, c.want.Type, got.Type)
				require.InDelta(t, c.want.Value, got.Value, 0.1)
				require.WithinDuration(t, time.Now(), started, time.Minute)
				require.False(t, completed.Before(started))
				require.Equal(t, 1, b.count(`oxbow.reflection_cycles where now = $1`, morning))
				require.Equal(t, b.count(`oxbow.sessions`), b.count(`oxbow.sessions
					where last_reflected_at = (select started_at from oxbow.reflection_cycles)`))
			})
		}
	}
}

// Each batch is committed with its job. A worker that is interrupted loses the work on one batch, and nothing
// counts twice.
func TestReflectIsInterrupted(t *testing.T) {
	b := setup(t)
	s := b.script(morning)
	b.cfg.StopTimeout = 10 * time.Millisecond
	b.waiting("ann", several(450, "tea")...)
	b.waiting("bob", several(450, "tea")...)
	b.reflect("bob") // undisturbed
	begun := s.times()
	b.enqueue("reflect", "ann")
	ctx, stop := context.WithCancel(t.Context())
	s.before = func(n int, _ reasoner.Batch) (*reasoner.Proposals, error) {
		if n == begun+1 {
			stop()
			<-s.ctx.Done() // the interrupted call still returns its result
		}
		return nil, nil
	}
	require.ErrorIs(t, b.worker().RunUntilIdle(ctx, nil), context.Canceled)
	require.Equal(t, []int{200, 250}, []int{get[int](b, `select sum(memories_scanned) from oxbow.reflection_cycles
		where user_id = 'ann'`), b.count(`oxbow.reflection_inbox`)})
	require.Zero(t, b.count(`oxbow.river_job where kind = 'reflect' and state <> 'completed' and attempt > 0`),
		"it was no attempt")
	require.NoError(t, b.drain())
	ann, bob := b.held("ann"), b.held("bob")
	ann.ID = bob.ID
	require.Equal(t, bob, ann)
	require.Equal(t, 450, ann.Supporting)
	require.Equal(t, 3, b.count(`oxbow.reflection_cycles where user_id = 'ann'`))
	b.consistent()
}

// While the reasoner is down, nothing is lost, and no attempt is counted.
func TestReasonerDown(t *testing.T) {
	b := setup(t)
	s := b.script(morning)
	down := errors.New("the model's server does not answer")
	s.before = func(int, reasoner.Batch) (*reasoner.Proposals, error) {
		return nil, &reasoner.UnavailableError{Err: down}
	}
	b.waiting("ann", several(7, "tea")...)
	b.enqueue("reflect", "ann")
	err := b.drain()
	var left *UnfinishedError
	require.ErrorAs(t, err, &left)
	require.Equal(t, int64(1), left.Jobs)
	require.ErrorContains(t, err, down.Error())
	j := b.job("reflect")
	require.Contains(t, []string{"scheduled", "available"}, j.State)
	require.Zero(t, j.Attempt)
	require.Equal(t, 7, b.count(`oxbow.reflection_inbox`))
	require.Zero(t, b.count(`oxbow.reflection_cycles`))
	require.Less(t, s.times(), 4, "it is left alone for 5 seconds, 10, 20, …")

	s.before = nil
	require.NoError(t, b.drain(), "another worker asks at once")
	require.Equal(t, 7, b.held("ann").Supporting)
	require.Zero(t, b.count(`oxbow.reflection_inbox`))
	require.Equal(t, 1, b.count(`oxbow.reflection_cycles where trigger_value = 42`))
}

// If a reasoner gives an invalid answer because of one memory, the batches shrink until that memory is alone.
func TestReasonerAnswersNonsense(t *testing.T) {
	b := setup(t)
	s := b.script(morning)
	s.before = func(_ int, batch reasoner.Batch) (*reasoner.Proposals, error) {
		if slices.ContainsFunc(batch.Memories, func(m reasoner.Memory) bool { return m.Content == "poison: 0" }) {
			return nil, &reasoner.AnswerError{Problem: "that is prose", Answer: "Once upon a time\x00"}
		}
		return nil, nil
	}
	ids := b.waiting("ann", append([]string{"poison: 0"}, several(300, "tea")...)...)
	b.enqueue("reflect", "ann")
	b.persist()
	var sizes []int
	for _, batch := range s.asked {
		sizes = append(sizes, len(batch.Memories))
	}
	require.Equal(t, []int{200, 100, 50, 25, 12, 6, 3, 1, 1, 200, 100}, sizes)
	require.Equal(t, 1, b.count(`oxbow.reflection_cycles where status = 'failed' and memories_scanned = 1
		and error_message like '%that is prose%'`))
	require.Equal(t, 2, b.count(`oxbow.reflection_cycles where status = 'completed'`))
	require.Equal(t, 300, b.held("ann").Supporting)
	require.Zero(t, b.count(`oxbow.reflection_inbox`))
	require.Zero(t, b.count(`oxbow.trait_evidence where memory_id = $1`, ids[0]))
}

func TestDailyTokens(t *testing.T) {
	b := setup(t)
	s := b.script(morning)
	b.cfg.DailyTokens = 100
	b.waiting("ann", several(7, "tea")...)
	b.exec(`insert into oxbow.llm_calls (user_id, purpose, model, attempt, prompt_tokens, completion_tokens, started_at,
		latency)
		values ('ann', 'reflect', 'm', 1, 90, 10, now() - interval '23 hours', '1 s'), ('bob', 'reflect', 'm', 1, 900,
		10, now(), '1 s')`)
	b.enqueue("reflect", "ann")
	require.ErrorAs(t, b.drain(), new(*UnfinishedError))
	j := b.job("reflect")
	require.Equal(t, "scheduled", j.State)
	require.Zero(t, j.Attempt)
	require.Greater(t, j.Wait, 1000.0)
	require.Zero(t, s.times())
	_, err := b.tryReflect("ann", false)
	require.ErrorContains(t, err, "100 tokens in 24 hours")
	b.exec(`update oxbow.llm_calls set started_at = now() - interval '25 hours'`)
	b.work()
	require.Equal(t, 7, b.held("ann").Supporting)
}

// A user who opts out during a call of the reasoner is not reflected on, and waiting reviews do not loop.
func TestOptingOutMeanwhile(t *testing.T) {
	b := setup(t)
	s := b.script(morning)
	s.before = func(int, reasoner.Batch) (*reasoner.Proposals, error) {
		b.exec(`insert into oxbow.users (user_id, opted_out) values ('ann', true) on conflict (user_id) do update
			set opted_out = true`)
		return nil, nil
	}
	b.waiting("ann", several(7, "tea")...)
	b.enqueue("reflect", "ann")
	require.NoError(t, b.drain())
	require.Empty(t, b.allHeld("ann"))
	require.Zero(t, b.count(`oxbow.reflection_cycles`))
	require.Zero(t, b.count(`oxbow.reflection_inbox`))
	_, err := b.tryReflect("ann", false)
	require.ErrorAs(t, err, new(*jobs.OptedOutError))

	b.exec(`update oxbow.users set opted_out = false`)
	b.waiting("ann", several(7, "tea")...)
	_, err = b.tryReflect("ann", false)
	require.ErrorAs(t, err, new(*jobs.OptedOutError))
	require.Empty(t, b.allHeld("ann"))

	b.exec(`update oxbow.users set opted_out = false`)
	s.before = nil
	require.Zero(t, b.count(`oxbow.reflection_inbox`), "what was said until then is not reflected on")
	b.waiting("ann", several(7, "tea")...)
	b.reflect("ann")
	require.NotEmpty(t, b.allHeld("ann"))
	b.waiting("ann", several(7, "no tea")...)
	b.exec(`update oxbow.memories_trait set trait_review_due_at = now()`)
	b.exec(`update oxbow.users set opted_out = true`)
	before := s.times()
	b.enqueue("reflect", "ann")
	b.enqueue("contradiction_review", "ann")
	require.NoError(t, b.drain())
	require.Equal(t, before, s.times())
	require.Empty(t, s.cases)
	require.Zero(t, b.count(`oxbow.reflection_inbox`))
	require.LessOrEqual(t, b.count(`oxbow.river_job where kind in ('reflect', 'contradiction_review')`), 5)
}

// If something changes between reading and writing, it is read again. Nothing is lost or counted twice.
func TestChangesMeanwhile(t *testing.T) {
	t.Parallel()
	type world struct {
		*bundle
		*scripted
		trait  uuid.UUID
		recent []uuid.UUID
	}
	for name, c := range map[string]struct {
		meanwhile func(w world)
		check     func(t *testing.T, w world)
		again     bool
	}{
		"a memory is erased": {func(w world) { w.exec(`select oxbow.erase_memory('ann', $1)`, w.recent[0]) },
			func(t *testing.T, w world) {
				require.Equal(t, 5, w.held("ann").Supporting)
				require.Equal(t, 1, w.held("ann").Reinforced)
			}, true},
		"all of them are": {func(w world) {
			for _, id := range w.recent {
				w.exec(`select oxbow.erase_memory('ann', $1)`, id)
			}
		}, func(t *testing.T, w world) {
			require.Equal(t, []int{3, 0}, []int{w.held("ann").Supporting, w.held("ann").Reinforced})
			require.Equal(t, 1, w.count(`oxbow.reflection_cycles`), "there was nothing left")
		}, false},
		"the user is": {func(w world) { w.exec(`select oxbow.erase_user('ann')`) }, func(t *testing.T, w world) {
			for _, table := range []string{"memories", "trait_evidence", "trait_events", "trait_clues",
				"reflection_cycles", "reflection_inbox"} {
				require.Zero(t, w.count(`oxbow.`+table), table)
			}
			require.Zero(t, w.count(`oxbow.river_job where args ->> 'user_id' = 'ann'`))
		}, false},
		"what made the trait is erased": {func(w world) {
			w.exec(`delete from oxbow.memories where id in (select memory_id from oxbow.trait_evidence)`)
		}, func(t *testing.T, w world) {
			require.Equal(t, "emerging", w.held("ann").Stage)
			require.Equal(t, []string{"created"}, w.events(w.held("ann").ID), "made anew, of three")
		}, true},
		"the trait is reworded": {func(w world) {
			w.exec(`select oxbow.edit_trait('ann', $1, 'I drink tea.')`,
				w.trait)
		}, func(t *testing.T, w world) {
			require.Equal(t, "I drink tea.", w.held("ann").Content)
			require.Equal(t, 6, w.held("ann").Supporting)
			require.Equal(t, []string{"created", "edited", "reinforced"}, w.events(w.held("ann").ID))
			require.Greater(t, w.held("ann").Confidence, 0.9)
		}, true},
		"the trait is dissolved by the person": {func(w world) {
			w.exec(`select oxbow.dissolve_trait('ann', $1)`,
				w.trait)
		}, func(t *testing.T, w world) {
			require.Equal(t, "dissolved", w.held("ann").Stage)
			require.Equal(t, 3, w.held("ann").Supporting)
			require.Equal(t, "the person dissolved it", get[string](w.bundle,
				`select dropped -> 0 ->> 'reason' from oxbow.reflection_cycles order by started_at desc limit 1`))
		}, true},
		"the trait is deleted": {func(w world) { w.exec(`select oxbow.delete_trait('ann', $1)`, w.trait) },
			func(t *testing.T, w world) {
				require.Empty(t, w.allHeld("ann"), "and not made again")
				require.Zero(t, w.count(`oxbow.trait_clues`))
				require.NotContains(t, get[string](w.bundle, `select jsonb_agg(dropped)::text
				from oxbow.reflection_cycles`), "Likes tea")
			}, true},
		"the trait is forgotten": {func(w world) { w.exec(`select oxbow.forget('ann', $1)`, w.trait) },
			func(t *testing.T, w world) {
				require.Zero(t, w.count(`oxbow.traits`), "and not made again")
			}, true},
		"somebody else reflects": {func(w world) {
			other := *w.bundle
			other.script(morning)
			outcomes, err := other.tryReflect("ann", false)
			require.NoError(w.T, err)
			require.Len(w.T, outcomes, 1)
		}, func(t *testing.T, w world) {
			require.Equal(t, []int{6, 1}, []int{w.held("ann").Supporting, w.held("ann").Reinforced})
			require.Equal(t, 2, w.count(`oxbow.reflection_cycles`))
		}, false},
		"more comes in": {func(w world) { w.waiting("ann", "tea: the earliest of all") }, func(t *testing.T, w world) {
			require.Equal(t, 7, w.held("ann").Supporting)
			require.Zero(t, w.count(`oxbow.reflection_inbox`))
		}, true},
	} {
		for _, how := range []string{"job", "at once"} {
			t.Run(name+", "+how, func(t *testing.T) {
				b := setup(t)
				s := b.script(morning)
				b.waiting("ann", several(3, "tea")...)
				b.reflect("ann")
				w := world{bundle: b, scripted: s, trait: b.held("ann").ID}
				w.recent = b.waiting("ann", "tea: of Monday", "tea: of Tuesday", "tea: of Wednesday")
				done := false
				s.before = func(int, reasoner.Batch) (*reasoner.Proposals, error) {
					if !done {
						done = true
						c.meanwhile(w)
					}
					return nil, nil
				}
				if how == "job" {
					b.enqueue("reflect", "ann")
					require.NoError(t, b.drain())
					require.Zero(t, b.count(`oxbow.river_job where kind = 'reflect' and errors is not null`),
						"it was no failure")
				} else {
					b.reflect("ann")
				}
				c.check(t, w)
				if c.again {
					require.Greater(t, s.times(), 2, "it was asked again")
				}
				b.consistent()
			})
		}
	}
}

// Two workers and Reflect run for one user at the same time: each memory counts once.
func TestManyAtOnce(t *testing.T) {
	b := setup(t)
	b.script(morning)
	b.waiting("ann", several(1000, "tea")...)
	for range 3 { // jobs that the unique key would normally prevent
		b.enqueue("reflect", "ann")
	}
	done := make(chan error, 3)
	for range 2 {
		go func() { done <- b.drain() }()
	}
	go func() {
		_, err := b.tryReflect("ann", false)
		done <- err
	}()
	for range 3 {
		err := <-done
		if errors.As(err, new(*UnfinishedError)) {
			err = nil // a job that loses five times in a row is retried
		}
		require.NoError(t, err)
	}
	b.work()
	require.Equal(t, 1000, b.held("ann").Supporting)
	require.Equal(t, 1000, get[int](b, `select sum(memories_scanned) from oxbow.reflection_cycles`))
	require.Equal(t, 4, b.held("ann").Reinforced)
	b.consistent()
}

// Different users are reflected on in parallel.
func TestUsersInParallel(t *testing.T) {
	b := setup(t)
	s := b.script(morning)
	both := make(chan struct{}, 2)
	s.before = func(int, reasoner.Batch) (*reasoner.Proposals, error) {
		both <- struct{}{}
		for deadline := time.Now().Add(2 * time.Minute); len(both) < 2 && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		if len(both) < 2 {
			return nil, errors.New("nobody else is there")
		}
		return nil, nil
	}
	for _, user := range []string{"ann", "bob"} {
		b.waiting(user, several(7, "tea")...)
		b.enqueue("reflect", user)
	}
	require.NoError(t, b.drain())
	require.Zero(t, b.count(`oxbow.river_job where errors is not null`))
	require.Equal(t, 2, b.count(`oxbow.reflection_cycles`))
}
