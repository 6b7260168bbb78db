package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestPhrases asserts how many phrasings are heard that somebody wrote who had not seen the rules. The rules were
// improved with the first two sets since. Keep them apart from the third, which shows what is heard of new phrasings.
func TestPhrases(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file  string
		judge func(*phrase) (what, wrong string)
		least map[string]int
	}{
		{"instructions", instruction, map[string]int{"instruct en": 46, "instruct zh": 46, "end en": 4, "end zh": 4}},
		{"instructions-2", instruction, map[string]int{"instruct en": 46, "instruct zh": 46, "end en": 3, "end zh": 3}},
		{"instructions-3", instruction, map[string]int{"instruct en": 38, "instruct zh": 41, "end en": 3, "end zh": 2}},
		{"ordinary", nothing, map[string]int{"nothing en": 99, "nothing zh": 99}},
		{"reminders", reminder, map[string]int{"reminder en": 49, "reminder zh": 49}},
		{"reminders-2", reminder, map[string]int{"reminder en": 49, "reminder zh": 49}},
		{"reminders-3", reminder, map[string]int{"reminder en": 44, "reminder zh": 46}},
	} {
		heard := score(read[phrase](filepath.Join("testdata", c.file+".jsonl")), c.judge)
		for what, least := range c.least {
			assert.GreaterOrEqual(t, heard.right[what], least, "%s\n%s", what, strings.Join(heard.wrong, "\n"))
		}
	}
}
