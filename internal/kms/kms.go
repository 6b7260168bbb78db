// Package kms registers clients of key management services with Tink, for the program oxbow. Applications that use the
// Go client register the clients that they need, so that they inherit none.
package kms

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/smithy-go/logging"
	"github.com/hashicorp/vault/api"
	"github.com/tink-crypto/tink-go-awskms/v3/integration/awskms"
	"github.com/tink-crypto/tink-go-hcvault/v2/integration/hcvault"
	"github.com/tink-crypto/tink-go/v2/core/registry"
)

// Nothing starts without its keys, and nothing may hang for them. Tests shorten the timeouts.
var (
	callTimeout  = 5 * time.Second
	totalTimeout = 15 * time.Second
)

// Register registers a client with Tink for the service in the URI of a key. Address and credentials come from the
// environment, as for the service's own tools. Register sends nothing.
func Register(ctx context.Context, uri string) error {
	scheme, _, _ := strings.Cut(uri, "://")
	var client registry.KMSClient
	var err error
	switch scheme {
	case "aws-kms":
		client, err = aws(ctx, uri)
	case "hcvault":
		client, err = vault(uri)
	default:
		return fmt.Errorf(
			"%s: expected aws-kms://arn:… or hcvault://HOST/MOUNT/keys/NAME; a Go application can register "+
				"other services (docs/privacy.md)", uri)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", uri, err)
	}
	registry.RegisterKMSClient(client)
	return nil
}

// aws reads the environment, files and roles as the AWS command line does.
func aws(ctx context.Context, uri string) (registry.KMSClient, error) {
	arn := strings.Split(strings.TrimPrefix(uri, "aws-kms://"), ":") // arn:aws:kms:REGION:ACCOUNT:key/ID
	if len(arn) != 6 || arn[0] != "arn" || arn[2] != "kms" || arn[3] == "" {
		return nil, fmt.Errorf("expected a URI like aws-kms://arn:aws:kms:eu-central-1:111122223333:key/ID")
	}
	cfg, err := config.LoadDefaultConfig(ctx, config.WithRegion(arn[3]), config.WithRetryMaxAttempts(2),
		config.WithLogger(logging.Nop{}), config.WithHTTPClient(awshttp.NewBuildableClient().WithTimeout(callTimeout)))
	if err != nil {
		return nil, err
	}
	return awskms.NewClientWithOptions(ctx, uri, awskms.WithKMS(timed{kms.NewFromConfig(cfg)}))
}

// timed bounds the duration of a call, including requests for credentials.
type timed struct{ *kms.Client }

func (t timed) Encrypt(ctx context.Context, in *kms.EncryptInput, o ...func(*kms.Options)) (*kms.EncryptOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, totalTimeout)
	defer cancel()
	return t.Client.Encrypt(ctx, in, o...)
}

func (t timed) Decrypt(ctx context.Context, in *kms.DecryptInput, o ...func(*kms.Options)) (*kms.DecryptOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, totalTimeout)
	defer cancel()
	return t.Client.Decrypt(ctx, in, o...)
}

// vault reads VAULT_TOKEN, VAULT_NAMESPACE, VAULT_CACERT and so on. It uses http if VAULT_ADDR has the host of the URI
// and the scheme http.
func vault(uri string) (registry.KMSClient, error) {
	at, err := url.Parse(uri)
	if err != nil {
		at = &url.URL{}
	}
	if at.User != nil {
		return nil, fmt.Errorf("a URI with a user or a password is not supported: set VAULT_TOKEN")
	}
	path := strings.Split(at.EscapedPath(), "/")
	if at.Host == "" || len(path) < 4 || path[len(path)-2] != "keys" || path[len(path)-1] == "" {
		return nil, fmt.Errorf("expected a URI like hcvault://vault.example.com:8200/transit/keys/NAME")
	}
	if os.Getenv("VAULT_TOKEN") == "" {
		return nil, fmt.Errorf("VAULT_TOKEN is not set")
	}
	cfg := api.DefaultConfig()
	if cfg.Error != nil {
		return nil, cfg.Error
	}
	address, err := url.Parse(cfg.Address)
	if err != nil || address.Host != at.Host || address.Scheme != "http" {
		address = &url.URL{Scheme: "https", Host: at.Host}
	}
	cfg.Address, cfg.AgentAddress, cfg.Timeout, cfg.MaxRetries = address.String(), "", callTimeout, 1
	client, err := api.NewClient(cfg)
	if err != nil {
		return nil, err
	}
	return hcvault.NewClientWithAEADOptions(uri, client.Logical())
}
