// Command oxbow gives applications long-term memory inside the PostgreSQL that they already run.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
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

// run executes one command line and returns the exit code. It writes an error as one sentence to
// a.err.
func run(ctx context.Context, args []string, a *app) int {
	root := newRoot(a)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	_, _ = fmt.Fprintf(a.err, "oxbow: %s\n", sentence(err))
	if a.isUsage(err) {
		_, _ = fmt.Fprintf(a.err, "Run %q for usage.\n", cmd.CommandPath()+" --help")
		return exitUsage
	}
	return exitFailed
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "oxbow",
		Short: "Long-term memory for applications, inside their PostgreSQL",
		Long: `Oxbow gives applications long-term memory about their users, inside the PostgreSQL they already run.

An application inserts into oxbow.memories and selects from oxbow.recall(…); "oxbow migrate up" installs
the schema, and "oxbow work" does the work that an insert causes.`,
		Version:       versionLine(),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.PersistentFlags().StringVar(&a.databaseURL, "database-url", os.Getenv("DATABASE_URL"),
		"the database, as a URL or as keywords and values (default $DATABASE_URL)")
	root.PersistentFlags().Lookup("database-url").DefValue = "" // help must not show a password
	root.PersistentFlags().BoolVarP(&a.verbose, "verbose", "v", false, "say what is done, on standard error")

	root.AddCommand(
		newMigrateCommand(a),
		newWorkCommand(a),
		newDevCommand(a),
		newReembedCommand(a),
		newRememberCommand(a), newImportCommand(a), newImportV1Command(a), newExportCommand(a), newIngestCommand(a), newFilesCommand(a), newEntitiesCommand(a),
		newRecallCommand(a), newContextCommand(a), newShowCommand(a), newHistoryCommand(a), newTimelineCommand(a), newStatusCommand(a), newJobsCommand(a), newTopCommand(a), newDoctorCommand(a), newEvalCommand(a),
		newSensoryCommand(a), newEndSessionCommand(a),
		newReflectCommand(a), newTraitsCommand(a), newTraitCommand(a), newCheckCommand(a),
		newForgetCommand(a), newRestoreCommand(a), newEraseCommand(a), newKeysCommand(a), newRotateKeysCommand(a),
	)
	a.watchStart(root)
	return root
}
