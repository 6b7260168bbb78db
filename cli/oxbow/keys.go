package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/kms"
	"github.com/oxbow-memory/oxbow/sealed"
)

// Keys come from environment variables only: other users can see a command line.
const (
	keysetVariable = "OXBOW_KEYSET"
	kmsVariable    = "OXBOW_KMS_URI"
)

// keys returns the keys of the environment, or nil if none are set. Only commands that need keys
// call it: a key management service that is down must not prevent forgetting or erasing.
func keys(ctx context.Context) (*sealed.Keys, error) {
	text := os.Getenv(keysetVariable)
	if text == "" {
		return nil, nil
	}
	uri, err := keyURI(ctx)
	if err != nil {
		return nil, err
	}
	k, err := sealed.ReadKeys(text, uri)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", keysetVariable, err)
	}
	return k, nil
}

// needKeys is keys, but returns an error if none are set.
func needKeys(ctx context.Context) (*sealed.Keys, error) {
	k, err := keys(ctx)
	if err == nil && k == nil {
		err = usagef("%s is not set: oxbow keys new makes a keyset", keysetVariable)
	}
	return k, err
}

// withKeys returns the option that gives a client the keys of the environment, if any are set.
func withKeys(ctx context.Context) ([]oxbow.Option, error) {
	k, err := keys(ctx)
	if err != nil || k == nil {
		return nil, err
	}
	return []oxbow.Option{oxbow.WithSealer(k)}, nil
}

// keyURI returns the URI of the key that encrypts the keyset, or "" if the keyset is in clear text.
func keyURI(ctx context.Context) (string, error) {
	uri := os.Getenv(kmsVariable)
	if uri == "" {
		return "", nil
	}
	if err := kms.Register(ctx, uri); err != nil {
		return "", fmt.Errorf("%s: %w", kmsVariable, err)
	}
	return uri, nil
}

func newKeysCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Make keys that seal memories and messages of sensitivity 3",
		Long: `The texts of memories and messages of sensitivity 3 are sealed by the client, and the database never has them in clear. The keys
are in the variable OXBOW_KEYSET, a keyset of Tink in JSON. With OXBOW_KMS_URI the keyset is encrypted by a key of a key
management service, and worth nothing without it:

  aws-kms://arn:aws:kms:REGION:ACCOUNT:key/ID   who asks is told by the environment, files and roles, as for AWS's own tools
  hcvault://HOST:PORT/MOUNT/keys/NAME           a key of the engine transit; VAULT_TOKEN, VAULT_NAMESPACE, VAULT_CACERT, …

Whoever loses the keys loses what they sealed.`,
		RunE: func(*cobra.Command, []string) error {
			return usagef("say what to do: oxbow keys new, oxbow keys add, or oxbow keys encrypt")
		},
	}
	cmd.AddCommand(&cobra.Command{
		Use:     "new",
		Short:   "Print a new keyset",
		Example: `  export OXBOW_KEYSET="$(oxbow keys new)"`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			k, err := sealed.NewKeys()
			if err != nil {
				return err
			}
			return a.printKeys(cmd.Context(), k)
		},
	}, &cobra.Command{
		Use:     "add",
		Short:   "Print the keyset of OXBOW_KEYSET with a new primary key",
		Long:    `Print the keyset of OXBOW_KEYSET with a new key, which seals from then on. Give it to all programs, then run "oxbow rotate-keys".`,
		Example: `  export OXBOW_KEYSET="$(oxbow keys add)" && oxbow rotate-keys`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			k, err := needKeys(cmd.Context())
			if err != nil {
				return err
			}
			if k, err = k.Add(); err != nil {
				return err
			}
			return a.printKeys(cmd.Context(), k)
		},
	}, &cobra.Command{
		Use:   "encrypt",
		Short: "Print the keyset of OXBOW_KEYSET, which is in clear, encrypted with the key that OXBOW_KMS_URI names",
		RunE: func(cmd *cobra.Command, _ []string) error {
			text := os.Getenv(keysetVariable)
			if text == "" || os.Getenv(kmsVariable) == "" {
				return usagef("%s and %s have to be set", keysetVariable, kmsVariable)
			}
			k, err := sealed.ReadKeys(text, "")
			if err != nil {
				return fmt.Errorf("%s: %w", keysetVariable, err)
			}
			return a.printKeys(cmd.Context(), k)
		},
	})
	return cmd
}

func (a *app) printKeys(ctx context.Context, k *sealed.Keys) error {
	uri, err := keyURI(ctx)
	if err != nil {
		return err
	}
	text, err := k.Write(uri)
	if err != nil {
		return err
	}
	a.printf("%s\n", text)
	return nil
}

func newRotateKeysCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "rotate-keys",
		Short: "Seal all memories and messages of sensitivity 3 with the primary key",
		Long: `Seal all memories and messages of sensitivity 3 anew that another key of OXBOW_KEYSET sealed than its primary one. It can be interrupted and
repeated; clients that have both keys read everything meanwhile. Afterwards the old key opens nothing that is in the database,
but it opens what backups have.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			k, err := needKeys(cmd.Context())
			if err != nil {
				return err
			}
			d, err := a.connect(cmd.Context(), oxbow.WithSealer(k))
			if err != nil {
				return err
			}
			defer d.close()
			if err := seeAll(cmd.Context(), d.pool, "rotate-keys"); err != nil {
				return err
			}
			n, err := d.client.Reseal(cmd.Context())
			if err != nil {
				return err
			}
			a.printf("All secrets are sealed with the key %s: %s now, the others before.\n", k.ID(), count(int64(n), "text", "texts"))
			return nil
		},
	}
}
