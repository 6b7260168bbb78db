package bench

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A small run on a PostgreSQL of its own prints, reports and writes the same numbers.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	o := Defaults()
	o.Only, o.Inserts, o.Out = []string{"latency"}, 2, &out
	report, err := Run(t.Context(), o)
	require.NoError(t, err)
	require.Len(t, report.Sections, 1)
	table := report.Sections[0].Tables[0]
	require.Len(t, table.Rows, 2)
	require.NotEmpty(t, report.Machine.PostgreSQL)
	text, err := json.Marshal(report)
	require.NoError(t, err)
	var read struct {
		Sections []struct{ Tables []struct{ Rows [][]any } }
	}
	require.NoError(t, json.Unmarshal(text, &read))
	p50, isNumber := read.Sections[0].Tables[0].Rows[0][1].(float64)
	require.True(t, isNumber)
	require.Positive(t, p50)
	require.Contains(t, out.String(), string(table.Rows[0][1]))
	require.Contains(t, report.Page(""), "| with LISTEN | "+string(table.Rows[0][1])+" |")

	o.Only = []string{"latency", "speed"}
	_, err = Run(t.Context(), o)
	require.ErrorContains(t, err, `no section "speed"`)
}

// A page keeps what a run has not measured, in the order of the sections.
func TestPage(t *testing.T) {
	r := Report{Seed: 3, Sections: []Section{{Name: "recall", Began: time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC), LoadBefore: "0.1", LoadAfter: "1.2",
		Tables: []Table{{Title: "Recall", Columns: []string{"a", "b"}, Rows: [][]Cell{{"x|y", "1.5"}}}}}}}
	page := r.Page("# Mine\n\nText.\n\n## latency\n\nold latency\n\n## recall\n\nold recall\n")
	require.True(t, strings.HasPrefix(page, "# Mine\n\nText.\n\n## recall\n\nMeasured on 2026-03-04 with seed 3: "))
	require.True(t, strings.HasSuffix(page, "\n\n## latency\n\nold latency\n"))
	require.Contains(t, page, "\n| a | b |\n|---|---|\n| x\\|y | 1.5 |\n")
	require.NotContains(t, page, "old recall")
	require.Equal(t, page, r.Page(page), "written again, it is the same")
}

func TestMissed(t *testing.T) {
	r := Report{Sections: []Section{{Name: "insert", Tables: []Table{{Columns: []string{"", "promised"}, Rows: [][]Cell{{"COPY", "≥ 0.80 missed"}, {"rows", "≥ 0.50 reached"}}}}}}}
	require.Equal(t, []string{"insert: COPY"}, r.Missed())
}
