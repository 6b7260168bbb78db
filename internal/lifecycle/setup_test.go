package lifecycle_test

import (
	"time"

	"github.com/oxbow-memory/oxbow/internal/traittest"
)

// policies applies the rules, those of time too, with the default numbers.
var policies = traittest.Policies

// margin is the least distance of a confidence from 0 and 1.
const margin = 1e-9

func clamp(c float64) float64 { return min(max(c, margin), 1-margin) }

var farthest = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)

func ceilSecond(t time.Time) time.Time { return t.Truncate(time.Second).Add(time.Second) }
