package main

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// speakEvery is the interval between progress lines without a terminal. Tests, which may be slow,
// raise it to an hour.
var speakEvery = 5 * time.Second

// progress shows the progress of long work on standard error: as a bar on a terminal, otherwise as
// a line from time to time, so that short work writes nothing. Only one goroutine may use it at a
// time.
type progress struct {
	out   io.Writer
	bar   *progressbar.ProgressBar
	what  string
	total int64
	done  int64
	spoke time.Time
}

// progress starts showing the progress of work. what names the work ("embed"); total is its size,
// or 0 if unknown.
func (a *app) progress(what string, total int64) *progress {
	p := &progress{out: a.err, what: what, total: total, spoke: time.Now()}
	if terminal(a.err) {
		most := total
		if most <= 0 {
			most = -1
		}
		p.bar = progressbar.NewOptions64(most, progressbar.OptionSetWriter(a.err), progressbar.OptionSetDescription(what),
			progressbar.OptionShowCount(), progressbar.OptionSetWidth(30), progressbar.OptionClearOnFinish(),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionSetPredictTime(total > 0),
			// Without these codes the library counts bytes and clears more than its line.
			progressbar.OptionUseANSICodes(true))
	}
	return p
}

// set sets the amount of work done.
func (p *progress) set(done int64) {
	p.done = done
	switch {
	case p.bar != nil:
		_ = p.bar.Set64(done) // failing to draw the bar is not an error
	case time.Since(p.spoke) >= speakEvery:
		p.spoke = time.Now()
		if p.total > 0 {
			_, _ = fmt.Fprintf(p.out, "%s: %s of %s\n", p.what, thousands(done), thousands(p.total))
			return
		}
		_, _ = fmt.Fprintf(p.out, "%s: %s\n", p.what, thousands(done))
	}
}

func (p *progress) add(n int64) { p.set(p.done + n) }

// say writes a line without breaking the bar.
func (p *progress) say(line string) {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
	_, _ = fmt.Fprintln(p.out, line)
}

// end removes the bar from the terminal. The command reports the result of the work.
func (p *progress) end() {
	if p.bar != nil {
		_ = p.bar.Finish()
		_ = p.bar.Clear()
	}
}

// say writes a line for a person to standard error, apart from the output.
func (a *app) say(format string, args ...any) {
	_, _ = fmt.Fprintf(a.err, format+"\n", args...)
}

// thousands formats 31439 as 31,439.
func thousands(n int64) string {
	if n < 0 {
		return "-" + thousands(-n)
	}
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

// count formats a number with its noun: 1 memory, 2 memories.
func count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return thousands(n) + " " + many
}
