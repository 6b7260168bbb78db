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

// app holds what the commands share.
type app struct {
	in       io.Reader
	out, err io.Writer

	databaseURL string // --database-url; use dsn
	verbose     bool   // --verbose
	started     bool   // the command line was valid and a command is running
}

// dsn returns the connection string of the database to work on.
func (a *app) dsn() (string, error) {
	if a.databaseURL == "" {
		return "", usagef("no database is named: set DATABASE_URL or give --database-url, for example postgres://user@localhost/app")
	}
	return a.databaseURL, nil
}

// logger logs to standard error: warnings, and with --verbose also the steps taken.
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

// printJSON writes v as indented JSON with a final newline.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// terminal reports whether stream, one of the app's, is a terminal.
func terminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// usageError is a mistake in the command line that a command finds itself.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// isUsage reports whether err is a mistake in the command line: an error from before a command ran,
// or one from usagef.
func (a *app) isUsage(err error) bool {
	var usage usageError
	return !a.started || errors.As(err, &usage)
}

// watchStart records that a command has begun to run. Before that cobra only parses flags and
// arguments.
func (a *app) watchStart(cmd *cobra.Command) {
	if cmd.Args == nil {
		cmd.Args = cobra.NoArgs // reject extra arguments instead of ignoring them
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
