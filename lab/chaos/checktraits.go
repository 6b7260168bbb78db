package chaos

import (
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/traittest"
)

type traitKey struct{ user, id string }

// recorded is a stored event of a trait.
type recorded struct {
	UserID     string
	TraitID    string
	Seq        int
	Event      string
	At         time.Time
	Factor     float64
	Sets       float64
	Memories   int
	Subtype    string
	WindowEnd  time.Time
	Confidence float64
	Stage      string
	Actor      string
}

// counted is the evidence of one event.
type counted struct {
	memories int
	sessions map[string]lifecycle.Quality // sessions, sessions, with the best quality of each
}

// traits replays every trait: the weight of an event follows from its evidence, and the confidence from the events.
func (k *checker) traits() int {
	evidence := map[traitKey]map[int]*counted{}
	k.each(`select user_id, trait_id, event_seq, session_key, min(quality), count(*)
		from oxbow.trait_evidence group by 1, 2, 3, 4`, func(c []string) {
		at := traitKey{c[0], c[1]}
		var seq, n int
		_, _ = fmt.Sscan(c[2], &seq) // numbers, by their columns
		_, _ = fmt.Sscan(c[5], &n)
		if evidence[at] == nil {
			evidence[at] = map[int]*counted{}
		}
		e := evidence[at][seq]
		if e == nil {
			e = &counted{sessions: map[string]lifecycle.Quality{}}
			evidence[at][seq] = e
		}
		e.memories += n
		e.sessions[c[3]] = lifecycle.Quality(c[4])
	})
	rows, err := k.tx.Query(k.ctx, `
		select user_id, trait_id::text, seq, event, at, coalesce(factor, 0), coalesce(sets, 0), memories,
		coalesce(subtype, ''),
		       coalesce(window_end, '0001-01-01 00:00:00+00'), coalesce(confidence, 0), stage, actor
		  from oxbow.trait_events order by user_id, trait_id, seq`)
	var events []recorded
	if err == nil {
		events, err = pgx.CollectRows(rows, pgx.RowToStructByPos[recorded])
	}
	if err != nil {
		k.err = err
		return 0
	}
	states := map[traitKey]lifecycle.State{}
	for _, e := range events {
		at := traitKey{e.UserID, e.TraitID}
		factor := e.Factor
		of := evidence[at][e.Seq]
		if of == nil {
			of = &counted{}
		}
		if of.memories != e.Memories && e.Actor != "check" {
			k.violate("evidence", e.UserID, e.TraitID, "trait_evidence",
				fmt.Sprintf("%d memories, as event %d, %s, says", e.Memories, e.Seq, e.Event), fmt.Sprint(of.memories))
		}
		switch lifecycle.Kind(e.Event) {
		case lifecycle.Reinforced:
			factor = traittest.Policies.Reinforcement(of.sessions)
		case lifecycle.Contradicted:
			factor = traittest.Policies.Contradiction(of.memories)
		}
		states[at] = traittest.Policies.Apply(states[at], lifecycle.Event{Kind: lifecycle.Kind(e.Event), At: e.At,
			Factor: factor, Sets: e.Sets, Count: e.Memories,
			Subtype: lifecycle.Subtype(e.Subtype), WindowEnd: e.WindowEnd})
	}
	return k.each(`select user_id, id, coalesce(trait_confidence, 0), trait_stage, trait_reinforcement_count,
		trait_contradiction_count
		from oxbow.memories_trait where expired_at is null`, func(c []string) {
		s := states[traitKey{c[0], c[1]}]
		var confidence float64
		_, _ = fmt.Sscan(c[2], &confidence) // a number, by its column
		if math.Abs(confidence-s.Confidence) > 1e-9 || c[3] != string(s.Stage) ||
			c[4] != fmt.Sprint(s.Reinforcements) || c[5] != fmt.Sprint(s.Contradictions) {
			k.violate("replay", c[0], c[1], "memories_trait",
				fmt.Sprintf("%s %.12f, reinforced %d times, contradicted %d times", s.Stage, s.Confidence,
					s.Reinforcements, s.Contradictions),
				fmt.Sprintf("%s %s, %s, %s", c[3], c[2], c[4], c[5]))
		}
	})
}
