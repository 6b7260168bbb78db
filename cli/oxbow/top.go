package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/clipperhouse/displaywidth"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/oxbow-memory/oxbow/internal/gauges"
	"github.com/oxbow-memory/oxbow/store"
)

func newTopCommand(a *app) *cobra.Command {
	var every time.Duration
	var once bool
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Watch the queue, the workers and the providers, live",
		Long: `Watch the queue by kind, how much is done a second and how long it takes, the jobs that run longest, the latest failures,
and what waits for a provider. q or Ctrl-C ends it. Where standard output is no terminal, or with --once, one picture is
printed.

Each picture takes a few short statements that cost the same however much there is: states are counted up to 100,000 jobs,
memories and users are PostgreSQL's estimates. It is for the owner of the schema and members of oxbow_worker.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if every < 100*time.Millisecond {
				return usagef("--every %s is too short: it must be 100ms or more", every)
			}
			d, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer d.close()
			if err := seeAll(cmd.Context(), d.pool, "oxbow top"); err != nil {
				return err
			}
			if once || !terminal(a.out) {
				return a.topOnce(cmd.Context(), d)
			}
			return a.topLive(cmd.Context(), d, every)
		},
	}
	cmd.Flags().DurationVar(&every, "every", time.Second, "how often the picture is renewed")
	cmd.Flags().BoolVar(&once, "once", false, "print one picture and end")
	return cmd
}

// topOnce takes two readings, because rates are differences between readings.
func (a *app) topOnce(ctx context.Context, d *database) error {
	before, err := gauges.ReadPulse(ctx, d.pool)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Second):
	}
	now, err := gauges.ReadPulse(ctx, d.pool)
	if err != nil {
		return err
	}
	return a.printPulse(a.out, d.pool.Config().ConnConfig.Database, before, now)
}

// Control sequences of terminals.
const (
	otherScreen   = "\x1b[?1049h\x1b[?25l" // alternate screen, without a cursor
	formerScreen  = "\x1b[?25h\x1b[?1049l"
	toTop         = "\x1b[H"
	clearLineEnd  = "\x1b[K"
	clearRest     = "\x1b[J"
	newLineInRaw  = clearLineEnd + "\r\n"
	interruptByte = 3
)

// topLive redraws the screen until q, Ctrl-C or a signal.
func (a *app) topLive(ctx context.Context, d *database, every time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	restore := a.watchKeys(cancel)
	defer restore()
	_, _ = io.WriteString(a.out, otherScreen)
	defer func() { _, _ = io.WriteString(a.out, formerScreen) }()

	var before gauges.Pulse
	for {
		now, err := gauges.ReadPulse(ctx, d.pool)
		if ctx.Err() != nil {
			return nil // ended by the user
		}
		var picture bytes.Buffer
		if err == nil {
			err = a.printPulse(&picture, d.pool.Config().ConnConfig.Database, before, now)
			before = now
		}
		if err != nil { // PostgreSQL may be restarting: try again
			picture.Reset()
			_, _ = fmt.Fprintf(&picture, "%s\n", printable(sentence(err)))
		}
		a.draw(picture.String())
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(every):
		}
	}
}

// watchKeys reads single keys if a keyboard exists, and returns a function that restores the
// terminal.
func (a *app) watchKeys(stop func()) (restore func()) {
	in, ok := a.in.(*os.File)
	if !ok || !terminal(in) {
		return func() {}
	}
	before, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return func() {} // Ctrl-C still ends top
	}
	go func() {
		key := make([]byte, 1)
		for {
			if n, err := in.Read(key); err != nil || (n == 1 && (key[0] == 'q' || key[0] == 'Q' || key[0] == interruptByte)) {
				stop()
				return
			}
		}
	}()
	return func() { _ = term.Restore(int(in.Fd()), before) }
}

// draw replaces the screen's contents in one write, so that it does not flicker. It cuts what does
// not fit.
func (a *app) draw(picture string) {
	columns, lines := 80, 24
	if f, ok := a.out.(*os.File); ok {
		if w, h, err := term.GetSize(int(f.Fd())); err == nil && w > 0 && h > 0 {
			columns, lines = w, h
		}
	}
	shown := strings.Split(strings.TrimRight(picture, "\n"), "\n")
	shown = shown[:min(len(shown), lines)]
	var out strings.Builder
	out.WriteString(toTop)
	for i, line := range shown {
		out.WriteString(displaywidth.TruncateString(line, columns, "…"))
		if i < len(shown)-1 {
			out.WriteString(newLineInRaw)
		}
	}
	out.WriteString(clearLineEnd + clearRest)
	_, _ = io.WriteString(a.out, out.String())
}

// queueColumns are the job states that top shows.
var queueColumns = []string{"available", "running", "scheduled", "retryable", "discarded"}

// printPulse writes one screen. Rates are computed between two readings; before may be the zero
// value.
func (a *app) printPulse(w io.Writer, name string, before, now gauges.Pulse) error {
	printf := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }
	printf("oxbow top   %s   %s   %s\n", name, now.At.Format("15:04:05"), workersLine(now))
	printf("memories    %s%s; %s stored, %s embedded, %s messages a second\n", about(now.Of("memories").Live), usersLine(now.Users),
		rate(before, now, "memories"), rate(before, now, "memory_vectors"), rate(before, now, "messages"))
	printf("waiting     %s\n", waitingLine(now))
	printf("providers   %s\n", providersLine(now))
	if now.TransactionSeconds > 60 {
		printf("attention   a transaction is open for %s: it holds back vacuum\n", age(now.TransactionSeconds))
	}
	printf("\n")
	if err := queueTable(now).print(w); err != nil {
		return err
	}
	if len(now.Running) > 0 {
		printf("\n")
		t := newTable("running", "kind", "#attempt", "#for")
		for _, j := range now.Running {
			t.add(fmt.Sprint(j.ID), j.Kind, fmt.Sprint(j.Attempt), age(j.Seconds))
		}
		if err := t.print(w); err != nil {
			return err
		}
	}
	if len(now.Failed) > 0 {
		printf("\n")
		t := newTable("failed", "kind", "state", "#attempt", "#ago", "~error")
		t.lines = 1
		for _, j := range now.Failed {
			t.add(fmt.Sprint(j.ID), j.Kind, j.State, fmt.Sprint(j.Attempt), age(j.Seconds), printable(store.Shorten(j.Error, 300)))
		}
		return t.print(w)
	}
	return nil
}

func workersLine(now gauges.Pulse) string {
	line := counted(int(now.Workers), "worker", "workers")
	if !now.Led {
		line += ", none leads"
	}
	return line
}

func usersLine(users int64) string {
	if users < 0 {
		return ""
	}
	return " of " + about(users) + " users"
}

// about formats an estimate.
func about(n int64) string { return "~" + thousands(n) }

func plural(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// capped formats a count that may have stopped at its limit.
func capped(n int64) string {
	if n >= gauges.Limit {
		return thousands(n) + "+"
	}
	return thousands(n)
}

// waitingLine describes what is waiting for workers, and since when.
func waitingLine(now gauges.Pulse) string {
	var parts []string
	if s := now.EmbedSeconds(); s > 0 {
		parts = append(parts, "memories to be embedded, for "+age(s))
	}
	if now.Inbox > 0 {
		parts = append(parts, fmt.Sprintf("%s to be reflected on, for %s", capped(now.Inbox), age(now.InboxSeconds)))
	}
	if now.Messages > 0 {
		parts = append(parts, capped(now.Messages)+plural(now.Messages, " message", " messages")+" to be extracted")
	}
	if now.FailingMessages > 0 {
		parts = append(parts, thousands(now.FailingMessages)+" of them failed")
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

// providersLine describes the providers' state as far as the database shows it: jobs waiting for
// them, and a language model's last calls.
func providersLine(now gauges.Pulse) string {
	line := now.Model.Model + " embeds"
	var putOff int64
	for _, q := range now.Queue {
		if q.Kind == "embed" {
			putOff += q.PutOff
		}
	}
	if putOff > 0 {
		line = fmt.Sprintf("%s: %s put off, until it answers", now.Model.Model, count(putOff, "job is", "jobs are"))
	}
	if now.Reasoner != nil {
		line += "; " + reasonerLine(*now.Reasoner, now.At)
	}
	return line
}

// queueTable returns a table with a row for each job kind that has jobs to show.
func queueTable(now gauges.Pulse) *table {
	t := newTable("jobs", "#waiting", "#running", "#later", "#retryable", "#discarded", "#oldest due", "#done/s", "#took")
	counts := map[string]map[string]int64{}
	due, done := map[string]float64{}, map[string]gauges.DoneJobs{}
	var kinds []string
	row := func(kind string) map[string]int64 {
		if counts[kind] == nil {
			counts[kind] = map[string]int64{}
			kinds = append(kinds, kind)
		}
		return counts[kind]
	}
	for _, q := range now.Queue {
		row(q.Kind)[q.State] = q.Jobs
		due[q.Kind] = max(due[q.Kind], q.DueSeconds)
	}
	for _, d := range now.Done {
		row(d.Kind)
		done[d.Kind] = d
	}
	if len(kinds) == 0 {
		t.add("none", "0", "0", "0", "0", "0", "", "", "")
	}
	slices.Sort(kinds)
	for _, kind := range kinds {
		cells := []string{kind}
		for _, state := range queueColumns {
			cells = append(cells, capped(counts[kind][state]))
		}
		oldest, rate, took := "", "", ""
		if due[kind] > 0 {
			oldest = age(due[kind])
		}
		if d, ok := done[kind]; ok {
			rate, took = perSecond(float64(d.Jobs)/gauges.PulseSeconds), milliseconds(d.LagSeconds)
		}
		t.add(append(cells, oldest, rate, took)...)
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
