package main

import (
	"context"
	"fmt"
	"os"
	"sync"

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

// keys returns the keys in the environment, or nil without any. Only commands that need keys call it: a key management
// service that is down must not prevent forgetting or erasing.
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

// requireKeys is keys, but returns an error if there are none.
func requireKeys(ctx context.Context) (*sealed.Keys, error) {
	k, err := keys(ctx)
	if err == nil && k == nil {
		err = usagef("%s is not set: \"oxbow keys new\" generates a keyset", keysetVariable)
	}
	return k, err
}

// withKeys makes a client seal and open texts with the keys in the environment, if there are any.
func withKeys(ctx context.Context) (oxbow.Option, error) {
	k, err := keys(ctx)
	if err != nil || k == nil {
		return nil, err
	}
	return oxbow.WithSealer(k), nil
}

// lazyKeys reads the keys in the environment once, when a text is sealed: most texts contain no secret, and reading the
// keys may need a key management service.
type lazyKeys func() (*sealed.Keys, error)

// withLazyKeys makes a client seal texts that contain a secret, if the environment has keys.
func withLazyKeys(ctx context.Context) (oxbow.Option, error) {
	if os.Getenv(keysetVariable) == "" {
		return nil, nil
	}
	read := sync.OnceValues(func() (*sealed.Keys, error) { return keys(ctx) })
	return oxbow.WithSealer(lazyKeys(read)), nil
}

// ID returns the id of the key that an earlier call of Seal used.
func (read lazyKeys) ID() string {
	k, _ := read() // Seal has returned the error
	return k.ID()
}

// Name returns the name of a text. Seal has read the keys.
func (read lazyKeys) Name(text string) string {
	k, _ := read()
	return k.Name(text)
}

// Seal reads the keys and seals a text.
func (read lazyKeys) Seal(text, place string) ([]byte, error) {
	k, err := read()
	if err != nil {
		return nil, err
	}
	return k.Seal(text, place)
}

// Open is not used: these keys are for clients that only store.
func (lazyKeys) Open([]byte, string) (string, error) { return "", oxbow.ErrSealed }

// unseal decrypts a secret memory with the keys in the environment.
func unseal(ctx context.Context, m *oxbow.Memory) error {
	k, err := keys(ctx)
	if err != nil {
		return err
	}
	if k == nil {
		return m.Open(nil)
	}
	return m.Open(k)
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

func keysCommand(a *app) *cobra.Command {
	return group("keys", "Generate keys that seal secret memories, and manage those of the HTTP API",
		`Generate keys that seal secret memories and messages, which are those of sensitivity 3. Clients seal and open
their texts; the database never has them in clear text. The keys are a Tink keyset in JSON, in the variable
OXBOW_KEYSET. With OXBOW_KMS_URI, the keyset is encrypted with a key of a key management service, and useless
without it:

  aws-kms://arn:aws:kms:REGION:ACCOUNT:key/ID   with the credentials that AWS's tools use: environment, files, roles
  hcvault://HOST:PORT/MOUNT/keys/NAME           a transit key of Vault; VAULT_TOKEN, VAULT_NAMESPACE, VAULT_CACERT, …

Without the keys, sealed texts cannot be read. The keys of the HTTP API are others: see "oxbow keys api".`,
		&cobra.Command{
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
			Use:   "add",
			Short: "Print the keyset in OXBOW_KEYSET with a new primary key",
			Long: `Print the keyset in OXBOW_KEYSET with a new primary key, which seals from then on. Give the keyset to all
programs, then run "oxbow rotate-keys".`,
			Example: `  export OXBOW_KEYSET="$(oxbow keys add)" && oxbow rotate-keys`,
			RunE: func(cmd *cobra.Command, _ []string) error {
				k, err := requireKeys(cmd.Context())
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
			Short: "Encrypt the clear-text keyset in OXBOW_KEYSET with the key in OXBOW_KMS_URI, and print it",
			RunE: func(cmd *cobra.Command, _ []string) error {
				text := os.Getenv(keysetVariable)
				if text == "" || os.Getenv(kmsVariable) == "" {
					return usagef("set %s and %s", keysetVariable, kmsVariable)
				}
				k, err := sealed.ReadKeys(text, "")
				if err != nil {
					return fmt.Errorf("%s: %w", keysetVariable, err)
				}
				return a.printKeys(cmd.Context(), k)
			},
		}, apiKeysCommand(a))
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

func rotateKeysCommand(a *app) *cobra.Command {
	var k *sealed.Keys
	run := a.asOperator(func(ctx context.Context, d *database, _ []string) error {
		n, err := d.client.Reseal(ctx)
		if err != nil {
			return err
		}
		d.printf("All secrets are sealed with key %s; %s resealed.\n", k.ID(), count(n, "text"))
		return nil
	}, func(context.Context) (oxbow.Option, error) { return oxbow.WithSealer(k), nil })
	return &cobra.Command{
		Use:   "rotate-keys",
		Short: "Reseal all secret memories and messages with the primary key",
		Long: `Reseal all memories and messages of sensitivity 3 that are sealed with a key other than the primary one in
OXBOW_KEYSET. It can be interrupted and repeated. Clients that have both keys can read everything meanwhile.
Afterwards the old keys open nothing in the database, but still open its backups.`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if k, err = requireKeys(cmd.Context()); err != nil {
				return err
			}
			return run(cmd, args)
		},
	}
}
