package movein

import (
	"cmp"
	"maps"
	"slices"
)

// Report says what an import read, stored and left out.
type Report struct {
	Source   string           `json:"source"`
	Read     int64            `json:"read"` // memories read and not skipped
	New      int64            `json:"new"`  // those that did not exist before
	Types    map[string]int64 `json:"types"`
	Users    map[string]int64 `json:"users"`
	Skipped  []*Finding       `json:"skipped"`  // rows that were not imported
	Unmapped []*Finding       `json:"unmapped"` // values that have no field
	Kept     map[string]int64 `json:"kept"`     // members that became metadata
	Dropped  map[string]int64 `json:"dropped"`  // members that were not imported
	Seconds  float64          `json:"seconds"`
	DryRun   bool             `json:"dry_run"`
}

// Finding is a reason and the rows that it concerns.
type Finding struct {
	Reason   string   `json:"reason"`
	Rows     int64    `json:"rows"`
	Examples []string `json:"examples"` // ids of the source, at most 3
}

const (
	maxExamples = 3
	maxReasons  = 50 // bounds the report of a file in which every row has an error of its own
)

func newReport(source string) Report {
	return Report{Source: source, Types: map[string]int64{}, Users: map[string]int64{}, Kept: map[string]int64{},
		Dropped: map[string]int64{}, Skipped: []*Finding{}, Unmapped: []*Finding{}}
}

// Rows returns the number of rows skipped.
func (r Report) Rows() (n int64) {
	for _, f := range r.Skipped {
		n += f.Rows
	}
	return n
}

// Most returns the n names with the highest counts.
func Most(counts map[string]int64, n int) []string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	return names[:min(n, len(names))]
}

func (r *Report) skip(reason, ref string)     { r.Skipped = found(r.Skipped, reason, ref) }
func (r *Report) unmapped(reason, ref string) { r.Unmapped = found(r.Unmapped, reason, ref) }

func found(findings []*Finding, reason, ref string) []*Finding {
	at := slices.IndexFunc(findings, func(f *Finding) bool { return f.Reason == reason })
	if at < 0 && len(findings) == maxReasons {
		return found(findings, findings[maxReasons-1].Reason, ref)
	}
	if at < 0 {
		at = len(findings)
		findings = append(findings, &Finding{Reason: reason, Examples: []string{}})
	}
	f := findings[at]
	f.Rows++
	if ref != "" && len(f.Examples) < maxExamples {
		f.Examples = append(f.Examples, ref)
	}
	return findings
}

// count adds a memory to the counts, or takes it away.
func (r *Report) count(d *draft, n int64) {
	r.Read += n
	r.Types[string(d.Type)] += n
	r.Users[d.User] += n
	if r.Users[d.User] == 0 {
		delete(r.Users, d.User)
	}
	if r.Types[string(d.Type)] == 0 {
		delete(r.Types, string(d.Type))
	}
}
