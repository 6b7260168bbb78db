package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow/internal/eval"
)

const intro = `# Quality

How well recall finds the memories that answer a question, on [public data sets](evaluation.md#public-data-sets). Oxbow
is measured with the offline default and with trained embedding models from Python packages. BM25 (lab/bm25), which
ranks the same memories by their words alone, is the baseline. This command writes the page:

<!-- not run: takes long and needs the data -->
%[1]ssh
make quality    # EVALUATIONS=directory of *.jsonl and *.jsonl.gz
%[1]s

[Evaluation](evaluation.md#the-measures) defines the measures. The time is the median of one recall, including the
request for the question's vector. The server of the model looks up vectors that an earlier run has computed.
`

// write writes the page.
func (r *rig) write(w io.Writer, models string, files []string, rankings []ranking) {
	fmt.Fprintf(w, intro, "```")
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = filepath.Base(file)
	}
	fmt.Fprintf(w, "\nMeasured on %s with %s: `go -C lab run ./quality -models %s %s`.\n\n",
		time.Now().UTC().Format(time.DateOnly), strings.Join(r.versions, ", "), models, strings.Join(names, " "))
	fmt.Fprintln(w, "| set | questions | ranking | recall@5 | recall@10 | recall@20 | hit@5 | hit@10 | hit@20 | median ms |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|---|")
	slices.SortStableFunc(rankings, func(a, b ranking) int { return strings.Compare(a.set, b.set) })
	for _, x := range rankings {
		row := func(set string, s eval.Score) {
			fmt.Fprintf(w, "| %s | %d | %s | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f | %.1f |\n", set, s.N, x.by,
				s.Recall5, s.Recall10, s.Recall20, s.Hit5, s.Hit10, s.Hit20, x.report.Latency.P50)
		}
		if x.report.All.N > 0 {
			row(x.set, x.report.All)
		}
		if x.report.Sessions != nil {
			row(x.set+", sessions", x.report.Sessions.All)
		}
	}
}
