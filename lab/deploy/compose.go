package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"

	"github.com/oxbow-memory/oxbow/lab/must"
)

// readCompose reads and checks compose.yaml with the library of docker compose.
func readCompose(ctx context.Context) *types.Project {
	options := must.Get(cli.NewProjectOptions([]string{"compose.yaml"}, cli.WithName("oxbow"),
		cli.WithInterpolation(true), cli.WithResolvedPaths(true)))
	return must.Get(options.LoadProject(ctx))
}

// variables returns the variables of a service, with the address of PostgreSQL on this machine.
func variables(service types.ServiceConfig, address string) []string {
	var env []string
	for name, value := range service.Environment {
		if value != nil {
			env = append(env, name+"="+strings.ReplaceAll(*value, "@postgres:5432", "@"+address))
		}
	}
	return env
}

// tryCompose runs the services in the order that they depend on each other.
func tryCompose(ctx context.Context, project *types.Project, db *database, image *image) {
	for _, name := range []string{"migrate", "work", "serve"} {
		s := project.Services[name]
		if !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) {
			must.OK(fmt.Errorf("%s has more rights than the others", name))
		}
	}
	migrate, work, serve := project.Services["migrate"], project.Services["work"], project.Services["serve"]
	must.Get(image.run(ctx, variables(migrate, db.address()), migrate.Command...))
	stopWork := startCompose(ctx, work, db, image)
	stopServe := startCompose(ctx, serve, db, image)
	use(ctx, image, variables(serve, db.address()), "compose", fmt.Sprintf("http://127.0.0.1:%d/v1", serve.Ports[0].Target))
	must.OK(errors.Join(stopServe(), stopWork()))
}

// startCompose starts a service and waits until its health check passes.
func startCompose(ctx context.Context, s types.ServiceConfig, db *database, image *image) (stop func() error) {
	env, check := variables(s, db.address()), s.HealthCheck.Test
	if check[0] != "CMD" || check[1] != "oxbow" {
		must.OK(fmt.Errorf("the image has no other program: %q", check))
	}
	started := image.start(ctx, env, func() error {
		_, err := image.run(ctx, env, check[2:]...)
		return err
	}, s.Command...)
	return func() error { return started.stop(time.Duration(*s.StopGracePeriod)) }
}
