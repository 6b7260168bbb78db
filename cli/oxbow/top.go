package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/clipperhouse/displaywidth"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/oxbow-memory/oxbow/internal/gauges"
	"github.com/oxbow-memory/oxbow/internal/oneline"
)

func topCommand(a *app) *cobra.Command {
	every := time.Second
	var once bool
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Monitor the queue, the workers and the providers",
		Long: `Monitor the queue by job kind, throughput and duration, the longest running jobs, the latest failures, and the
jobs that wait for a provider. Press Ctrl-C to quit. With --once, or if standard output is not a terminal,
print one screen.

Each refresh runs a few short queries of constant cost: jobs are counted up to 100,000 per state, and the
numbers of memories and users are PostgreSQL's estimates. Requires the owner of the schema or a member of
oxbow_worker.`,
	}
	durationFlag(cmd.Flags(), &every, "every", 100*time.Millisecond, "refresh interval")
	cmd.Flags().BoolVar(&once, "once", false, "print one screen and exit")
	cmd.RunE = a.asOperator(func(ctx context.Context, d *database, _ []string) error {
		if once || !terminal(d.out) {
			return d.topOnce(ctx)
		}
		return d.topLive(ctx, every)
	})
	return cmd
}

// topOnce takes two readings, because rates are differences between readings.
func (d *database) topOnce(ctx context.Context) error {
	before, err := gauges.ReadPulse(ctx, d.pool, gauges.PulsePeriod)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Second):
	}
	now, err := gauges.ReadPulse(ctx, d.pool, gauges.PulsePeriod)
	if err != nil {
		return err
	}
	printPulse(d.out, d.pool.Config().ConnConfig.Database, before, now)
	return nil
}

// Control sequences of terminals.
const (
	enterScreen  = "\x1b[?1049h\x1b[?25l" // alternate screen, without a cursor
	leaveScreen  = "\x1b[?25h\x1b[?1049l"
	cursorHome   = "\x1b[H"
	clearLineEnd = "\x1b[K"
	clearBelow   = "\x1b[J"
	newLine      = clearLineEnd + "\r\n"
)

// topLive redraws the screen until it is interrupted.
func (d *database) topLive(ctx context.Context, every time.Duration) error {
	_, _ = io.WriteString(d.out, enterScreen)
	defer func() { _, _ = io.WriteString(d.out, leaveScreen) }()

	var before gauges.Pulse
	for {
		now, err := gauges.ReadPulse(ctx, d.pool, gauges.PulsePeriod)
		if ctx.Err() != nil {
			return nil // ended by the user
		}
		var screen bytes.Buffer
		if err == nil {
			printPulse(&screen, d.pool.Config().ConnConfig.Database, before, now)
			before = now
		} else { // PostgreSQL may be restarting: try again
			_, _ = fmt.Fprintf(&screen, "%s\n", sentence(err))
		}
		d.draw(screen.String())
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(every):
		}
	}
}

// draw replaces the screen in one write, so that it does not flicker. It cuts what does not fit.
func (a *app) draw(screen string) {
	columns, lines := 80, 24
	if f, ok := a.out.(*os.File); ok {
		if w, h, err := term.GetSize(int(f.Fd())); err == nil && w > 0 && h > 0 {
			columns, lines = w, h
		}
	}
	shown := strings.Split(strings.TrimRight(screen, "\n"), "\n")
	shown = shown[:min(len(shown), lines)]
	for i, line := range shown {
		shown[i] = displaywidth.TruncateString(line, columns, "…")
	}
	_, _ = io.WriteString(a.out, cursorHome+strings.Join(shown, newLine)+clearLineEnd+clearBelow)
}

