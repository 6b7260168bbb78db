package importv1

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Type is what became of the rows of a type.
type Type struct {
	From    string `json:"from"` // "unknown": of all that are not known
	To      string `json:"to,omitzero"`
	Rows    int64  `json:"rows"`    // seen
	New     int64  `json:"new"`     // stored; in a dry run, those that would be
	There   int64  `json:"there"`   // were there already
	Refused int64  `json:"refused"` // Oxbow does not take them
	// Missing are those that the verification did not find: erased, or new in the table, since they were read.
	Missing int64 `json:"missing"`
}

// Refusal is a row that Oxbow does not take.
type Refusal struct {
	ID     uuid.UUID `json:"id"`
	Reason string    `json:"reason"`
	Detail string    `json:"detail,omitzero"`
}

// Report is what an import has come to, over all runs of it. It is also what is written down between its transactions,
// in the setting import_v1.
type Report struct {
	Source  string           `json:"source"`
	Stage   string           `json:"stage"` // the one to go on with; done: none
	After   uuid.UUID        `json:"after,omitzero"`
	Rows    int64            `json:"rows"`    // in the table, when the import began
	Looked  int64            `json:"looked"`  // of the stage
	Types   []Type           `json:"types"`   // by From
	Refused map[string]int64 `json:"refused"` // how many, by reason
	// Refusals are the first thousand of them.
	Refusals []Refusal `json:"refusals"`
	Unread   []string  `json:"unread"` // columns that are left behind
	// ImportanceScale is what importance is divided by.
	ImportanceScale float64 `json:"importance_scale"`
	KeepVectors     bool    `json:"keep_vectors"`
	Vectors         int64   `json:"vectors"`      // kept
	VectorsLeft     int64   `json:"vectors_left"` // of another dimension, or no good: the worker makes new ones
	Adopted         int64   `json:"traits"`       // new ones that have events now
	Related         int64   `json:"related"`      // rows with evidence, parents, versions or conversations
	Evidence        int64   `json:"evidence"`     // rows of trait_evidence
	Parents         int64   `json:"parents"`      // traits with a parent
	History         int64   `json:"history"`      // versions that a newer one supersedes
	Sources         int64   `json:"sources"`      // rows of memory_sources
	// Orphans are references to nothing, by kind. Those of superseded_by are taken out, the others are not taken over.
	Orphans map[string]int64 `json:"orphans"`
	DryRun  bool             `json:"dry_run"`
	Resumed bool             `json:"resumed"`
	// Already tells that there was nothing to do, for the import was done before.
	Already  bool          `json:"already"`
	Started  time.Time     `json:"started"`
	Finished time.Time     `json:"finished,omitzero"`
	Took     time.Duration `json:"took"` // of this run, in nanoseconds
}

// clone is a copy that shares nothing: what a transaction changes counts only after it has committed.
func (r Report) clone() Report {
	r.Types, r.Refusals = slices.Clone(r.Types), slices.Clone(r.Refusals)
	r.Refused, r.Orphans = maps.Clone(r.Refused), maps.Clone(r.Orphans)
	return r
}

// of returns the entry of a type.
func (r *Report) of(from string) *Type {
	i, there := slices.BinarySearchFunc(r.Types, from, func(t Type,
		from string) int {
		return strings.Compare(t.From, from)
	})
	if !there {
		r.Types = slices.Insert(r.Types, i, Type{From: from})
	}
	return &r.Types[i]
}

func (r *Report) refuse(v Refusal) {
	if len(r.Refusals) < maxRefusals {
		r.Refusals = append(r.Refusals, v)
	}
}

// Sum adds up the types.
func (r *Report) Sum() (sum Type) {
	for _, t := range r.Types {
		sum.Rows, sum.New, sum.There, sum.Refused, sum.Missing = sum.Rows+t.Rows, sum.New+t.New, sum.There+t.There,
			sum.Refused+t.Refused, sum.Missing+t.Missing
	}
	return sum
}
