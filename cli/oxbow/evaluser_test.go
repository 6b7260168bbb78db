package main

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// The figures can be counted by hand: of three answers one used all that it recalled, one half of it, and what one used is
// forgotten.
func TestEvalUser(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	require.Contains(t, d.run("eval", "--user", "ada").err, "has no answers whose use is known")
	d.ok("remember", "ada", "The boat is called Heron.")
	d.ok("remember", "ada", "Bees live behind the shed.")
	d.ok("remember", "ada", "Grandmother sang tango.")
	d.work()
	boat, bees, tango := d.idOf("ada", "The boat is called Heron."), d.idOf("ada", "Bees live behind the shed."),
		d.idOf("ada", "Grandmother sang tango.")
	answered := func(question, ago string, recalled, used []string) {
		d.exec(`select oxbow.answered('ada', $1, $2::text[]::uuid[], $3::text[]::uuid[], at => now() - $4::text::interval)`,
			question, recalled, used, ago)
	}
	answered("who sang tango", "3 hours", []string{tango}, []string{tango})
	answered("heron boat", "2 hours", []string{boat}, []string{boat})
	answered("heron boat bees", "1 hour", []string{boat, bees}, []string{boat})
	answered("heron boat", "0", []string{boat}, nil) // it is unknown what it used
	d.exec(`select oxbow.forget('ada', $1::text::uuid)`, tango)
	d.work()

	report := decoded[userReport](t, d.ok("eval", "--user", "ada", "--json"))
	require.InDelta(t, 2.0/3, report.MRR, 1e-9)
	require.InDelta(t, (1+2.0/3)/3, report.F1, 1e-9)
	require.Equal(t, userReport{User: "ada", Answers: 3, MRR: report.MRR, F1: report.F1}, report)
	require.Equal(t, "1 answer of ada, vectors of local-v1 with 1024 dimensions\n\n"+
		"mean reciprocal rank  1.000\nF1                    0.667", d.ok("eval", "--user", "ada", "--limit-questions", "1"))

	require.NoError(t, pgx.BeginFunc(t.Context(), d.kept(), func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), `select from oxbow.memories where id = $1::text::uuid for update`, boat)
		require.NoError(t, err)
		require.Contains(t, d.ok("eval", "--user", "ada"), "\nSkipped 3 answers whose memories are being changed.")
		return nil
	}))

	for _, wrong := range [][]string{{}, {"--user", "ada", sampleFile}, {"--user", "ada", "--keep"},
		{"--user", "ada", "--extract"}, {"--user", ""}} {
		require.Equal(t, exitUsage, d.run(append([]string{"eval"}, wrong...)...).code, wrong)
	}
}
