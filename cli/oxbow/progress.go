package main

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// speakEvery is how often progress is told where there is no terminal. Tests, which may be slow, are not told of it.
var speakEvery = 5 * time.Second

// progress shows on standard error how far long work is: as a bar on a terminal, elsewhere as a line now and then, so
// that short work says nothing. It may be used by one goroutine at a time.
type progress struct {
	out   io.Writer
	bar   *progressbar.ProgressBar
	what  string
	total int64
	done  int64
	spoke time.Time
}

// progress begins to show work; what says which ("embed"), total how much of it there is, 0 if that is not known.
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
			// without these codes it counts bytes, and clears more than its line
			progressbar.OptionUseANSICodes(true))
	}
	return p
}

// set says how much is done.
func (p *progress) set(done int64) {
	p.done = done
	switch {
	case p.bar != nil:
		_ = p.bar.Set64(done) // a bar that cannot be drawn stops nothing
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

// end takes the bar off the terminal; what came of the work is the command's to say.
func (p *progress) end() {
	if p.bar != nil {
		_ = p.bar.Finish()
		_ = p.bar.Clear()
	}
}

// say writes a line for a person, who is not the reader of the output, to standard error.
func (a *app) say(format string, args ...any) {
	_, _ = fmt.Fprintf(a.err, format+"\n", args...)
}

// thousands writes 31439 as 31,439.
func thousands(n int64) string {
	if n < 0 {
		return "-" + thousands(-n)
	}
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

// count writes a number with its noun: 1 memory, 2 memories.
func count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return thousands(n) + " " + many
}
