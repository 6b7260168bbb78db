package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A fault whose pattern matches nothing fails: otherwise a fault that no longer changes anything would go unseen.
func TestFaultThatMatchesNothing(t *testing.T) {
	s := newSuite(t.Context(), "")
	t.Cleanup(s.close)
	nothing := section{"nothing", func(*place) string { return "" }}
	_, err := s.record(t.Context(), nothing, fault{sql: "select golden.patch('recall', 'no such text', '')"})
	require.ErrorIs(t, err, errNotPlanted)
	require.ErrorContains(t, err, "no function oxbow.(recall) matches no such text")
	_, err = s.record(t.Context(), nothing, fault{sql: "select golden.patch('recall', 'max_results', 'max_results')"})
	require.NoError(t, err)
}

func TestFaults(t *testing.T) {
	faults, err := parseFaults(faultsSQL)
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(faults), 30)
	_, err = parseFaults("-- fault: of nothing\n-- noticed by: recall\n")
	require.Error(t, err)
}

func TestParseSQL(t *testing.T) {
	blocks, err := parseSQL("-- head\n-- name: one\n-- $ oxbow work\nselect 1;\nselect 2;\n-- name: two\nselect 3;\n")
	require.NoError(t, err)
	one := block{"one", []string{"oxbow work"}, "select 1;\nselect 2;\n"}
	require.Equal(t, []block{one, {"two", nil, "select 3;\n"}}, blocks)
	_, err = parseSQL("-- name: one\n-- name: one\n")
	require.Error(t, err)
}

// The normaliser replaces what depends on the clock or on chance, and nothing else.
func TestNormalise(t *testing.T) {
	now := time.Now().UTC()
	n := &normaliser{known: knownIDs(), started: now, names: newNames("oxbow_adhoc_7", "/tmp/x")}
	const one, two, ours = "0198c2f6-7f0e-7bb2-9a52-0d7a51e9f5c1", "0198c2f6-7f0e-7bb2-9a52-0d7a51e9f5c2",
		"00000000-0000-4000-8000-000000000007"
	for given, want := range map[string]string{
		one + " a " + two + " a " + one:                             "<1> a <2> a <1>",
		ours + " 00000000":                                          ours + " 00000000",
		"id c2c9e01d":                                               "id <id>",
		"2024-05-01 10:00:00+00 2024-05 2024-05-01":                 "2024-05-01 10:00:00+00 2024-05 2024-05-01",
		now.Format("2006-01-02 15:04:05.999999-07"):                 "<now>",
		"until " + now.AddDate(0, 0, 30).Format("2006-01-02") + ",": "until <now+30d>,",
		now.AddDate(0, 0, 60).Format("2006-01-02"):                  now.AddDate(0, 0, 60).Format("2006-01-02"),
		"1.12000231 0.1200002 3":                                    "1.120002 0.12 3",
		"took 3.2 ms":                                               "took <time>",
		"a    b ─────── c":                                          "a  b ──── c",
		"oxbow_adhoc_7 in /tmp/x/files":                             "<database> in <dir>/files",
		"job  27  embed  completed":                                 "job  27  embed  completed",
		" 27  embed  completed":                                     "<job>  embed  completed",
	} {
		require.Equal(t, want, n.normalise(given))
	}
}
