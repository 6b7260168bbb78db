package worker

import (
	"context"
	"log/slog"
	"regexp"
	"sync"
	"time"
)

const (
	// calmAfter is how many warnings and errors that differ only in numbers are logged in a calmPeriod.
	calmAfter  = 20
	calmPeriod = time.Minute
	// calmTexts bounds the memory.
	calmTexts = 1000
)

// calmLog is a log handler that leaves out warnings and errors that repeat, such as those about a database that is
// down. The first of the next period says how many were left out.
type calmLog struct {
	slog.Handler
	*repeated
}

type repeated struct {
	mu     sync.Mutex
	counts map[string]*repeats // by message and error, without numbers
}

// repeats counts records since a time.
type repeats struct {
	since time.Time
	n     int
}

var digits = regexp.MustCompile(`[0-9a-fA-F-]*[0-9][0-9a-fA-F-]*`)

func (h calmLog) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		text := r.Message
		r.Attrs(func(a slog.Attr) bool {
			if a.Key == "error" || a.Key == "err" || a.Key == "kind" {
				text += " " + a.Value.String()
			}
			return true
		})
		log, left := h.count(digits.ReplaceAllString(text, ""), r.Time)
		if !log {
			return nil
		}
		if left > 0 {
			r = r.Clone()
			r.AddAttrs(slog.Int("left_out", left))
		}
	}
	return h.Handler.Handle(ctx, r)
}

// count counts a record, and reports whether to log it and how many like it were left out in the period before.
func (r *repeated) count(text string, at time.Time) (log bool, left int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := r.counts[text]
	if seen == nil || at.Sub(seen.since) > calmPeriod {
		if seen != nil {
			left = max(0, seen.n-calmAfter)
		}
		if len(r.counts) >= calmTexts || r.counts == nil {
			r.counts = map[string]*repeats{}
		}
		seen = &repeats{since: at}
		r.counts[text] = seen
	}
	seen.n++
	return seen.n <= calmAfter, left
}

func (h calmLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return calmLog{h.Handler.WithAttrs(attrs), h.repeated}
}
func (h calmLog) WithGroup(name string) slog.Handler {
	return calmLog{h.Handler.WithGroup(name), h.repeated}
}
