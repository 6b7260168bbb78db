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
	similarFacts  = 5    // of a candidate, and as many earlier candidates
	factsAbout    = 100  // of which people have one at a time, of all candidates
	leastSimilar  = 0.05 // it only nominates
	muchSimilar   = 0.6
	resolveRounds = 3 // in which an extractor that is far away is asked about a batch
)

// resolution is how far it is decided what becomes of a batch's candidates.
type resolution struct {
	ended map[uuid.UUID]bool      // memories whose time an operation ended, and candidates that are none
	as    map[uuid.UUID]uuid.UUID // of a candidate that a memory says already: that memory
}

// resolve decides what becomes of the candidates, in their order: a later one may replace an
// earlier one. Similarity only nominates: the extractor says what it means. Episodes are what
// happened, and take nothing's place. Where the extractor is about to end what has just been ended,
// it is asked again, about that candidate and those after it.
func (x *Extraction) resolve(ctx context.Context, db store.DB, e *extraction, within func(ask func(context.Context) error) error) (err error) {
	e.Memories = make([]store.Extracted, len(e.candidates))
	for i, c := range e.candidates {
		e.Memories[i] = store.Extracted{ID: e.ids[i], Candidate: c, Vector: e.vectors[i], Resolution: reasoner.Resolution{Operation: reasoner.Add}}
	}
	if e.shown, err = x.similar(ctx, db, e); err != nil {
		return err
	}
	r := resolution{ended: map[uuid.UUID]bool{}, as: map[uuid.UUID]uuid.UUID{}}
	for from, round := 0, 1; ; round++ {
		conflicts, of := r.conflicts(e, from)
		if len(conflicts) == 0 {
			return nil
		}
		var decided []reasoner.Resolution
		err := within(func(ctx context.Context) (err error) {
			decided, err = x.extractor.Resolve(ctx, e.now, conflicts)
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
			if again && (x.offline || round < resolveRounds) {
				from = i
				break
			}
			if taken.Operation != decided[k].Operation {
				x.log.WarnContext(ctx, "an operation that there is not, or on a memory that was not shown or has just ended, is not followed", "operation", string(decided[k].Operation))
			}
			e.Memories[i].Resolution = taken
			r.follow(e.ids[i], taken)
		}
	}
}

// conflicts returns the candidates from a place on that something similar stands beside, and their places.
func (r *resolution) conflicts(e *extraction, from int) (conflicts []reasoner.Conflict, of []int) {
	for i := from; i < len(e.candidates); i++ {
		similar := slices.DeleteFunc(slices.Clone(e.shown[i]), func(h reasoner.Held) bool { return r.ended[r.memory(h.ID)] })
		if len(similar) > 0 {
			conflicts, of = append(conflicts, reasoner.Conflict{Candidate: e.candidates[i], Similar: similar}), append(of, i)
		}
	}
	return conflicts, of
}

// memory returns the memory that a candidate became, or that is one already.
func (r *resolution) memory(id uuid.UUID) uuid.UUID { return cmp.Or(r.as[id], id) }

// take takes what the extractor decided only as far as it is about what was shown; otherwise the
// candidate is a memory of its own. again tells that it is about something that ended after it was
// shown.
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

// also returns what else was shown, and lasts, of what an update takes the place of.
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

// follow notes what becomes of a candidate.
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

// similar returns the facts that are like each candidate that is one, or about the same, those
// among the candidates before it included.
func (x *Extraction) similar(ctx context.Context, db store.DB, e *extraction) ([][]reasoner.Held, error) {
	all := make([][]reasoner.Held, len(e.candidates))
	var of []int
	var vectors [][]float32
	var about []string
	for i, c := range e.candidates {
		if c.Type == string(store.Fact) && e.vectors[i] != nil {
			of, vectors, about = append(of, i), append(vectors, e.vectors[i]), append(about, c.About...)
		}
	}
	found, err := store.SimilarFacts(ctx, db, e.Session.UserID, vectors, similarFacts, leastSimilar)
	if err != nil {
		return nil, err
	}
	slices.Sort(about)
	same, err := store.FactsAbout(ctx, db, e.Session.UserID, slices.Compact(about), factsAbout)
	if err != nil {
		return nil, err
	}
	for k, i := range of {
		all[i] = slices.Concat(found[k], e.before(i, of[:k]))
		for _, h := range same {
			if aboutSame(e.candidates[i], h) && !slices.ContainsFunc(all[i], func(s reasoner.Held) bool { return s.ID == h.ID }) {
				all[i] = append(all[i], h)
			}
		}
		slices.SortStableFunc(all[i], func(a, b reasoner.Held) int { return cmp.Compare(b.Similarity, a.Similarity) })
	}
	return all, nil
}

// aboutSame tells whether a memory is about something that a candidate of the same speaker is about.
func aboutSame(c reasoner.Candidate, h reasoner.Held) bool {
	return strings.EqualFold(c.Speaker, h.Speaker) && slices.ContainsFunc(c.About, func(a string) bool { return slices.Contains(h.About, a) })
}

// before returns those of some candidates that are most like another, and those about the same.
func (e *extraction) before(i int, of []int) (similar []reasoner.Held) {
	var same []reasoner.Held
	for _, j := range of {
		c := e.candidates[j]
		h := reasoner.Held{ID: e.ids[j], Type: c.Type, Content: c.Content, Speaker: c.Speaker, Category: c.Category, Time: c.Time,
			Similarity: cosine(e.vectors[i], e.vectors[j]), About: c.About}
		switch {
		case aboutSame(e.candidates[i], h):
			same = append(same, h)
		case h.Similarity >= leastSimilar:
			similar = append(similar, h)
		}
	}
	slices.SortStableFunc(similar, func(a, b reasoner.Held) int { return cmp.Compare(b.Similarity, a.Similarity) })
	return slices.Concat(same, similar[:min(len(similar), similarFacts)])
}

// cosine is the similarity of two vectors of one length, -1 to 1; of nothing it is 0.
func cosine(a, b []float32) float64 {
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

// lookAgain looks for facts that are much like a candidate, or about the same, and were not shown to the extractor.
func (x *Extraction) lookAgain(ctx context.Context, tx pgx.Tx, e *extraction) error {
	similar, err := x.similar(ctx, tx, e)
	if err != nil {
		return err
	}
	for i, held := range similar {
		for _, h := range held {
			if (h.Similarity >= muchSimilar || aboutSame(e.candidates[i], h)) && !slices.ContainsFunc(e.shown[i], func(s reasoner.Held) bool { return s.ID == h.ID }) {
				return fmt.Errorf("decide on a memory that is much like another: %w", store.ErrStale)
			}
		}
	}
	return nil
}
