package eval

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
)

// Setting holds numbers by the keys of a setting.
type Setting map[string]float64

func (s Setting) String() string {
	text, _ := json.Marshal(s) // finite numbers
	return string(text)
}

// Choice is a key of a setting and the values to try.
type Choice struct {
	Key    string
	Values []float64
}

// Mean is the mean of a measure over N questions.
type Mean struct {
	N    int
	Mean float64
}

// Tuning is the result of Tune. The scores are means over the questions of all users.
type Tuning struct {
	Present Setting `json:"present"`
	Best    Setting `json:"best"`
	Before  float64 `json:"before"` // with Present
	After   float64 `json:"after"`  // with Best, on the questions that it was chosen by
	// LeftOut is the score if each user is measured with the setting that is best for the other users; nil with a single
	// user.
	LeftOut *float64 `json:"left_out"`
	Scale   Setting  `json:"scale"` // see Scale
}

// Scale computes unrelated and related of the setting recall from the cosine similarities of questions to memories.
// unrelated is the median of those to memories that are not gold, and related is the upper quartile of those to gold
// memories. Scale returns nil if others or gold is empty, or if related would not be above unrelated.
func Scale(others, gold []float64) Setting {
	if len(others) == 0 || len(gold) == 0 {
		return nil
	}
	quantile := func(all []float64, p float64) float64 {
		return math.Round(100*max(slices.Sorted(slices.Values(all))[int(p*float64(len(all)-1))], 0)) / 100
	}
	s := Setting{"unrelated": quantile(others, 0.5), "related": quantile(gold, 0.75)}
	if s["unrelated"] >= s["related"] {
		return nil
	}
	return s
}

// Tune looks for the setting with the highest score. It tries the values of one key after another, and repeats this until
// no value is better. measure returns the score of each user with a setting; Tune calls it once for each setting.
func Tune(present Setting, choices []Choice, measure func(Setting) (map[string]Mean, error)) (Tuning, error) {
	t := &tuner{choices: choices, measure: measure, known: map[string]map[string]Mean{}}
	users, err := t.ask(present)
	if err != nil {
		return Tuning{}, err
	}
	found := Tuning{Present: present, Before: score(users, "")}
	if found.Best, err = t.search(present, ""); err != nil {
		return Tuning{}, err
	}
	found.After = score(t.known[found.Best.String()], "")
	if len(users) < 2 {
		return found, nil
	}
	leftOut := map[string]Mean{}
	for user := range users {
		chosen, err := t.search(present, user)
		if err != nil {
			return Tuning{}, err
		}
		leftOut[user] = t.known[chosen.String()][user]
	}
	mean := score(leftOut, "")
	found.LeftOut = &mean
	return found, nil
}

type tuner struct {
	choices []Choice
	measure func(Setting) (map[string]Mean, error)
	known   map[string]map[string]Mean // by the text of the setting
}

func (t *tuner) ask(s Setting) (map[string]Mean, error) {
	if known := t.known[s.String()]; known != nil {
		return known, nil
	}
	measured, err := t.measure(s)
	t.known[s.String()] = measured
	return measured, err
}

// search returns the best setting for all users but one.
func (t *tuner) search(from Setting, without string) (Setting, error) {
	measured, err := t.ask(from)
	if err != nil {
		return nil, err
	}
	best, highest := from, score(measured, without)
	for better := true; better; {
		better = false
		for _, c := range t.choices {
			around := best
			for _, value := range c.Values {
				s := maps.Clone(around)
				s[c.Key] = value
				if measured, err = t.ask(s); err != nil {
					return nil, err
				}
				if got := score(measured, without); got > highest {
					best, highest, better = s, got, true
				}
			}
		}
	}
	return best, nil
}

// score returns the mean over the questions of all users but one. It adds in order, so that equal scores are equal.
func score(users map[string]Mean, without string) float64 {
	var sum float64
	var n int
	for _, user := range slices.Sorted(maps.Keys(users)) {
		if user != without {
			sum, n = sum+users[user].Mean*float64(users[user].N), n+users[user].N
		}
	}
	return sum / float64(max(n, 1))
}
