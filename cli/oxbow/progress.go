package main

import (
	"fmt"
	"time"

	"github.com/schollz/progressbar/v3"
)

// speakEvery is the interval between progress lines without a terminal. Tests, which may be slow, raise it to an hour.
var speakEvery = 5 * time.Second

// progress shows the progress of a long operation on standard error: as a bar on a terminal, otherwise as a line from
// time to time, so that a short operation writes nothing. Only one goroutine may use it at a time.
type progress struct {
	*app
	bar   *progressbar.ProgressBar
	what  string
	total int64
	done  int64
	spoke time.Time
}

// progress starts showing the progress of an operation. what names the operation ("embed"); total is its size, or 0 if
// unknown.
func (a *app) progress(what string, total int64) *progress {
	p := &progress{app: a}
	p.phase(what, total)
	return p
}

// phase ends the current phase of the operation and begins another, unless it is the same.
func (p *progress) phase(what string, total int64) {
	if p.what == what && p.total == total {
		return
	}
	p.end()
	p.what, p.total, p.done, p.spoke = what, total, 0, time.Now()
	if terminal(p.err) {
		most := total
		if most <= 0 {
			most = -1
		}
		p.bar = progressbar.NewOptions64(most, progressbar.OptionSetWriter(p.err),
			progressbar.OptionSetDescription(what),
			progressbar.OptionShowCount(), progressbar.OptionSetWidth(30), progressbar.OptionClearOnFinish(),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionSetPredictTime(total > 0),
			// Without these codes the library counts bytes and clears more than its line.
			progressbar.OptionUseANSICodes(true))
	}
}

// set sets the amount of work done.
func (p *progress) set(done int64) {
	p.done = done
	switch {
	case p.bar != nil:
		_ = p.bar.Set64(done) // failing to draw the bar is not an error
	case time.Since(p.spoke) >= speakEvery:
		p.spoke = time.Now()
		line := p.what + ": " + thousands(done)
		if p.total > 0 {
			line += " of " + thousands(p.total)
		}
		_, _ = fmt.Fprintln(p.err, line)
	}
}

func (p *progress) add(n int64) { p.set(p.done + n) }

// say writes a line without breaking the bar.
func (p *progress) say(format string, args ...any) {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
	p.app.say(format, args...)
}

// end removes the bar from the terminal. The command reports the result.
func (p *progress) end() {
	if p.bar != nil {
		_ = p.bar.Finish()
		_ = p.bar.Clear()
		p.bar = nil
	}
}
