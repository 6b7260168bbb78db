package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
)

// The keys are in variables only: what stands on a command line can be seen by others.
const (
	keysetVariable = "OXBOW_KEYSET"
	kmsVariable    = "OXBOW_KMS_URI"
)

// keys are those of the environment, nil if there are none.
func keys() (*oxbow.Keys, error) {
	text := os.Getenv(keysetVariable)
	if text == "" {
		return nil, nil
	}
	k, err := oxbow.ReadKeys(text, os.Getenv(kmsVariable))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", keysetVariable, err)
	}
	return k, nil
}

func newKeysCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Make keys that seal memories of sensitivity 3",
		Long: `The texts of memories of sensitivity 3 are sealed by the client, and the database never has them in clear. The keys are in the
variable OXBOW_KEYSET, a keyset of Tink in JSON. With OXBOW_KMS_URI the keyset is encrypted by a key of that key management
service; this program has clients of none, a Go application registers its own.

Whoever loses the keys loses the memories.`,
		RunE: func(*cobra.Command, []string) error {
			return usagef("say what to do: oxbow keys new, or oxbow keys add")
		},
	}
	cmd.AddCommand(&cobra.Command{
		Use:     "new",
		Short:   "Print a new keyset",
		Example: `  export OXBOW_KEYSET="$(oxbow keys new)"`,
		RunE: func(*cobra.Command, []string) error {
			k, err := oxbow.NewKeys()
			if err != nil {
				return err
			}
			return a.printKeys(k)
		},
	}, &cobra.Command{
		Use:     "add",
		Short:   "Print the keyset of OXBOW_KEYSET with a new primary key",
		Long:    `Print the keyset of OXBOW_KEYSET with a new key, which seals from then on. Give it to all programs, then run "oxbow rotate-keys".`,
		Example: `  export OXBOW_KEYSET="$(oxbow keys add)" && oxbow rotate-keys`,
		RunE: func(*cobra.Command, []string) error {
			k, err := keys()
			if err != nil {
				return err
			}
			if k == nil {
				return usagef("%s is not set: oxbow keys new makes a keyset", keysetVariable)
			}
			if k, err = k.Add(); err != nil {
				return err
			}
			return a.printKeys(k)
		},
	})
	return cmd
}

func (a *app) printKeys(k *oxbow.Keys) error {
	text, err := k.Write(os.Getenv(kmsVariable))
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
			k, err := keys()
			if err != nil {
				return err
			}
			if k == nil {
				return usagef("%s is not set: oxbow keys new makes a keyset", keysetVariable)
			}
			d, err := a.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer d.close()
			if err := seeAll(cmd.Context(), d.pool, "rotate-keys"); err != nil {
				return err
			}
			n, err := d.client.RotateKeys(cmd.Context())
			if err != nil {
				return err
			}
			a.printf("All secrets are sealed with the key %s: %s now, the others before.\n", k.ID(), count(int64(n), "text", "texts"))
			return nil
		},
	}
}
