package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"
)

// healthTimeout is how long health waits for an answer.
const healthTimeout = 5 * time.Second

func healthCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "health URL",
		Short: "Ask a running worker or server whether it is ready",
		Long: `Request a URL and fail unless the answer is 200, within 5 seconds. It is for health checks in containers, which
have no other program.`,
		Example: `  oxbow health http://127.0.0.1:8080/v1/health   # oxbow serve
  oxbow health http://127.0.0.1:9464/readyz      # oxbow work --metrics-addr 127.0.0.1:9464`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return health(cmd.Context(), args[0]) },
	}
}

// health requests a URL and returns an error that quotes the answer unless it is 200.
func health(ctx context.Context, address string) error {
	if u, err := url.Parse(address); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return usagef("invalid URL %q: expected http://HOST:PORT/PATH", address)
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no answer from %s within %s", address, healthTimeout)
	} else if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusOK {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, 4096))
	return errors.Join(fmt.Errorf("%s answers %s: %s", address, answer.Status, body), err)
}
