package main

import (
	"fmt"
	"time"

	"github.com/oxbow-memory/oxbow/lab/must"
)

// memdaily is MemDaily of MemSim (arXiv 2409.20163): short Chinese histories, "trajectories", of messages with a question
// each. Only trajectories with odd ids are loaded. As in the set's own memdaily.json, the id is the trajectory's place
// in its file without those whose generation failed. A hundred trajectories share a user, each as a session, so that
// similar memories compete for a question.
var memdaily = set{
	name:   "memdaily",
	url:    "https://github.com/nuster1128/MemSim",
	commit: "db9d5d552d6cb1d859f692eb7e6c0fd6d61d3815",
	convert: func(r *repository) (lines []line) {
		pooled := 0
		for _, kind := range memdailyKinds {
			for _, about := range []string{"roles", "events", "items", "places", "hybrid"} {
				if kind.few && (about == "items" || about == "places") {
					continue
				}
				name := kind.file + "_" + about
				path := "data_generation/final_dataset/messages_and_QAs/" + name + ".json"
				for i, t := range read[trajectories](r, path).valid() {
					if i%2 == 1 {
						user := fmt.Sprintf("pool-%02d", pooled/trajectoriesPerUser+1)
						lines = append(lines, t.lines(user, fmt.Sprintf("%s-%d", name, i), kind.name)...)
						pooled++
					}
				}
			}
		}
		return lines
	},
}

const trajectoriesPerUser = 100

var memdailyKinds = []struct {
	file, name string
	few        bool // without items and places
}{
	{"01_simple", "simple", false}, {"02_conditional", "conditional", false}, {"03_comparative", "comparative", true},
	{"04_aggregative", "aggregative", true}, {"05_post_processing", "post-processing", false}, {"06_noisy", "noisy", false},
}

type trajectory struct {
	Messages []struct {
		ID            int `json:"mid"`
		Message, Time string
	} `json:"message_list"`
	Questions []struct {
		Question, Answer string
		Gold             []int `json:"target_step_id"`
	} `json:"question_list"`
}

type trajectories []trajectory

// valid returns the trajectories whose generation did not fail.
func (all trajectories) valid() (valid []trajectory) {
	for _, t := range all {
		if t.Questions[0].Question != "[ERRORQ]" && t.Questions[0].Answer != "[ERRORA]" {
			valid = append(valid, t)
		}
	}
	return valid
}

func (t trajectory) lines(user, id, category string) (lines []line) {
	message := func(mid int) string { return fmt.Sprintf("%s-%d", id, mid) }
	for _, m := range t.Messages {
		at := chineseTime(m.Time)
		lines = append(lines, line{Type: "memory", User: user, ID: message(m.ID), Session: id, Seq: m.ID + 1, Role: "user",
			At: &at, Content: m.Message})
	}
	gold := []string{}
	for _, mid := range t.Questions[0].Gold {
		gold = append(gold, message(mid))
	}
	return append(lines, line{Type: "question", User: user, Question: t.Questions[0].Question, Gold: gold,
		Category: category})
}

// chineseTime parses 2024年04月01日 周一 08:42, a time in China.
func chineseTime(text string) time.Time {
	var year, month, day, hour, minute int
	var weekday string
	must.Get(fmt.Sscanf(text, "%d年%d月%d日 %s %d:%d", &year, &month, &day, &weekday, &hour, &minute))
	return time.Date(year, time.Month(month), day, hour, minute, 0, 0, time.FixedZone("", 8*60*60))
}
