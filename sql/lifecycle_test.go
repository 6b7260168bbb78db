package sqlcode_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/internal/traittest"
)

// confidences returns the boundaries between stages, their neighboring floats, and values far from them.
func confidences() []float64 {
	values := []float64{math.SmallestNonzeroFloat64, 1e-300, 1e-9, 1e-3, 0.1, 0.2, 0.4, 0.5, 0.75, 0.95, 1 - 1e-9,
		math.Nextafter(1, 0)}
	for _, boundary := range []float64{0.05, 0.30, 0.60, 0.85} {
		values = append(values, math.Nextafter(boundary, 0), boundary, math.Nextafter(boundary, 1), boundary-1e-12,
			boundary+1e-12)
	}
	return values
}

var subtypes = []lifecycle.Subtype{lifecycle.Behavior, lifecycle.Preference, lifecycle.CoreTrait, "unheard of"}

// moments returns moments for decay, including the first and the last that a memory may have.
func moments() []time.Time {
	first, last := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999999000, time.UTC)
	middle := time.Date(2025, 10, 12, 8, 0, 0, 0, time.UTC)
	return []time.Time{first, middle, middle.Add(time.Microsecond), middle.Add(time.Second - time.Microsecond),
		middle.Add(12 * time.Hour),
		middle.AddDate(0, 0, 37), middle.AddDate(11, 0, 0), middle.AddDate(1700, 0, 0),
		time.Date(9999, 12, 30, 23, 59, 59, 0, time.UTC), last}
}

// states holds states as arrays, in the order of the database's arguments.
type states struct {
	stages, subtypes []string
	confidences      []*float64
	reinforcements   []int32
	ats              []time.Time
	windowEnds       []*time.Time
	nows             []time.Time
	all              []lifecycle.State
}

func (s *states) add(state lifecycle.State, now time.Time) {
	s.stages = append(s.stages, string(state.Stage))
	s.subtypes = append(s.subtypes, string(state.Subtype))
	s.confidences = append(s.confidences, pointer(state.Confidence))
	s.reinforcements = append(s.reinforcements, int32(state.Reinforcements))
	s.ats = append(s.ats, state.At)
	s.windowEnds = append(s.windowEnds, pointer(state.WindowEnd))
	s.nows = append(s.nows, now)
	s.all = append(s.all, state)
}

func (s *states) args() []any {
	return []any{s.stages, s.confidences, s.subtypes, s.reinforcements, s.ats, s.windowEnds, s.nows}
}

const eachState = ` from unnest($1::text[], $2::float8[], $3::text[], $4::int[], $5::timestamptz[], $6::timestamptz[],
	$7::timestamptz[])
	with ordinality s(stage, confidence, subtype, n, at, window_end, now, nth),
	(select oxbow.trait_rules() as rules offset 0) r order by nth`

