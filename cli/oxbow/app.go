package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"reflect"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/worker"
)

// app is one run of the program: its streams, and the flags that commands share.
type app struct {
	in       io.Reader
	out, err io.Writer

	databaseURL string // --database-url; see needsDatabase
	json        bool   // --json
	verbose     bool   // --verbose
	started     bool   // the command line is valid and a command is running
}

// needsDatabase returns a command's function that requires a database URL. It does not connect.
func (a *app) needsDatabase(run runE) runE {
	return func(cmd *cobra.Command, args []string) error {
		if a.databaseURL == "" {
			return usagef("no database: set DATABASE_URL or --database-url, for example postgres://user@localhost/app")
		}
		return run(cmd, args)
	}
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

// serviceLogger is the logger of long-running commands: it adds times and logs the steps taken.
func (a *app) serviceLogger() *slog.Logger {
	return slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: slog.LevelInfo}))
}

func (a *app) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(a.out, format, args...)
}

// say writes a line for a person to standard error, apart from the output.
func (a *app) say(format string, args ...any) {
	_, _ = fmt.Fprintf(a.err, format+"\n", args...)
}

// jsonFlag adds --json to a command, which then prints with printJSON.
func (a *app) jsonFlag(f *pflag.FlagSet) {
	f.BoolVar(&a.json, "json", false, "print JSON")
}

// output prints v as JSON if --json is given, and otherwise calls print.
func (a *app) output(v any, print func()) error {
	if a.json {
		return a.printJSON(v)
	}
	print()
	return nil
}

// printJSON writes v as indented JSON. A nil slice is an empty array.
func (a *app) printJSON(v any) error {
	if s := reflect.ValueOf(v); s.Kind() == reflect.Slice && s.IsNil() {
		v = []struct{}{}
	}
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

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// isUsage reports whether err is a mistake in the command line: an error from before a command ran, one from usagef, or
// an invalid value of an argument, a flag or an environment variable, as opposed to one in a file.
func (a *app) isUsage(err error) bool {
	var usage usageError
	var url *pgconn.ParseConfigError
	var config *worker.ConfigError
	if invalid, ok := errors.AsType[*oxbow.InvalidError](err); ok && invalid.Line == 0 {
		return true
	}
	return !a.started || errors.As(err, &usage) || errors.As(err, &url) || errors.As(err, &config)
}

// prepare makes a command and those below it reject extra arguments and read their environment variables, and records
// when a command begins to run. Before that, cobra only parses the command line.
func (a *app) prepare(cmd *cobra.Command) {
	if check := cmd.Args; check == nil {
		cmd.Args = cobra.NoArgs
	} else {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if check(cmd, args) != nil {
				_, arguments, _ := strings.Cut(cmd.Use, " ")
				return fmt.Errorf("expected %s, got %s", arguments, count(len(args), "argument"))
			}
			return nil
		}
	}
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if err := checkExcluded(cmd.Flags()); err != nil {
				return err
			}
			if err := readEnvironment(cmd.Flags()); err != nil {
				return err
			}
			a.started = true
			return run(cmd, args)
		}
	}
	for _, sub := range cmd.Commands() {
		a.prepare(sub)
	}
}

// group is a command that only has subcommands.
func group(use, short, long string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Long: long}
	cmd.AddCommand(commands...)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var names []string
		for _, sub := range commands {
			names = append(names, sub.Name())
		}
		return usagef("missing subcommand of %q: %s", cmd.CommandPath(), or(names))
	}
	return cmd
}
