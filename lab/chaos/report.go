package chaos

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
)

// report prints the actions, the faults and the results of the checks.
func (r *run) report(out io.Writer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	columns := []string{"acknowledged", "failed", "unknown", "rolled back", "nothing to do"}
	fmt.Fprintf(t, "action\t%s\t\n", strings.Join(columns, "\t"))
	var sums [5]int
	for _, kind := range slices.Sorted(maps.Keys(r.ledger.actions)) {
		fmt.Fprintf(t, "%s\t", kind)
		for i, how := range columns {
			n := r.ledger.actions[kind][how]
			sums[i] += n
			fmt.Fprintf(t, "%d\t", n)
		}
		fmt.Fprintln(t)
	}
	fmt.Fprintf(t, "all\t%d\t%d\t%d\t%d\t%d\t\n", sums[0], sums[1], sums[2], sums[3], sums[4])
	_ = t.Flush() // a failed write leaves nothing to do
	if r.ledger.missed > 0 {
		fmt.Fprintf(out, "%d actions did not start in time\n", r.ledger.missed)
	}
	fmt.Fprintf(out, "errors that clients saw: %s\n", counts(r.complaints))
	fmt.Fprintf(out, "faults: %s\n", counts(r.faults))
	fmt.Fprintf(out, "workers and migrations killed at points: %s\n", counts(r.points))
	var spared []string
	for _, point := range failpoint.Worker() {
		if r.points[point] == 0 {
			spared = append(spared, point)
		}
	}
	fmt.Fprintf(out, "failpoints that killed nothing: %s\n", strings.Join(spared, " "))
	r.provider.mu.Lock()
	fmt.Fprintf(out, "requests to providers: %s\n", counts(r.provider.counts))
	r.provider.mu.Unlock()
	fmt.Fprintf(out, "strategies: %s\n", counts(r.strategies))
	t = tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "check\tlooked at\tviolations\n")
	for _, c := range r.checks {
		fmt.Fprintf(t, "%s\t%d\t%d\n", c.name, c.looked, c.violations)
	}
	_ = t.Flush()
	for _, v := range r.violations {
		fmt.Fprintf(out, "VIOLATION %s\n", v)
	}
	fmt.Fprintf(out, "seed %d: %d violations\n", r.plan.Seed, len(r.violations))
}

func counts(of map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, of[name]))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, "; ")
}