// pointer returns a pointer to v, or nil for the zero value.
func pointer[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// grid returns every combination of the values above, with stages derived from the confidence.
func grid() *states {
	s := &states{}
	for _, subtype := range subtypes {
		for _, n := range []int{-1, 0, 1, 7, 1000, math.MaxInt32} {
			for _, c := range confidences() {
				for _, at := range moments() {
					for _, now := range moments() {
						s.add(lifecycle.State{Subtype: subtype, Stage: traittest.Policies.StageOf(c), Confidence: c,
							At: at, Reinforcements: n}, now)
					}
				}
			}
		}
	}
	return s
}

func scattered(random *rand.Rand, n int) *states {
	s := &states{}
	for range n {
		c := random.Float64()
		at := time.UnixMicro(random.Int64N(4e15) - 1e15)
		state := lifecycle.State{Subtype: subtypes[random.IntN(3)], Stage: traittest.Policies.StageOf(c), Confidence: c,
			At: at, Reinforcements: random.IntN(40)}
		if random.IntN(5) == 0 {
			state = lifecycle.State{Subtype: lifecycle.Behavior, Stage: lifecycle.Trend, At: at,
				WindowEnd: at.Add(time.Duration(random.Int64N(60*86400)) * time.Second)}
		} else if random.IntN(9) == 0 {
			state.Stage = lifecycle.Dissolved
		}
		s.add(state, at.Add(time.Duration(random.Int64N(4000*86400))*time.Second-400*24*time.Hour))
	}
	return s
}

// The database computes the rules of package lifecycle.
func TestLifecycleInTheDatabase(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	trends := &states{}
	for _, at := range moments() {
		for _, end := range append(moments(), time.Time{}) {
			for _, now := range moments() {
				trends.add(lifecycle.State{Subtype: lifecycle.Behavior, Stage: lifecycle.Trend, At: at, WindowEnd: end},
					now)
			}
		}
	}
	for name, s := range map[string]*states{"grid": grid(), "random": scattered(rand.New(rand.NewPCG(seed, 1)), 20000),
		"trends": trends} {
		rows, err := tx.Query(t.Context(), `
			select oxbow.trait_stage_of(confidence, rules[1]), oxbow.trait_rate(subtype, n, rules[1]),
			       oxbow.trait_confidence_at(confidence, subtype, n, at, now, rules),
			       oxbow.trait_stage_at(stage, confidence, subtype, n, at, window_end, now, rules),
			       oxbow.trait_next_transition(stage, confidence, subtype, n, at, window_end, rules)`+eachState,
			s.args()...)
		require.NoError(t, err)
		i := 0
		for ; rows.Next(); i++ {
			state, now := s.all[i], s.nows[i]
			about := func() string { return fmt.Sprintf("%s: %+v at %s", name, state, now) }
			var of, at string
			var rate float64
			var confidence *float64
			var next *time.Time
			require.NoError(t, rows.Scan(&of, &rate, &confidence, &at, &next))
			if got, want := rate, traittest.Policies.Rate(state.Subtype,
				state.Reinforcements); math.Abs(got-want) > 1e-12*want {
				require.Equal(t, want, got, about())
			}
			if string(traittest.Policies.StageAt(state, now)) != at {
				require.Equal(t, string(traittest.Policies.StageAt(state, now)), at, about())
			}
			wanted := traittest.Policies.NextTransition(state)
			if next == nil || !next.Equal(wanted) {
				require.True(t, next == nil && wanted.IsZero(), "%s: the next transition is %v, not %s", about(), next,
					wanted)
			}
			if state.Stage == lifecycle.Trend {
				require.Nil(t, confidence, about())
				continue
			}
			require.Equal(t, string(traittest.Policies.StageOf(state.Confidence)), of, about())
			want := traittest.Policies.ConfidenceAt(state, now)
			if math.Abs(*confidence-want) > 1e-12*want+1e-18 {
				require.Equal(t, want, *confidence, about())
			}
		}
		require.NoError(t, rows.Err())
		require.Len(t, s.all, i)
	}
}

// The next transition is the first second after which the stage differs.
func TestNextTransitionInTheDatabase(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	s := &states{}
	for _, c := range confidences() {
		if c < 0.05 {
			continue
		}
		for _, subtype := range subtypes {
			for _, n := range []int{0, 3, 50} {
				at := time.Date(2025, 10, 12, 8, 0, 0, 123456000, time.UTC)
				s.add(lifecycle.State{Subtype: subtype, Stage: traittest.Policies.StageOf(c), Confidence: c, At: at,
					Reinforcements: n}, at)
			}
		}
	}
	wrong := all[string](t, tx, `
		select format('%s %s %s: %s', confidence, subtype, n, next) from (
		  select *, oxbow.trait_next_transition(stage, confidence, subtype, n, at, window_end) as next`+eachState+`) s
		 where oxbow.trait_stage_at(stage, confidence, subtype, n, at, window_end, next) = stage
		    or oxbow.trait_stage_at(stage, confidence, subtype, n, at, window_end, next - interval '2.000001 seconds')
		       <> stage`, s.args()...)
	require.Empty(t, wrong)
}

// randomEvents returns storable events in a random order, which the rules allow only in part.
func randomEvents(random *rand.Rand) []lifecycle.Event {
	kinds := []lifecycle.Kind{lifecycle.Reinforced, lifecycle.Reinforced, lifecycle.Contradicted,
		lifecycle.Contradicted, lifecycle.Promoted,
		lifecycle.Revised, lifecycle.Split, lifecycle.Edited, lifecycle.Decayed, lifecycle.Dissolution,
		lifecycle.Revived, lifecycle.Used, lifecycle.Created}
	at := time.UnixMicro(1.7e15 + random.Int64N(1e13))
	created := lifecycle.Event{Kind: lifecycle.Created, At: at, Subtype: subtypes[random.IntN(3)],
		Sets: random.Float64()}
	if random.IntN(4) == 0 {
		created.Sets, created.WindowEnd = 0, at.AddDate(0, 0, 30)
	}
	events := []lifecycle.Event{created}
	if random.IntN(20) == 0 {
		events = nil // does not begin with created
	}
	for range random.IntN(12) {
		at = at.Add(time.Duration(random.Int64N(90*86400e6)-86400e6) * time.Microsecond) // the clock may go backwards
		e := lifecycle.Event{Kind: kinds[random.IntN(len(kinds))], At: at}
		switch e.Kind {
		case lifecycle.Reinforced, lifecycle.Used:
			e.Factor = random.Float64()
			if random.IntN(10) == 0 {
				e.Factor = math.Nextafter(1, 0)
			}
		case lifecycle.Contradicted:
			e.Count = random.IntN(5)
			e.Factor = traittest.Policies.Contradiction(e.Count)
		case lifecycle.Promoted, lifecycle.Revised, lifecycle.Split, lifecycle.Edited, lifecycle.Revived:
			if random.IntN(2) == 0 {
				e.Sets = random.Float64()
			}
		case lifecycle.Created:
			e.Subtype = subtypes[random.IntN(3)]
		}
		events = append(events, e)
	}
	return events
}

// Replay in the database equals lifecycle.Replay up to any moment.
func TestReplayInTheDatabase(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 2))
	exec(t, tx, "set local session_replication_role = replica") // the events suffice
	sequences := map[string][]lifecycle.Event{}
	var ids, kinds []string
	var seqs, counts []int32
	var ats []time.Time
	var factors, sets []*float64
	var made []*string
	var ends []*time.Time
	for range 2000 {
		id := uuid.NewString()
		events := randomEvents(random)
		sequences[id] = events
		for i, e := range events {
			ids, seqs, kinds, ats = append(ids, id), append(seqs, int32(i+1)), append(kinds, string(e.Kind)),
				append(ats, e.At)
			factors, sets, counts = append(factors, pointer(e.Factor)), append(sets, pointer(e.Sets)),
				append(counts, int32(e.Count))
			made, ends = append(made, pointer(string(e.Subtype))), append(ends, pointer(e.WindowEnd))
		}
	}
	exec(t, tx, `insert into oxbow.trait_events (user_id, trait_id, seq, event, at, factor, sets, memories, subtype,
		window_end, stage)
		select $1, *, '' from unnest($2::uuid[], $3::int[], $4::text[], $5::timestamptz[], $6::float8[], $7::float8[],
		$8::int[], $9::text[], $10::timestamptz[])`,
		ann(t), ids, seqs, kinds, ats, factors, sets, counts, made, ends)
	for id, events := range sequences {
		until := len(events)
		moment := "infinity"
		if until > 1 && random.IntN(2) == 0 {
			until = 1 + random.IntN(until-1)
			moment = events[until-1].At.Format(time.RFC3339Nano)
		}
		var want lifecycle.State
		for _, e := range events {
			if moment != "infinity" && e.At.After(events[until-1].At) {
				break // later events count as no earlier
			}
			want = traittest.Policies.Apply(want, e)
		}
		requireState(t, want, replayed(t, tx, ann(t), id, moment), "%+v", events)
	}
}

