// Deploy runs what compose.yaml, the chart and the systemd units run, as they would: the program alone in an empty
// directory that is its root, as another user, with their arguments, variables and logins of the database.
// scripts/deploy-lint calls it.
//
//	deploy -oxbow PROGRAM -helm PROGRAM [-boot]
//
// It starts a PostgreSQL of its own, and needs root. With -boot, systemd itself runs the units in a container.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/oxbow-memory/oxbow/lab/must"
)

// patience bounds how long anything may take on a busy machine.
const patience = 2 * time.Minute

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	oxbow := flag.String("oxbow", "bin/oxbow", "the program, built as the Dockerfile builds it")
	helm := flag.String("helm", "bin/tools/helm", "the program helm")
	boot := flag.Bool("boot", false, "boot systemd in a container, and run the units")
	flag.Parse()
	if err := must.Try(func() { tryAll(ctx, *oxbow, *helm, *boot) }); err != nil {
		fmt.Fprintln(os.Stderr, "deploy:", err)
		os.Exit(1)
	}
}

func tryAll(ctx context.Context, oxbow, helm string, boot bool) {
	dir := must.Get(os.MkdirTemp("", "oxbow-deploy-"))
	defer func() { _ = os.RemoveAll(dir) }()
	must.OK(os.Chmod(dir, 0o755)) // PostgreSQL and the programs run as other users
	image := newImage(filepath.Join(dir, "image"), oxbow, "Dockerfile")
	defer image.kill()
	project := readCompose(ctx)
	db := newDatabase(ctx, filepath.Join(dir, "postgres"), variables(project.Services["postgres"], ""))
	defer func() { must.OK(db.close(context.WithoutCancel(ctx))) }()

	try := func(name string, do func()) {
		begin := time.Now()
		must.OK(wrap(name, must.Try(do)))
		fmt.Printf("%s: passed in %.1f s\n", name, time.Since(begin).Seconds())
	}
	try("certificates", func() { tryCertificates(ctx, image) })
	try("compose.yaml", func() { tryCompose(ctx, project, db, image) })
	try("time zones", func() { tryTimeZones(ctx, db, image) })
	try("chart", func() { tryChart(ctx, db, image, helm) })
	if boot {
		try("systemd", func() { tryUnits(ctx, filepath.Join(dir, "systemd"), db, image) })
	}
}

// wrap names what failed.
func wrap(name string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
