package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ownIDs begins the ids that golden.id makes.
const ownIDs = "00000000"

// A normaliser replaces values that differ between two recordings of the same behaviour.
//
//   - Ids that neither the scripts nor the samples give become <1>, <2>, … in the order in which an answer shows them,
//     and their short form of eight digits becomes <id>.
//   - Times near the clock become <now>, and those 30 days ahead <now+30d>. All other times follow from the scripts and
//     lie in the past. A seq taken from the clock becomes <seq>.
//   - Numbers are rounded to 6 places, and milliseconds become <time>.
//   - Replaced too: the names of databases and directories, versions of the schema, numbers of jobs, ids of keys, rows
//     that fail a constraint (their columns have no fixed order), and the spaces that align columns.
//   - Left out: how far a slow command has got.
type normaliser struct {
	known   map[string]bool
	started time.Time
	names   *strings.Replacer
}

var (
	uuidPattern  = regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)
	shortPattern = regexp.MustCompile(`\b[0-9a-f]{8}\b`)
	timePattern  = regexp.MustCompile(
		`\b(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d)(:\d\d(?:\.\d+)?)?)?(?: ?(?:Z|[+-]\d\d(?::?\d\d)?)\b)?`)
	numberPattern = regexp.MustCompile(`\b\d+\.\d{7,}`)
	seqPattern    = regexp.MustCompile(`\b1[789]\d{14}\b`)
	rowPattern    = regexp.MustCompile(`Failing row contains .*`)
	keyPattern    = regexp.MustCompile(`\bkey \d+\b`)
	jobPattern    = regexp.MustCompile(
		`(?m)^ *\d+  +([a-z_]+  +(?:available|completed|retryable|scheduled|running|discarded|cancelled)\b)|"id": \d+`)
	schemaPattern = regexp.MustCompile(`(schema|version|River) \d+ of \d+|(schema|River) \d+\b|vector \d+\.\d+\.\d+`)
	milliPattern  = regexp.MustCompile(`\b\d+(\.\d+)? (ms|µs)\b|"milliseconds": [\d.]+`)
	spacePattern  = regexp.MustCompile(`  +|\t+`)
	rulePattern   = regexp.MustCompile(`[─-]{4,}`)
	spokenPattern = regexp.MustCompile(`(?m)^! [a-z() ]+: [\d,]+( of [\d,]+)?\n`) // progress, every few seconds
)

// knownIDs are the ids in the scripts, their files and the samples.
var knownIDs = sync.OnceValue(func() map[string]bool {
	known := map[string]bool{}
	for _, dir := range []string{suiteDir() + "/scripts", suiteDir() + "/files", rootDir() + "/examples"} {
		files, _ := filepath.Glob(dir + "/*")
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				panic(err)
			}
			for _, id := range uuidPattern.FindAllString(string(text), -1) {
				known[id], known[id[:8]] = true, true
			}
		}
	}
	return known
})

func newNormaliser(p *place) *normaliser {
	return &normaliser{knownIDs(), time.Now(), newNames(p.conn.Config().Database, p.dir)}
}

func newNames(database, dir string) *strings.Replacer {
	return strings.NewReplacer(database, "<database>", dir, "<dir>")
}

func (n *normaliser) normalise(text string) string {
	text = spokenPattern.ReplaceAllString(n.names.Replace(text), "")
	seen := map[string]string{}
	text = uuidPattern.ReplaceAllStringFunc(text, func(id string) string {
		if n.known[id] || strings.HasPrefix(id, ownIDs) {
			return id
		}
		if seen[id] == "" {
			seen[id] = fmt.Sprintf("<%d>", len(seen)+1)
		}
		return seen[id]
	})
	text = keyPattern.ReplaceAllString(text, "key <key>")
	text = timePattern.ReplaceAllStringFunc(text, n.moment)
	text = numberPattern.ReplaceAllStringFunc(text, func(number string) string {
		v, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return number
		}
		return strconv.FormatFloat(math.Round(v*1e6)/1e6, 'f', -1, 64)
	})
	text = shortPattern.ReplaceAllStringFunc(text, func(id string) string {
		if n.known[id] || id == ownIDs {
			return id
		}
		return "<id>"
	})
	text = seqPattern.ReplaceAllString(text, "<seq>")
	text = rowPattern.ReplaceAllString(text, "Failing row contains <row>")
	text = jobPattern.ReplaceAllString(text, "<job>  $1")
	text = schemaPattern.ReplaceAllString(text, "$1$2 <version>")
	text = milliPattern.ReplaceAllString(text, "<time>")
	text = rulePattern.ReplaceAllString(text, "────")
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(spacePattern.ReplaceAllString(l, "  "), " ")
	}
	return strings.Join(lines, "\n")
}

// moment replaces a time near the clock's by its distance from it.
func (n *normaliser) moment(text string) string {
	part := timePattern.FindStringSubmatch(text)
	clock := part[2]
	if clock == "" {
		clock = "12:00"
	}
	at, err := time.Parse("2006-01-02 15:04", part[1]+" "+clock)
	if err != nil {
		return text
	}
	switch away := at.Sub(n.started.UTC()).Hours() / 24; {
	case away > -5 && away < 2:
		return "<now>"
	case math.Abs(away-30) < 2:
		return "<now+30d>"
	}
	return text
}