func replayed(t *testing.T, tx db, user, id, until string) lifecycle.State {
	t.Helper()
	return scanState(t, tx, `select subtype, stage, confidence, confidence_at, reinforcements, contradictions,
		window_end
		from oxbow.replay_trait($1, $2::text::uuid, $3::text::timestamptz)`, user, id, until)
}

// scanState reads a state in the order subtype, stage, confidence, confidence_at, reinforcements,
// contradictions, window_end.
func scanState(t *testing.T, tx db, sql string, args ...any) lifecycle.State {
	t.Helper()
	var subtype, stage *string
	var confidence *float64
	var at, end *time.Time
	var reinforcements, contradictions *int
	require.NoError(t, tx.QueryRow(t.Context(), sql, args...).Scan(&subtype, &stage, &confidence, &at, &reinforcements,
		&contradictions, &end))
	return lifecycle.State{Subtype: lifecycle.Subtype(or(subtype)), Stage: lifecycle.Stage(or(stage)),
		Confidence: or(confidence), At: or(at),
		Reinforcements: or(reinforcements), Contradictions: or(contradictions), WindowEnd: or(end)}
}

func or[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

func requireState(t *testing.T, want, got lifecycle.State, about string, args ...any) {
	t.Helper()
	if math.Abs(want.Confidence-got.Confidence) > 1e-12 {
		require.Equal(t, want, got, fmt.Sprintf(about, args...))
	}
	got.Confidence = want.Confidence
	want.At, got.At, want.WindowEnd, got.WindowEnd = want.At.UTC(), got.At.UTC(), want.WindowEnd.UTC(),
		got.WindowEnd.UTC()
	if want != got {
		require.Equal(t, want, got, fmt.Sprintf(about, args...))
	}
}
