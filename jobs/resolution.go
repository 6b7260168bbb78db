package jobs

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reflection"
	"github.com/oxbow-memory/oxbow/store"
)

const (
	similarFacts  = 5    // per candidate, from the database and again from earlier candidates
	factsAbout    = 20   // facts about the same subject (a home, an employer, a taste)
	leastSimilar  = 0.05 // low because similarity only nominates
	leastStored   = 0.5  // the same for facts of applications; a model would otherwise see all facts
	muchSimilar   = 0.6
	resolveRounds = 3 // maximum number of calls per batch to an extractor that uses the network
)

// resolution tracks the effect of the operations decided so far.
type resolution struct {
	ended map[uuid.UUID]bool      // memories that an operation ended, and candidates that are not stored
	as    map[uuid.UUID]uuid.UUID // candidate to the memory that already states it
}

// resolve decides what happens to each candidate, in order, so that a later one may replace an
// earlier one. Similarity only nominates: the extractor decides. Episodes are events and never
// replace anything. If the extractor is about to end a memory that an earlier operation has just
// ended, it is asked again about this candidate and those after it. One that uses no network is asked
// about each in turn.
func (x *Extraction) resolve(ctx context.Context, db store.DB, e *extraction,
	within func(ask func(context.Context) error) error) (err error) {
	e.Memories = make([]store.Extracted, len(e.candidates))
	for i, c := range e.candidates {
		e.Memories[i] = store.Extracted{ID: e.ids[i], Candidate: c, Vector: e.vectors[i],
			Resolution: reasoner.Resolution{Operation: reasoner.Add}}
	}
	if e.shown, err = x.similar(ctx, db, e); err != nil {
		return err
	}
	r := resolution{ended: map[uuid.UUID]bool{}, as: map[uuid.UUID]uuid.UUID{}}
	for from, round := 0, 1; ; round++ {
		conflicts, of := r.conflicts(e, from, x.Offline)
		if len(conflicts) == 0 {
			return nil
		}
		var decided []reasoner.Resolution
		err := within(func(ctx context.Context) (err error) {
			decided, err = x.Extractor.Resolve(ctx, e.now, conflicts)
			return err
		})
		if err != nil {
			return err
		}
		for k, i := range of {
			from = i + 1
			if k == len(decided) {
				return nil
			}
			taken, again := r.take(decided[k], conflicts[k])
			if again && (x.Offline || round < resolveRounds) {
				from = i
				break
			}
			if taken.Operation != decided[k].Operation {
				x.Logger.WarnContext(ctx,
					"ignored an operation of the extractor: it is unknown, or its memory was not shown or has ended",
					"operation", string(decided[k].Operation))
			}
			e.Memories[i].Resolution = taken
			r.follow(e.ids[i], taken)
		}
	}
}

// conflicts returns the candidates from index from on that have similar memories, and their
// indexes, or the first of them.
func (r *resolution) conflicts(e *extraction, from int, first bool) (conflicts []reasoner.Conflict, of []int) {
	for i := from; i < len(e.candidates); i++ {
		similar := slices.DeleteFunc(slices.Clone(e.shown[i]),
			func(h reasoner.Held) bool { return r.ended[r.memory(h.ID)] })
		if len(similar) > 0 {
			conflicts, of = append(conflicts, reasoner.Conflict{Candidate: e.candidates[i],
				Name: reasoner.NameOf(e.Session.UserID), Similar: similar}), append(of, i)
			if first {
				break
			}
		}
	}
	return conflicts, of
}

// memory returns the memory that already states a candidate, or id itself.
func (r *resolution) memory(id uuid.UUID) uuid.UUID { return cmp.Or(r.as[id], id) }

// take validates a decision of the extractor. If it targets a memory that was not shown or has
// ended, the candidate is added as a new memory. again reports that the target was shown but has
// ended since.
func (r *resolution) take(d reasoner.Resolution, c reasoner.Conflict) (taken reasoner.Resolution, again bool) {
	d.Reason = reflection.Reason(d.Reason)
	shown := slices.ContainsFunc(c.Similar, func(h reasoner.Held) bool { return h.ID == d.Target })
	d.Target = r.memory(d.Target)
	d.Also = r.also(d, c)
	switch d.Operation {
	case reasoner.Update, reasoner.Delete, reasoner.Noop:
		if shown && !r.ended[d.Target] {
			return d, false
		}
		return reasoner.Resolution{Operation: reasoner.Add}, shown
	case reasoner.Add:
		return reasoner.Resolution{Operation: reasoner.Add, Reason: d.Reason}, false
	}
	return reasoner.Resolution{Operation: reasoner.Add}, false
}

// also returns the other memories that an update replaces, except those that were not shown or have
// ended.
func (r *resolution) also(d reasoner.Resolution, c reasoner.Conflict) (also []uuid.UUID) {
	if d.Operation != reasoner.Update {
		return nil
	}
	for _, id := range d.Also {
		shown := slices.ContainsFunc(c.Similar, func(h reasoner.Held) bool { return h.ID == id })
		if id = r.memory(id); shown && id != d.Target && !r.ended[id] && !slices.Contains(also, id) {
			also = append(also, id)
		}
	}
	return also
}

