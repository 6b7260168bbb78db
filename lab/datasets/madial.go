package main

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow/lab/must"
)

// madialChinese and madialEnglish are MADial-Bench (arXiv 2409.15240): dialogues of two children with an assistant that
// should recall what makes the child happy or sad. A question is a dialogue until the assistant should recall, which is
// how the set asks; gold are the memories that fit. Only dialogues with odd ids are loaded, with all memories: the
// dialogue's id is its place in the file. The English memories do not name their user, who is that of the Chinese
// memory with the same id.
var (
	madialChinese = set{name: "madial-zh", url: madialURL, commit: madialCommit, convert: func(r *repository) []line {
		return madial(r, "data/ch/MADial-Bench-zh-")
	}}
	madialEnglish = set{name: "madial-en", url: madialURL, commit: madialCommit, convert: func(r *repository) []line {
		return madial(r, "data/en/MADial-Bench-en-")
	}}
)

const (
	madialURL    = "https://github.com/hejunqing/MADial-Bench"
	madialCommit = "572e3a10d6d01852a65e4508e0b3ab2a00d0710c"
)

type madialMemory struct {
	Time, Event string
	User        int `json:"user-id"`
}

type madialDialogue struct {
	Turns    []string `json:"dialogue"`
	TestTurn []int    `json:"test-turn"`
	Relevant []int    `json:"relevant-id"`
	User     int      `json:"user-id"`
}

func madial(r *repository, prefix string) (lines []line) {
	users := map[string]string{} // by memory
	for _, memories := range readLines[map[string]madialMemory](r, "data/ch/MADial-Bench-zh-memory.json") {
		for id, m := range memories {
			users[id] = strconv.Itoa(m.User)
		}
	}
	for _, memories := range readLines[map[string]madialMemory](r, prefix+"memory.json") {
		for _, id := range slices.Sorted(maps.Keys(memories)) {
			at := must.Get(time.Parse(time.DateOnly, memories[id].Time))
			lines = append(lines, line{Type: "memory", User: users[id], ID: id, At: &at, Content: memories[id].Event})
		}
	}
	for id, d := range readLines[madialDialogue](r, prefix+"dialogue.json") {
		if id%2 == 0 {
			continue
		}
		gold := []string{}
		for _, memory := range d.Relevant {
			gold = append(gold, strconv.Itoa(memory))
		}
		lines = append(lines, line{Type: "question", User: strconv.Itoa(d.User),
			Question: madialText(d.Turns[:d.TestTurn[0]]), Gold: gold})
	}
	return lines
}

var madialMarks = regexp.MustCompile(`^<(\w+)>\s*:?\s*"?(.*?)"?\s*$`)

// madialText turns <Bart>:"…" into Bart: …, and leaves out the mark of the beginning.
func madialText(turns []string) string {
	var said []string
	for _, turn := range turns {
		if m := madialMarks.FindStringSubmatch(turn); m == nil {
			said = append(said, strings.TrimSpace(turn))
		} else if m[2] != "" {
			said = append(said, m[1]+": "+m[2])
		}
	}
	return strings.Join(said, "\n")
}
