package traittest

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"regexp"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/migrations"
)

// Model applies the rules of traits, including those of time. In Oxbow, the database applies the
// rules of time (sql/code/076_lifecycle.sql); the model is what tests compare it with.
type Model struct{ *lifecycle.Policies }

// Policies is the model with the default policies.
var Policies = func() (m Model) {
	if err := json.Unmarshal(defaults(), &m.Policies); err != nil {
		panic(err)
	}
	return m
}()

var definition = regexp.MustCompile(`(?m)^  \('trait_(\w+)', ([0-9.]+),`)

// defaults returns the defaults of the policies named trait_… in the migrations, as JSON.
func defaults() []byte {
	text, err := fs.ReadFile(migrations.FS, "001_settings.sql")
	if err != nil {
		panic(err) // the file is embedded
	}
	var values []string
	for _, m := range definition.FindAllStringSubmatch(string(text), -1) {
		values = append(values, fmt.Sprintf("%q: %s", m[1], m[2]))
	}
	return []byte("{" + strings.Join(values, ", ") + "}")
}

// Rate returns the decay per day: λ = base / (1 + spacing · n), where n is the number of cycles
// that reinforced the trait (C §4.2, the spacing effect). A negative n counts as 0, an unknown
// subtype as a behavior.
func (m Model) Rate(s lifecycle.Subtype, n int) float64 {
	base := m.DecayBehavior
	switch s {
	case lifecycle.Preference:
		base = m.DecayPreference
	case lifecycle.CoreTrait:
		base = m.DecayCore
	}
	return base / (1 + m.Spacing*float64(max(n, 0)))
}

// Decay returns a confidence after a time: c · exp(−λ · days) (C §4.2). A negative time counts as
// 0.
func (m Model) Decay(c float64, s lifecycle.Subtype, n int, elapsed time.Duration) float64 {
	return m.decay(c, s, n, elapsed.Seconds())
}

const day = 24 * 60 * 60 // seconds

// decay takes seconds because a time.Duration is limited to 292 years. The factor is at least
// exp(−700), below which PostgreSQL reports an underflow.
func (m Model) decay(c float64, s lifecycle.Subtype, n int, seconds float64) float64 {
	return c * math.Exp(max(-m.Rate(s, n)*max(seconds, 0)/day, -700))
}

func secondsBetween(from, to time.Time) float64 {
	return float64(to.Unix()-from.Unix()) + float64(to.Nanosecond()-from.Nanosecond())/1e9
}

// ConfidenceAt returns the confidence decayed to now. It does not decay before At.
func (m Model) ConfidenceAt(s lifecycle.State, now time.Time) float64 {
	return m.decay(s.Confidence, s.Subtype, s.Reinforcements, secondsBetween(s.At, now))
}

// At returns the state with its confidence decayed to now.
func (m Model) At(s lifecycle.State, now time.Time) lifecycle.State {
	s.Confidence = m.ConfidenceAt(s, now)
	return s
}

// StageAt returns the stage at now, considering time alone.
func (m Model) StageAt(s lifecycle.State, now time.Time) lifecycle.Stage {
	return m.Policies.StageAt(m.At(s, now), now)
}

// Follow returns the event that the rules require at now.
func (m Model) Follow(s lifecycle.State, now time.Time) (e lifecycle.Event, ok bool) {
	return m.Policies.Follow(m.At(s, now), now)
}

// Apply returns the state after an event.
func (m Model) Apply(s lifecycle.State, e lifecycle.Event) lifecycle.State {
	return m.Policies.Apply(m.At(s, e.At), e)
}

// Replay returns the state after a sequence of events. Without events it returns the zero State.
func (m Model) Replay(events []lifecycle.Event) (s lifecycle.State) {
	for _, e := range events {
		s = m.Apply(s, e)
	}
	return s
}

// farthest is the latest transition time. Later ones are reported as farthest.
var farthest = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

// NextTransition returns when time alone changes the stage of a trait: at the end of a trend's
// window, or when the confidence decays past the next stage boundary or below DissolveBelow. The
// boundary has been passed by the returned time, a full second that is at most two seconds late.
// Times after the year 9999 become that year's last day. NextTransition returns the zero time for
// a dissolved trait, a trend without an end, and the zero State.
func (m Model) NextTransition(s lifecycle.State) time.Time {
	switch s.Stage {
	case lifecycle.Dissolved, "":
		return time.Time{}
	case lifecycle.Trend:
		return s.WindowEnd
	}
	boundary := m.DissolveBelow
	for _, b := range []float64{m.CoreAbove, m.EstablishedMin, m.CandidateMax} {
		// CandidateMax and CoreAbove belong to the lower stage, EstablishedMin to the higher one.
		if s.Confidence > b || (b == m.EstablishedMin && s.Confidence == b) {
			boundary = b
			break
		}
	}
	if s.Confidence < boundary {
		return ceilSecond(s.At) // already too weak
	}
	at := m.after(s, math.Log(s.Confidence/boundary))
	if m.StageAt(s, at) == m.StageOf(s.Confidence) {
		// Decay is so slow that rounding keeps the confidence at the boundary. Add slightly more
		// than the error of log and exp.
		at = m.after(s, math.Log(s.Confidence/boundary)+4e-15)
	}
	return at
}

// after returns when the confidence has decayed by a factor of exp(−exponent), at the latest
// farthest.
func (m Model) after(s lifecycle.State, exponent float64) time.Time {
	seconds := math.Ceil(exponent / m.Rate(s.Subtype, s.Reinforcements) * day)
	if seconds > secondsBetween(s.At, farthest) {
		if s.At.Before(farthest) {
			return farthest
		}
		return ceilSecond(s.At)
	}
	return ceilSecond(time.Unix(s.At.Unix()+int64(seconds), int64(s.At.Nanosecond())).In(s.At.Location()))
}

// ceilSecond rounds up to the next full second, even from a full second.
func ceilSecond(t time.Time) time.Time { return t.Truncate(time.Second).Add(time.Second) }
