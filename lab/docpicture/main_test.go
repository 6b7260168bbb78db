package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/traittest"
)

var docs = filepath.Join("..", "..", "docs")

func TestDocumentsAreUpToDate(t *testing.T) {
	t.Parallel()
	stale, err := update(t.Context(), docs, false)
	require.NoError(t, err)
	require.Empty(t, stale, "run go -C lab run ./docpicture")
}

// Outdated files are found and updated, and a second run changes nothing.
func TestUpdate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	page := filepath.Join(dir, "traits.md")
	current, err := os.ReadFile(filepath.Join(docs, "traits.md"))
	require.NoError(t, err)
	tampered := strings.Replace(string(current), "| 0.3000 |", "| 0.3100 |", 1)
	require.NotEqual(t, string(current), tampered)
	require.NoError(t, os.WriteFile(page, []byte(tampered), 0o600))

	security, err := os.ReadFile(filepath.Join(docs, "security.md"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "security.md"), security, 0o600))

	both := []string{page, filepath.Join(dir, "life-of-a-trait.svg")}
	stale, err := update(t.Context(), dir, false)
	require.NoError(t, err)
	require.Equal(t, both, stale)
	stale, err = update(t.Context(), dir, true)
	require.NoError(t, err)
	require.Equal(t, both, stale)
	stale, err = update(t.Context(), dir, false)
	require.NoError(t, err)
	require.Empty(t, stale)
	again, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Equal(t, string(current), string(again))
}

func TestFillRefusesOtherMarkers(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(docs, "traits.md"))
	require.NoError(t, err)
	for name, text := range map[string]string{
		"missing": strings.Replace(string(page), "docpicture: life", "docpicture life", 1),
		"twice":   string(page) + "<!-- docpicture: life -->\n<!-- end -->\n",
		"unknown": string(page) + "<!-- docpicture: death -->\n<!-- end -->\n",
	} {
		_, err := fill([]byte(text), tables)
		require.Error(t, err, name)
	}
}

// The numbers of the story equal a replay of its events, and it includes everything that the page mentions.
func TestStory(t *testing.T) {
	t.Parallel()
	moments := tell(story)
	stages := map[lifecycle.Stage]bool{}
	happened := map[string]bool{}
	for i, m := range moments {
		happened[m.event] = true
		stages[m.after.Stage] = true
		if i > 0 {
			require.False(t, m.at.Before(moments[i-1].at))
			require.Equal(t, moments[i-1].after, m.before)
		}
		require.NotEmpty(t, m.label.text, "moment %d, %s", i+1, m.event)
		require.True(t, traittest.Policies.NextTransition(m.after).IsZero() ||
			traittest.Policies.NextTransition(m.after).After(m.at))
	}
	for _, s := range []lifecycle.Stage{lifecycle.Trend, lifecycle.Candidate, lifecycle.Emerging, lifecycle.Established,
		lifecycle.Core, lifecycle.Dissolved} {
		require.True(t, stages[s], s)
	}
	for _, k := range []lifecycle.Kind{lifecycle.Created, lifecycle.Reinforced, lifecycle.Contradicted,
		lifecycle.Promoted, lifecycle.Revised,
		lifecycle.Decayed, lifecycle.Dissolution, lifecycle.Revived, lifecycle.Used, "clue"} {
		require.True(t, happened[string(k)], k)
	}
	last := moments[len(moments)-1].after
	require.True(t, traittest.Policies.NextTransition(last).After(time.Date(2025, 12, 31, 0, 0, 0, 0, time.UTC)),
		"the picture ends before")
}

// If the page says **stage** (7), moment 7 has that stage, or is that event.
func TestPageNamesTheRightMoments(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(docs, "traits.md"))
	require.NoError(t, err)
	moments := tell(story)
	found := regexp.MustCompile(`\*\*(\w+)\*\* \((\d+)\)`).FindAllStringSubmatch(string(page), -1)
	require.Greater(t, len(found), 10)
	for _, f := range found {
		n, err := strconv.Atoi(f[2])
		require.NoError(t, err)
		require.LessOrEqual(t, n, len(moments))
		m := moments[n-1]
		require.Contains(t, []string{m.event, string(m.after.Stage)}, f[1], "moment %d", n)
	}
}

func TestPictureIsXML(t *testing.T) {
	t.Parallel()
	moments := tell(story)
	d := xml.NewDecoder(strings.NewReader(picture(moments)))
	circles := 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "circle" {
			circles++
		}
	}
	require.Equal(t, len(moments)+4, circles, "a point for each moment, and the legend")
}
