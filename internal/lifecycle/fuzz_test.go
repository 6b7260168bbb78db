package lifecycle_test

import (
	"encoding/binary"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
)

// decode decodes events of eleven bytes each: kind, time, factor, confidence, count, subtype and
// window.
func decode(data []byte) []lifecycle.Event {
	const size = 11
	// Values that no computation yields, but that somebody may have written by hand.
	odd := []float64{0, math.NaN(), math.Inf(1), math.Inf(-1), -1, 1, 5e-324, math.MaxFloat64}
	number := func(b uint16) float64 {
		if b < uint16(len(odd)) {
			return odd[b]
		}
		return float64(b) / math.MaxUint16
	}
	now := start
	var events []lifecycle.Event
	for ; len(data) >= size && len(events) < 500; data = data[size:] {
		moment := binary.BigEndian.Uint16(data[1:3])
		switch {
		case moment == 0:
			now = time.Time{}
		case moment == 1:
			now = time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
		case moment < 1<<14: // backwards by minutes
			now = now.Add(-time.Duration(moment) * time.Minute)
		case moment < 1<<15: // no time, or milliseconds
			now = now.Add(time.Duration(moment-1<<14) * time.Millisecond)
		case now.Year() < 9000: // up to ninety years
			now = now.Add(time.Duration(moment-1<<15) * 24 * time.Hour)
		}
		e := lifecycle.Event{
			Kind: kinds[int(data[0])%len(kinds)], At: now, Factor: number(binary.BigEndian.Uint16(data[3:5])),
			Sets: number(binary.BigEndian.Uint16(data[5:7])), Count: int(data[7]),
			Subtype: subtypes[int(data[8])%len(subtypes)],
		}
		if e.Kind == lifecycle.Created && data[9]%2 == 0 {
			e.Sets, e.WindowEnd = 0, now.Add(time.Duration(data[10])*24*time.Hour)
		}
		if data[9]%3 == 0 && e.Kind != lifecycle.Edited && e.Kind != lifecycle.Revived {
			e.Sets = 0
		}
		events = append(events, e)
	}
	return events
}

func FuzzReplay(f *testing.F) {
	day := func(n uint16) (byte, byte) { n += 1 << 15; return byte(n >> 8), byte(n) }
	event := func(kind byte, days uint16, factor, sets, form byte) []byte {
		hi, lo := day(days)
		return []byte{kind, hi, lo, factor, 8, sets, 8, 1, 0, form, 30}
	}
	var life []byte // a trend that is promoted, reinforced, contradicted, forgotten and revived
	for _, e := range [][]byte{event(0, 0, 0, 0, 0), event(1, 9, 38, 0, 3), event(1, 9, 38, 0, 3),
		event(3, 0, 0, 77, 1), event(1, 40, 64, 0, 3),
		event(2, 90, 90, 0, 3), event(4, 0, 0, 60, 1), event(7, 300, 0, 0, 3), event(8, 400, 0, 0, 3),
		event(9, 50, 0, 51, 1), event(10, 3, 5, 0, 3)} {
		life = append(life, e...)
	}
	f.Add(life)
	f.Add([]byte{})
	// No trait, NaN, the year 1.
	f.Add([]byte{1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0})
	// Created in the year 9999, reinforced in the year 1.
	f.Add([]byte{0, 0, 1, 0, 0, 200, 0, 0, 2, 1, 0, 1, 0, 0, 0, 2, 0, 0, 255, 1, 3, 0})
	// Created in the year 1, read in the year 9999.
	f.Add([]byte{0, 0, 0, 0, 0, 153, 153, 0, 1, 1, 0, 7, 0, 1, 0, 0, 0, 0, 0, 0, 3, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		events := decode(data)
		var s lifecycle.State
		for _, e := range events {
			s = policies.Apply(s, e)
			if s.Stage == "" {
				require.Zero(t, s)
				continue
			}
			requireSound(t, s)
			if next := policies.NextTransition(s); s.Stage != lifecycle.Trend && s.Stage != lifecycle.Dissolved &&
				next.Year() < 9999 {
				_, due := policies.Follow(s, next)
				require.True(t, due)
			}
			if due, ok := policies.Follow(s, e.At); ok {
				requireSound(t, policies.Apply(s, due))
			}
		}
		require.Equal(t, s, policies.Replay(events))

		// At the same time, reinforcements may come in any order, and so may contradictions.
		for i := 1; i < len(events); i++ {
			a, b := events[i-1], events[i]
			if a.Kind == b.Kind && (a.Kind == lifecycle.Reinforced || a.Kind == lifecycle.Contradicted) &&
				a.At.Equal(b.At) && !(a.Sets > 0) && !(b.Sets > 0) {
				events[i-1], events[i] = b, a
			}
		}
		other := policies.Replay(events)
		require.InDelta(t, s.Confidence, other.Confidence, 1e-6)
		require.True(t, s.At.Equal(other.At))
		require.Equal(t, []int{s.Reinforcements, s.Contradictions}, []int{other.Reinforcements, other.Contradictions})
	})
}