// printPulse writes one screen. Rates are computed between two readings; before may be the zero value.
func printPulse(w io.Writer, name string, before, now gauges.Pulse) {
	printf := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }
	workers := count(now.Workers, "worker")
	if !now.Led {
		workers += ", no leader"
	}
	memories := "~" + thousands(now.Of("memories").Live)
	if now.Users >= 0 {
		memories += " of ~" + thousands(now.Users) + " users"
	}
	printf("oxbow top   %s   %s   %s\n", name, now.At.Format("15:04:05"), workers)
	printf("memories    %s; %s stored, %s embedded, %s messages per second\n", memories,
		rate(before, now, "memories"), rate(before, now, "memory_vectors"), rate(before, now, "messages"))
	printf("waiting     %s\n", waitingLine(now))
	printf("providers   %s\n", providersLine(now))
	if now.TransactionSeconds > 60 {
		printf("attention   a transaction has been open for %s and holds back vacuum\n", age(now.TransactionSeconds))
	}
	printf("\n")
	queueTable(w, now).print()
	if len(now.Running) > 0 {
		printf("\n")
		t := newTable(w, time.UTC, "running", "kind", "#attempt", "#for")
		for _, j := range now.Running {
			t.add(fmt.Sprint(j.ID), j.Kind, fmt.Sprint(j.Attempt), age(j.Seconds))
		}
		t.print()
	}
	if len(now.Failed) == 0 {
		return
	}
	printf("\n")
	t := newTable(w, time.UTC, "failed", "kind", "state", "#attempt", "#ago", "~error")
	t.lines = 1
	for _, j := range now.Failed {
		t.add(fmt.Sprint(j.ID), j.Kind, j.State, fmt.Sprint(j.Attempt), age(j.Seconds), oneline.Shorten(j.Error, 300))
	}
	t.print()
}

// capped formats a count that may have stopped at its limit.
func capped(n int64) string {
	if n >= gauges.Limit {
		return thousands(n) + "+"
	}
	return thousands(n)
}

// waitingLine describes the work that waits for workers, and since when.
func waitingLine(now gauges.Pulse) string {
	var parts []string
	if s := now.EmbedSeconds(); s > 0 {
		parts = append(parts, "memories to embed, for "+age(s))
	}
	if now.Inbox > 0 {
		parts = append(parts, fmt.Sprintf("%s to reflect on, for %s", capped(now.Inbox), age(now.InboxSeconds)))
	}
	if now.Messages > 0 {
		parts = append(parts, "messages to extract: "+capped(now.Messages))
	}
	if now.FailingMessages > 0 {
		parts = append(parts, "of these failed: "+thousands(now.FailingMessages))
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, "; ")
}

// rate returns the rows per second inserted into a table between two readings.
func rate(before, now gauges.Pulse, table string) string {
	seconds := now.At.Sub(before.At).Seconds()
	if before.At.IsZero() || seconds <= 0 {
		return "…"
	}
	return perSecond(float64(now.Of(table).Inserted-before.Of(table).Inserted) / seconds)
}

func perSecond(n float64) string {
	n = max(n, 0) // the statistics were reset
	if n > 0 && n < 10 {
		return fmt.Sprintf("%.1f", n)
	}
	return thousands(int64(n + 0.5))
}

// providersLine describes the providers' state as far as the database shows it: jobs waiting for them, and a language
// model's last calls.
func providersLine(now gauges.Pulse) string {
	line := "embedding with " + now.Model.Model
	var waiting int64
	for _, q := range now.Queue {
		if q.Kind == "embed" {
			waiting += q.PutOff
		}
	}
	if waiting > 0 {
		line = fmt.Sprintf("%s: put off until it answers, or a worker uses it: %s", now.Model, count(waiting, "job"))
	}
	if now.Reasoner != nil {
		line += "; " + reasonerLine(*now.Reasoner, now.At)
	}
	return line
}

// queueTable returns a table with a row for each job kind that has jobs to show.
func queueTable(w io.Writer, now gauges.Pulse) *table {
	t := newTable(w, time.UTC, "jobs", "#waiting", "#running", "#later", "#retryable", "#discarded", "#oldest due",
		"#done/s", "#took")
	for _, k := range now.Kinds() {
		row := []any{k.Kind}
		for _, state := range []string{"available", "running", "scheduled", "retryable", "discarded"} {
			row = append(row, capped(k.Jobs[state]))
		}
		due, rate, took := "", "", ""
		if k.DueSeconds > 0 {
			due = age(k.DueSeconds)
		}
		if k.PerSecond > 0 {
			rate, took = perSecond(k.PerSecond), milliseconds(k.LagSeconds)
		}
		t.add(append(row, due, rate, took)...)
	}
	if len(t.rows) == 0 {
		t.add("none", 0, 0, 0, 0, 0, "", "", "")
	}
	return t
}

// milliseconds formats a short time.
func milliseconds(seconds float64) string {
	if seconds < 1 {
		return fmt.Sprintf("%.0f ms", seconds*1000)
	}
	return age(seconds)
}