// follow records the effect of an operation.
func (r *resolution) follow(candidate uuid.UUID, taken reasoner.Resolution) {
	switch taken.Operation {
	case reasoner.Update:
		r.ended[taken.Target] = true
		for _, id := range taken.Also {
			r.ended[id] = true
		}
	case reasoner.Delete:
		r.ended[taken.Target], r.ended[candidate] = true, true
	case reasoner.Noop:
		r.as[candidate] = taken.Target
	}
}

// similar returns, for each candidate that is a fact, the similar facts and the facts about the
// same subject, including earlier candidates.
func (x *Extraction) similar(ctx context.Context, db store.DB, e *extraction) ([][]reasoner.Held, error) {
	all := make([][]reasoner.Held, len(e.candidates))
	var of []int
	var vectors [][]float32
	var about []string
	for i, c := range e.candidates {
		if c.Type == string(store.Fact) && (e.vectors[i] != nil || e.stored) {
			of, vectors, about = append(of, i), append(vectors, e.vectors[i]), append(about, c.About...)
		}
	}
	found := make([][]reasoner.Held, len(of))
	var err error
	if !e.stored || !x.Offline {
		if found, err = store.SimilarFacts(ctx, db, e.Session.UserID, vectors, similarFacts+1, e.least()); err != nil {
			return nil, err
		}
	}
	slices.Sort(about)
	same, err := store.FactsAbout(ctx, db, e.Session.UserID, slices.Compact(about), factsAbout)
	if err != nil {
		return nil, err
	}
	if !x.Offline { // memories that are not embedded yet may contain secrets, which only the rules may see
		if same, err = hideHeld(ctx, db, e.Session.UserID, same); err != nil {
			return nil, err
		}
	}
	for k, i := range of {
		// The search for similar facts also finds the stored facts themselves.
		found[k] = slices.DeleteFunc(found[k], func(h reasoner.Held) bool { return slices.Contains(e.ids, h.ID) })
		all[i] = slices.Concat(found[k][:min(len(found[k]), similarFacts)], e.before(i, of[:k]))
		for _, h := range same {
			if aboutSame(e.candidates[i], h) && !slices.Contains(e.ids, h.ID) &&
				!slices.ContainsFunc(all[i], func(s reasoner.Held) bool { return s.ID == h.ID }) {
				all[i] = append(all[i], h)
			}
		}
		slices.SortStableFunc(all[i], func(a, b reasoner.Held) int { return cmp.Compare(b.Similarity, a.Similarity) })
	}
	return all, nil
}

// aboutSame reports whether a memory and a candidate have the same speaker and share a subject.
func aboutSame(c reasoner.Candidate, h reasoner.Held) bool {
	return strings.EqualFold(c.Speaker, h.Speaker) && slices.ContainsFunc(c.About,
		func(a string) bool { return slices.Contains(h.About, a) })
}

// before returns those of the candidates that are about the same subject as candidate i, and the most
// similar others.
func (e *extraction) before(i int, candidates []int) (similar []reasoner.Held) {
	var same []reasoner.Held
	for _, j := range candidates {
		c := e.candidates[j]
		h := reasoner.Held{ID: e.ids[j], Type: c.Type, Content: c.Content, Speaker: c.Speaker, Category: c.Category,
			Time: c.Time, Similarity: cosine(e.vectors[i], e.vectors[j]), About: c.About}
		switch {
		case aboutSame(e.candidates[i], h):
			same = append(same, h)
		case h.Similarity >= e.least():
			similar = append(similar, h)
		}
	}
	slices.SortStableFunc(similar, func(a, b reasoner.Held) int { return cmp.Compare(b.Similarity, a.Similarity) })
	return slices.Concat(same, similar[:min(len(similar), similarFacts)])
}

// least returns the minimum similarity of facts that are shown to the extractor.
func (e *extraction) least() float64 {
	if e.stored {
		return leastStored
	}
	return leastSimilar
}

// cosine returns the cosine similarity of two vectors, -1 to 1. It is 0 if either is zero or nil.
func cosine(a, b []float32) float64 {
	if a == nil || b == nil {
		return 0
	}
	var dot, aa, bb float64
	for i := range a {
		dot += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return dot / math.Sqrt(aa*bb)
}

// lookAgain returns store.ErrStale if there are very similar facts, or facts about the same
// subject, that were not shown to the extractor.
func (x *Extraction) lookAgain(ctx context.Context, tx pgx.Tx, e *extraction) error {
	similar, err := x.similar(ctx, tx, e)
	if err != nil {
		return err
	}
	for i, held := range similar {
		for _, h := range held {
			if (h.Similarity >= muchSimilar || aboutSame(e.candidates[i], h)) &&
				!slices.ContainsFunc(e.shown[i], func(s reasoner.Held) bool { return s.ID == h.ID }) {
				return fmt.Errorf("resolve a candidate: %w", store.ErrStale)
			}
		}
	}
	return nil
}
