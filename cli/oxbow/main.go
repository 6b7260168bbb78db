// Command oxbow gives applications long-term memory inside the PostgreSQL that they already run.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	_ "time/tzdata" // for users' time zones where the system has no database of them, as in small containers

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
)

const (
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process immediately
	os.Exit(run(ctx, os.Args[1:], &app{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
}

// run executes one command line and returns the exit code. It writes an error as one line to a.err.
func run(ctx context.Context, args []string, a *app) int {
	root := rootCommand(a)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, oxbow.ErrUnreachable) ||
		errors.Is(err, net.ErrClosed)) { // the connection was closed to end the statement
		err = errors.New("interrupted")
	}
	_, _ = fmt.Fprintf(a.err, "oxbow: %s\n", sentence(err))
	if a.isUsage(err) {
		_, _ = fmt.Fprintf(a.err, "Run %q for usage.\n", cmd.CommandPath()+" --help")
		return exitUsage
	}
	if program, ok := errors.AsType[*exec.ExitError](err); ok && program.ExitCode() > 0 {
		return program.ExitCode() // of oxbow dev -- COMMAND
	}
	return exitFailed
}

func rootCommand(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "oxbow",
		Short: "Long-term memory for applications, inside their PostgreSQL",
		Long: `Oxbow gives applications long-term memory about their users, inside the PostgreSQL they already run.

An application inserts into oxbow.memories and selects from oxbow.recall(…). "oxbow migrate up" installs the
schema; "oxbow work" runs the jobs that an insert causes.`,
		Version:       versionLine(),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return flagError(err) })
	root.PersistentFlags().StringVar(&a.databaseURL, "database-url", "", "PostgreSQL `URL` or keyword/value string")
	env(root.PersistentFlags(), "database-url", "DATABASE_URL")
	root.PersistentFlags().BoolVarP(&a.verbose, "verbose", "v", false, "log each step to standard error")

	add := func(title string, commands ...*cobra.Command) {
		root.AddGroup(&cobra.Group{ID: title, Title: title + ":"})
		for _, cmd := range commands {
			cmd.GroupID = title
		}
		root.AddCommand(commands...)
	}
	add("Memories", rememberCommand(a), importCommand(a), importV1Command(a), exportCommand(a), ingestCommand(a),
		filesCommand(a), recallCommand(a), contextCommand(a), timelineCommand(a), showCommand(a), historyCommand(a),
		weightCommand(a), whyCommand(a), strategiesCommand(a), entitiesCommand(a), verifyCommand(a), tierCommand(a), forgetCommand(a), restoreCommand(a),
		instructionsCommand(a), skillsCommand(a), intendCommand(a), upcomingCommand(a), predictCommand(a), profileCommand(a), emotionsCommand(a), feedbackCommand(a), adjustmentsCommand(a), conclusionsCommand(a), mergeCommand(a), unmergeCommand(a), eraseCommand(a), endSessionCommand(a), sensoryCommand(a))
	add("Traits", reflectCommand(a), traitsCommand(a), traitCommand(a), checkCommand(a))
	add("Operation", migrateCommand(a), workCommand(a), serveCommand(a), mcpCommand(a), devCommand(a), statusCommand(a),
		topCommand(a), healthCommand(), jobsCommand(a), doctorCommand(a), reembedCommand(a), keysCommand(a), webhooksCommand(a),
		rotateKeysCommand(a), evalCommand(a))
	a.prepare(root)
	root.InitDefaultHelpCmd()
	help, _, _ := root.Find([]string{"help"}) // cannot fail
	help.Args = func(_ *cobra.Command, words []string) error {
		if cmd, rest, _ := root.Find(words); len(rest) > 0 {
			return fmt.Errorf("unknown command %q for %q", rest[0], cmd.CommandPath())
		}
		return nil
	}
	return root
}

// version returns the program's version as Go recorded it: a tag, a pseudo-version of the commit, or "(devel)" for a
// build without version control.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown"
}

// versionLine returns the program's version, and the Go release and platform of the build.
func versionLine() string {
	return fmt.Sprintf("%s (%s, %s/%s)", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
