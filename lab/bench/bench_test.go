package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/lab/must"
)

// A benchmark replaces its own rows in the page, whatever flags measured them, and leaves the others.
func TestWritePage(t *testing.T) {
	t.Parallel()
	page := filepath.Join(t.TempDir(), "page.md")
	require.NoError(t, os.WriteFile(page, []byte("# Page\n\n| what | … |\n|---|---|\n\nEnd.\n"), 0o600))
	write := func(name, command string, measured float64) string {
		b := &bench{page: page, name: name, command: command}
		b.atMost("times of "+name, 2, measured)
		require.NoError(t, b.writePage())
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		return string(text)
	}
	write("recall", "go -C lab run ./bench recall", 1)
	write("settle", "go -C lab run ./bench settle", 1)
	text := write("recall", "go -C lab run ./bench -rounds 1 recall", 3)
	require.Contains(t, text, "| times of recall | ≤ 2 | 3.00 | missed |")
	require.NotContains(t, text, "| times of recall | ≤ 2 | 1.00 |")
	require.Contains(t, text, "| times of settle | ≤ 2 | 1.00 | kept |")
	require.Contains(t, text, "|---|---|\n| times of recall")
	require.Contains(t, text, "|\n\nEnd.\n")
}

func TestWorstMeasurementCounts(t *testing.T) {
	t.Parallel()
	var b bench
	for _, measured := range []float64{1, 3, 2} {
		b.atMost("most", 2, measured)
		b.atLeast("least", 2, measured)
	}
	require.Equal(t, []promise{{"most", "≤ 2", 3, false}, {"least", "≥ 2", 1, false}}, b.promises)
}

func TestCompare(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	order, measurements := "", []float64{1, 8, 10, 20, 15, 90}
	next := func(name string) variant {
		return variant{name, func() float64 {
			order += name
			return measurements[len(order)-1]
		}}
	}
	r := (&bench{rounds: 2, out: &out}).compare("Letters", "ms", next("a"), next("b"))
	require.Equal(t, "abbaab", order, "the order alternates")
	require.Equal(t, results{{20, 15}, {10, 90}}, r, "the first round does not count")
	require.InDelta(t, 6, r.ratio(1, 0), 0)
	require.Contains(t, out.String(), "Letters\n")
	require.Regexp(t, `\n  b +90.00 +6.00\n`, out.String())
}

func TestTogether(t *testing.T) {
	t.Parallel()
	wrong := errors.New("wrong")
	require.ErrorIs(t, must.Try(func() {
		together(3, func(client int) { must.OK([]error{nil, wrong, nil}[client]) })
	}), wrong)
}

// The same seed gives the same texts, in both languages.
func TestTexts(t *testing.T) {
	t.Parallel()
	texts := newWriter(seed).texts(100)
	require.Equal(t, texts, newWriter(seed).texts(100))
	require.NotEqual(t, texts, newWriter(seed+1).texts(100))
	l := newLife("somebody", 1, 0.5)
	for range 1000 {
		require.NotEmpty(t, l.says())
	}
}
