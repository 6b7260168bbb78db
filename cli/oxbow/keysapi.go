package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow/store"
)

func apiKeysCommand(a *app) *cobra.Command {
	return group("api", "Manage the keys of the HTTP API",
		`Manage the keys of the HTTP API ("oxbow serve"). The database stores only a hash of each.

A key of the role person reads and changes the data of one user. One of the role app does so for the user that the path
of a request names. One of the role operator can also see the queue and list the users.`,
		createAPIKeyCommand(a), listAPIKeysCommand(a), revokeAPIKeyCommand(a))
}

// onAPIKeys is onDatabase for commands about the keys, which the login of the server may manage too.
func (a *app) onAPIKeys(run runOnData) runE {
	return a.onDatabase(func(ctx context.Context, d *database, args []string) error {
		may, err := store.ManagesAPIKeys(ctx, d.pool)
		if err == nil && !may {
			err = fmt.Errorf("the keys require the owner of the schema or a member of oxbow_operator, "+
				"but this login is %q: check the user in the database URL", d.pool.Config().ConnConfig.User)
		}
		if err != nil {
			return err
		}
		return run(ctx, d, args)
	})
}

func createAPIKeyCommand(a *app) *cobra.Command {
	key := store.APIKey{Role: store.RolePerson}
	var lifetime time.Duration
	create := a.onAPIKeys(func(ctx context.Context, d *database, _ []string) error {
		if lifetime > 0 {
			key.ExpiresAt = time.Now().Add(lifetime)
		}
		_, text, err := store.CreateAPIKey(ctx, d.pool, key)
		if err == nil {
			d.printf("%s\n", text)
		}
		return err
	})
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Create a key and print it",
		Long:  `Create a key and print it. It cannot be printed again.`,
		Example: `  oxbow keys api create --user ada --name "Ada's phone" --expires 90d
  oxbow keys api create --role app --name "the shop's backend"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if key.Name == "" {
				return usagef("--name is required")
			}
			return create(cmd, args)
		},
	}
	f := cmd.Flags()
	userFlag(f, &key.UserID, "the person, for the role person")
	choiceFlag(f, &key.Role, "role", "what the key may do", store.RolePerson, store.RoleApp, store.RoleOperator)
	f.StringVar(&key.Name, "name", "", "for whom or what it is")
	f.Var(&value{kind: "duration", parse: func(text string) (err error) {
		lifetime, err = parseLifetime(text)
		return err
	}}, "expires", "how long it is valid, such as 90d or 12h (default: until it is revoked)")
	return cmd
}

// parseLifetime parses a duration that may be in days.
func parseLifetime(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n int
		n, err = strconv.Atoi(days)
		d = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || d <= 0 || d > 100*365*24*time.Hour {
		return 0, errors.New("expected a duration such as 90d or 12h, at most 36500d")
	}
	return d, nil
}

func listAPIKeysCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List all keys, the newest first",
		RunE: a.onAPIKeys(func(ctx context.Context, d *database, _ []string) error {
			keys, err := store.APIKeys(ctx, d.pool, uuid.Nil, math.MaxInt32)
			if err != nil {
				return err
			}
			return a.output(keys, func() {
				if len(keys) == 0 {
					a.say("No keys.")
					return
				}
				t := a.table("id", "role", "user", "name", "created", "expires", "revoked", "last used")
				for _, k := range keys {
					t.add(k.ID, string(k.Role), k.UserID, k.Name, inUTC(k.CreatedAt), inUTC(k.ExpiresAt),
						inUTC(k.RevokedAt), inUTC(k.LastUsedAt))
				}
				t.print()
			})
		}),
	}
	a.jsonFlag(cmd.Flags())
	return cmd
}

// inUTC formats a time in UTC, "" if it is zero.
func inUTC(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return utc(&at)
}

func revokeAPIKeyCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "revoke ID",
		Short: "Revoke a key, for ever",
		Args:  cobra.ExactArgs(1),
		RunE: a.onAPIKeys(func(ctx context.Context, d *database, args []string) error {
			id, err := uuid.Parse(args[0])
			if err != nil {
				return usagef("invalid id of a key %q: %w", args[0], errNoID)
			}
			return store.RevokeAPIKey(ctx, d.pool, id)
		}),
	}
}
