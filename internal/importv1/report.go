package importv1

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Type counts the rows of one type.
type Type struct {
	From     string `json:"from"` // "unknown" for all unknown types together
	To       string `json:"to,omitzero"`
	Rows     int64  `json:"rows"`     // read
	New      int64  `json:"new"`      // stored, or in a dry run those that would be
	Existing int64  `json:"existing"` // already stored
	Rejected int64  `json:"rejected"` // rejected by Oxbow
	// Missing counts rows whose memory the verification did not find: erased, or added to the
	// table, since they were read.
	Missing int64 `json:"missing"`
}

// Rejection is a row that Oxbow rejects.
type Rejection struct {
	ID     uuid.UUID `json:"id"`
	Reason string    `json:"reason"`
	Detail string    `json:"detail,omitzero"`
}

// Report is the result of an import over all its runs. Its transactions also store it, in the
// setting import_v1, to record the progress.
type Report struct {
	Source   string           `json:"source"`
	Stage    string           `json:"stage"` // the stage to continue with, or done
	After    uuid.UUID        `json:"after,omitzero"`
	Rows     int64            `json:"rows"`     // in the table when the import began
	Looked   int64            `json:"looked"`   // in this stage
	Types    []Type           `json:"types"`    // by From
	Rejected map[string]int64 `json:"rejected"` // counts by reason
	// Rejections are the first thousand rejected rows.
	Rejections []Rejection `json:"rejections"`
	Unread     []string    `json:"unread"` // columns that are not imported
	// ImportanceScale is the divisor of importance.
	ImportanceScale float64 `json:"importance_scale"`
	KeepVectors     bool    `json:"keep_vectors"`
	Vectors         int64   `json:"vectors"`      // kept
	VectorsLeft     int64   `json:"vectors_left"` // of another dimension, or invalid: the worker computes new ones
	Adopted         int64   `json:"traits"`       // new traits that got events
	Related         int64   `json:"related"`      // rows with evidence, parents, versions or conversations
	Evidence        int64   `json:"evidence"`     // rows of trait_evidence
	Parents         int64   `json:"parents"`      // traits with a parent
	History         int64   `json:"history"`      // versions superseded by a newer one
	Sources         int64   `json:"sources"`      // rows of memory_sources
	// Orphans counts references to missing rows, by kind. The import clears those of superseded_by
	// and does not copy the others.
	Orphans map[string]int64 `json:"orphans"`
	DryRun  bool             `json:"dry_run"`
	Resumed bool             `json:"resumed"`
	// Already reports that there was nothing to do because the import was already complete.
	Already  bool          `json:"already"`
	Started  time.Time     `json:"started"`
	Finished time.Time     `json:"finished,omitzero"`
	Took     time.Duration `json:"took"` // of this run, in nanoseconds
}

// clone returns a copy that shares nothing with r: changes made in a transaction count only after
// it commits.
func (r Report) clone() Report {
	r.Types, r.Rejections = slices.Clone(r.Types), slices.Clone(r.Rejections)
	r.Rejected, r.Orphans = maps.Clone(r.Rejected), maps.Clone(r.Orphans)
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

func (r *Report) reject(v Rejection) {
	if len(r.Rejections) < maxRejections {
		r.Rejections = append(r.Rejections, v)
	}
}

// Sum adds up all types.
func (r *Report) Sum() (sum Type) {
	for _, t := range r.Types {
		sum.Rows, sum.New, sum.Existing, sum.Rejected, sum.Missing = sum.Rows+t.Rows, sum.New+t.New, sum.Existing+t.Existing,
			sum.Rejected+t.Rejected, sum.Missing+t.Missing
	}
	return sum
}
