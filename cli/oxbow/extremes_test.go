package main

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// Every number and time of every command is refused by name, or harms nothing.
func TestExtremeFlags(t *testing.T) {
	t.Parallel()
	integers := []string{"-9223372036854775809", "-9223372036854775808", "-2147483649", "-1", "0", "1", "32768", "2147483647",
		"9223372036854775807", "9223372036854775808", "0.5", "NaN"}
	extremes := map[string][]string{
		"int": integers, "int32": integers, "int64": integers,
		"float64":  {"NaN", "Inf", "-Inf", "5e-324", "-5e-324", "1e308", "-1e308", "1e400", "-0", "0", "1"},
		"duration": {"-1ns", "0", "1ns", "1ms", "2540400h", "9223372036854775807ns", "9223372036854775808ns", "NaNs"},
		"time": {"infinity", "-infinity", "0000-01-01", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z",
			"9999-12-31T23:59:59-14:00", "294276-12-31T00:00:00Z", "now"},
		"json": {`{"x": 1e400}`, `{"emotion": {"arousal": 5e-324, "valence": 1e308}}`, `{"emotion": {"arousal": 1e-400}}`},
	}
	texts := []string{"string", "bool", "strings", "stringArray", "stringSlice", "id", "address", "networks", "stringToString"}
	endless := map[string]bool{"work": true, "serve": true, "dev": true, "top": true}
	dsn := pgtest.As(t, pgtest.Database(t), "oxbow")
	other := pgtest.As(t, pgtest.Database(t), "oxbow") // loses its schema
	remember := func() { require.Zero(t, cli(t, "remember", "ada", "Ada rows.", "--database-url", dsn).code) }
	ran, seen := 0, map[string]bool{}
	lines := commandLines(t)
	for _, path := range slices.Sorted(maps.Keys(lines)) {
		lines[path].Flags().VisitAll(func(f *pflag.Flag) {
			kind := f.Value.Type()
			if slices.Contains(texts, kind) || seen[f.Name+f.Usage] { // which commands share
				return
			}
			seen[f.Name+f.Usage] = true
			require.Contains(t, extremes, kind, "%s --%s: the test has no values", path, f.Name)
			for _, value := range extremes[kind] {
				ctx, cancel := context.WithCancel(t.Context())
				if endless[path] {
					cancel()
				}
				dsn := dsn
				if path == "migrate down" {
					dsn = other
				}
				args := append(slices.Clone(lines[path].args), "--"+f.Name+"="+value, "--database-url", dsn)
				r := cliContext(ctx, args...)
				cancel()
				ran++
				for _, bad := range []string{"SQLSTATE", "panic", "goroutine"} {
					require.NotContains(t, r.err, bad, args)
				}
			}
		})
	}
	remember() // others erase it
	require.Greater(t, ran, 200)
	for _, args := range [][]string{{"work", "--until-idle"}, {"recall", "ada", "Who rows?"}} {
		r := cli(t, append(args, "--database-url", dsn)...)
		require.Zero(t, r.code, r.err)
		require.True(t, args[0] == "work" || strings.Contains(r.out, "Ada rows."), r.out)
	}
}
