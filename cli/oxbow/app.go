package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// app is what the commands share.
type app struct {
	in       io.Reader
	out, err io.Writer

	databaseURL string // --database-url; use dsn
	verbose     bool   // --verbose
	started     bool   // the command line was fine and a command is running
}

// dsn is the database to work on.
func (a *app) dsn() (string, error) {
	if a.databaseURL == "" {
		return "", usagef("no database is named: set DATABASE_URL or give --database-url, for example postgres://user@localhost/app")
	}
	return a.databaseURL, nil
}

// logger writes to standard error what a person at a terminal should know: warnings, and with --verbose what was done.
func (a *app) logger() *slog.Logger {
	level := slog.LevelWarn
	if a.verbose {
		level = slog.LevelInfo
	}
	return slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{
		Level: level,
		ReplaceAttr: func(groups []string, attr slog.Attr) slog.Attr {
			if len(groups) == 0 && attr.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return attr
		},
	}))
}

func (a *app) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(a.out, format, args...)
}

// printJSON writes v, indented, with a newline.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// terminal tells whether stream, one of the app's, is a terminal.
func terminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// usageError is a mistake in the command line that a command finds itself.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// isUsage tells a wrong command line from a failure: whatever happened before a command ran, and usagef.
func (a *app) isUsage(err error) bool {
	var usage usageError
	return !a.started || errors.As(err, &usage)
}

// watchStart notes when a command begins to run. Until then cobra has only looked at flags and arguments.
func (a *app) watchStart(cmd *cobra.Command) {
	if cmd.Args == nil {
		cmd.Args = cobra.NoArgs // a word too many is a mistake, never ignored
	}
	if runE := cmd.RunE; runE != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			a.started = true
			return runE(cmd, args)
		}
	}
	for _, sub := range cmd.Commands() {
		a.watchStart(sub)
	}
}
