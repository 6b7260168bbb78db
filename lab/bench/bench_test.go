package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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

func TestInTurns(t *testing.T) {
	t.Parallel()
	var order []int
	measured, err := inTurns(2, 2, func(way int) (int64, error) {
		order = append(order, way)
		return int64(len(order)), nil
	})
	require.NoError(t, err)
	require.Equal(t, []int{0, 1, 1, 0, 0, 1}, order, "the order alternates")
	require.Equal(t, [][]int64{{4, 5}, {3, 6}}, measured, "the first round does not count")
	require.InDelta(t, 1.5, medianRatio([]time.Duration{10, 15, 90}, []time.Duration{10, 10, 10}), 0)
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
		l.told++
	}
}
