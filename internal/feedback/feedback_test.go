package feedback

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	policies := &Policies{Confidence: 0.6, Agreeing: 2, Certain: 0.9, Penalty: 0.5, Reward: 1.25, Trait: 0.2}
	signals := func(kind string, confidence, share float64, n int) (all []Signal) {
		for range n {
			all = append(all, Signal{ID: uuid.New(), Type: kind, Confidence: confidence, Share: share})
		}
		return all
	}
	lowered, raised := &Adjustment{uuid.New(), 1, 0.5}, &Adjustment{uuid.New(), 1, 1.25}
	for name, c := range map[string]struct {
		trait      bool
		signals    []Signal
		adjustment *Adjustment
		factor     float64
		undo       uuid.UUID
		because    int // signals
	}{
		"nothing":                      {},
		"one":                          {signals: signals("negative", 0.8, 1, 1)},
		"one that is certain":          {signals: signals("negative", 0.95, 1, 1), factor: 0.5, because: 1},
		"certain, about ten":           {signals: signals("negative", 0.95, 0.1, 1)},
		"two":                          {signals: signals("negative", 0.7, 1, 2), factor: 0.5, because: 2},
		"two about ten":                {signals: signals("negative", 0.95, 0.1, 2)},
		"seven about ten":              {signals: signals("negative", 0.95, 0.1, 7), factor: 0.5, because: 7},
		"two that are unsure":          {signals: signals("negative", 0.5, 1, 2)},
		"two neutral":                  {signals: signals("neutral", 0.9, 1, 2)},
		"two for it":                   {signals: signals("positive", 0.7, 1, 2), factor: 1.25, because: 2},
		"two for a trait":              {trait: true, signals: signals("positive", 0.7, 1, 2)},
		"two against a trait":          {trait: true, signals: signals("negative", 0.7, 1, 2), factor: 0.8, because: 2},
		"as many for as against":       {signals: append(signals("negative", 0.7, 1, 2), signals("positive", 0.7, 1, 2)...)},
		"more against":                 {signals: append(signals("negative", 0.7, 1, 3), signals("positive", 0.7, 1, 2)...), factor: 0.5, because: 3},
		"against what was lowered":     {signals: signals("negative", 0.7, 1, 2), adjustment: lowered, factor: 0.5, because: 2},
		"for what was lowered":         {signals: signals("positive", 0.7, 1, 2), adjustment: lowered, undo: lowered.ID, because: 2},
		"against what was raised":      {signals: signals("negative", 0.7, 1, 2), adjustment: raised, undo: raised.ID, because: 2},
		"for a trait that was lowered": {trait: true, signals: signals("positive", 0.7, 1, 2), adjustment: lowered, undo: lowered.ID, because: 2},
		"one against what was raised":  {signals: signals("negative", 0.7, 1, 1), adjustment: raised},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := Decide(Subject{Trait: c.trait, Signals: c.signals, Adjustment: c.adjustment}, policies)
			require.Equal(t, []any{c.factor, c.undo, c.because}, []any{d.Factor, d.Undo, len(d.Signals)})
			require.Equal(t, c.because > 0, d.Cause != "")
		})
	}
}
