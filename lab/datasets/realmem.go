package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow/lab/must"
)

// realmem is RealMem (arXiv 2601.06966, Apache 2.0): months of sessions of invented people with an assistant, about
// several projects at once. Five of its ten people are loaded; the files of the others are not opened.
//
// A question is what a person says when the assistant needs earlier sessions to answer. It is asked when its session
// begins, so it has only earlier sessions to find, as in the set. gold_sessions are those that the answer used. Points
// are the facts that the set notes of a session; the title of the project stage that precedes each, 【…】, is cut off.
// Days are given without a time: the sessions of a day begin at eight, half an hour apart. A session that is dated before
// the one that precedes it in the file, as a few are, follows that one half an hour later.
var realmem = set{
	name:   "realmem",
	url:    "https://github.com/AvatarMemory/RealMemBench",
	commit: "67afd0891d603adcc4458ff0449df306ef296b7a",
	convert: func(r *repository) (lines []line) {
		for _, person := range []string{"Adeleke_Okonjo", "Ethan_Hunt", "Kenta_Tanaka", "Kim_Ji_young", "Liam_O_Connor"} {
			lines = append(lines, realmemPerson(person, read[realmemFile](r, "dataset/"+person+"_dialogues_256k.json"))...)
		}
		return lines
	},
}

type realmemFile struct {
	Dialogues []struct {
		UUID   string        `json:"session_uuid"`
		Day    string        `json:"current_time"` // 2025-12-15 (Monday)
		Turns  []realmemTurn `json:"dialogue_turns"`
		Points []struct {
			Content string
			Role    string `json:"source_role_snapshot"`
		} `json:"extracted_memory"`
	}
}

type realmemTurn struct {
	Speaker, Content string
	IsQuery          bool     `json:"is_query"`
	Category         string   `json:"category_name"`
	Sessions         []string `json:"memory_session_uuids"` // of an answer
	Used             []struct {
		Session string `json:"session_uuid"`
	} `json:"memory_used"`
}

var realmemStage = regexp.MustCompile(`^【[^】]*】\s*`)

func realmemPerson(person string, file realmemFile) (lines []line) {
	var begins time.Time
	for _, s := range file.Dialogues {
		if day := must.Get(time.Parse("2006-01-02 (Monday)", s.Day)).Add(8 * time.Hour); day.After(begins) {
			begins = day
		}
		for i, turn := range s.Turns {
			if strings.TrimSpace(turn.Content) == "" {
				continue // an empty answer
			}
			at := begins.Add(time.Duration(i) * time.Minute)
			speaker := turn.Speaker
			if speaker == "User" {
				speaker = strings.ReplaceAll(person, "_", " ")
			}
			lines = append(lines, line{Type: "memory", User: person, ID: fmt.Sprintf("%s-%d", s.UUID, i), Session: s.UUID,
				Seq: i + 1, Speaker: speaker, Role: strings.ToLower(turn.Speaker), At: &at, Content: turn.Content})
			if !turn.IsQuery || i+1 == len(s.Turns) {
				continue
			}
			if gold := s.Turns[i+1].earlierThan(s.UUID); len(gold) > 0 {
				asked := begins.Add(-time.Second)
				lines = append(lines, line{Type: "question", User: person, Question: turn.Content, GoldSessions: gold,
					At: &asked, Category: turn.Category})
			}
		}
		for i, p := range s.Points {
			lines = append(lines, line{Type: "point", User: person, ID: fmt.Sprintf("%s-point-%d", s.UUID, i), Session: s.UUID,
				Role: strings.ToLower(p.Role), Content: realmemStage.ReplaceAllString(p.Content, "")})
		}
		begins = begins.Add(30 * time.Minute)
	}
	return lines
}

// earlierThan returns the sessions that the answer used, except the one it belongs to.
func (t realmemTurn) earlierThan(session string) []string {
	used := slices.Clone(t.Sessions)
	if len(used) == 0 {
		for _, u := range t.Used {
			used = append(used, u.Session)
		}
	}
	slices.Sort(used)
	return slices.DeleteFunc(slices.Compact(used), func(s string) bool { return s == session || s == "" })
}
