package pages

import (
	"encoding/json"
	"html/template"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow"
)

// profile is what the page of the profile shows.
type profile struct {
	Values      []oxbow.ProfileValue
	Usually     *oxbow.Feeling // nil: nothing is known of how the person felt
	Lately      *oxbow.Feeling
	Moves       []oxbow.Feeling
	Helps       []oxbow.Feeling
	Weeks       template.HTML // "" for less than two weeks
	Predictions []oxbow.Prediction
	OptedOut    bool
}

// ahead is how far the page of the profile looks.
const ahead = 7 * 24 * time.Hour

// profile shows what apps keep about a person, how the person felt, and what is likely next.
func (s *Site) profile(v *visit) error {
	var p profile
	ctx, user := v.Context(), v.session.UserID
	settings, err := s.settingsOf(v)
	if err != nil {
		return err
	}
	p.OptedOut = settings.OptedOut
	if p.Values, err = s.Client.Profile(ctx, user); err != nil {
		return err
	}
	feelings, err := s.Client.EmotionProfile(ctx, user, time.Time{})
	if err != nil {
		return err
	}
	var weeks []oxbow.Feeling
	for _, f := range feelings {
		switch f.Aspect {
		case "baseline":
			p.Usually = &f
		case "mood":
			p.Lately = &f
		case "trigger":
			p.Moves = append(p.Moves, f)
		case "calms":
			p.Helps = append(p.Helps, f)
		case "week":
			weeks = append(weeks, f)
		}
	}
	p.Weeks = v.weeks(weeks)
	now := time.Now()
	if p.Predictions, err = s.Client.Predict(ctx, user, now, now.Add(ahead), pageSize); err != nil {
		return err
	}
	return v.render("profile", p)
}

// removeValue deletes a value that an app keeps about the person, and ends the facts that it became.
func (s *Site) removeValue(v *visit) error {
	if _, err := s.Client.SetValue(v.Context(), v.session.UserID, v.value("key"), nil); err != nil {
		return err
	}
	return v.redirect("/profile", "value_removed")
}

// weeks draws the valence of weeks, of which the latest comes first.
func (v *visit) weeks(weeks []oxbow.Feeling) template.HTML {
	if len(weeks) < 2 {
		return ""
	}
	p := view{words: v.words, v: v}
	var line chartLine
	for _, w := range slices.Backward(weeks) {
		at, _ := time.ParseInLocation(time.DateOnly, w.Name, v.zone) // the database's format
		line.dots = append(line.dots, chartPoint{at, (w.Valence + 1) / 2, p.T("week_of", p.Date(at), p.Feeling(w.Valence))})
	}
	line.parts = [][]chartPoint{line.dots}
	first, latest := line.dots[0], line.dots[len(line.dots)-1]
	c := chart{id: "weeks", title: p.T("weeks_title"), max: 1, from: first.at, to: latest.at, date: p.Date,
		lines: []chartLine{line}, text: p.T("weeks_text", first.name, latest.name),
		levels: []chartLevel{{0, ""}, {0.5, ""}, {1, ""}},
		value:  func(v float64) string { return p.T([]string{"valence_low", "valence_even", "valence_good"}[int(2*v)]) }}
	return c.svg()
}

// The methods below are for templates.

// Feeling describes a valence, with the bounds of oxbow.emotion_line.
func (p *view) Feeling(valence float64) string {
	switch {
	case valence > 0.2:
		return p.T("feeling_good")
	case valence < -0.2:
		return p.T("feeling_low")
	}
	return p.T("feeling_even")
}

// Latest returns the path of the latest of some memories, "" without one.
func (p *view) Latest(ids []uuid.UUID) string {
	if len(ids) == 0 {
		return ""
	}
	return "/memories/" + ids[0].String()
}

// Span formats the likeliest day and hours of a prediction.
func (p *view) Span(from, to time.Time) string {
	if math.Abs(to.Sub(from).Minutes()) < 1 {
		return p.Minute(from)
	}
	return p.Minute(from) + "–" + to.In(p.v.zone).Format("15:04")
}

// Plain formats a value in JSON for people: a text without quotes, and lists with commas.
func (p *view) Plain(value json.RawMessage) string {
	var list []json.RawMessage
	if json.Unmarshal(value, &list) == nil && list != nil {
		parts := make([]string, len(list))
		for i, item := range list {
			parts[i] = p.Plain(item)
		}
		return strings.Join(parts, p.T("list_comma"))
	}
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}
