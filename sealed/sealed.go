// Package sealed encrypts the texts of secret memories and messages with keys that the database never has.
//
// A client seals and opens what has sensitivity 3 if it is given keys:
//
//	keys, err := sealed.ReadKeys(os.Getenv("OXBOW_KEYSET"), "")
//	client, err := oxbow.New(pool, oxbow.WithSealer(keys))
package sealed

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/core/registry"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
	tinkpb "github.com/tink-crypto/tink-go/v2/proto/tink_go_proto"
	"github.com/tink-crypto/tink-go/v2/tink"
)

// Keys are the keys of an application, an oxbow.Sealer: the primary key seals, and all keys open. They are safe for
// concurrent use.
type Keys struct {
	handle *keyset.Handle
	aead   tink.AEAD
	id     string
	ids    []string
}

// NewKeys makes one key (AES-256-GCM). Keep what its Write returns where secrets are kept: without it nobody can read
// what the key sealed.
func NewKeys() (*Keys, error) {
	handle, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	return of(handle)
}

// ReadKeys reads a keyset of Tink in JSON, as Keys.Write returns it: in clear if kmsURI is empty, else encrypted with
// that key of a key management service. The program must have registered a client of the service with Tink
// (registry.RegisterKMSClient). Errors never show the keyset.
func ReadKeys(text, kmsURI string) (*Keys, error) {
	encrypted, malformed := keyset.NewJSONReader(strings.NewReader(text)).ReadEncrypted()
	isEncrypted := malformed == nil && len(encrypted.GetEncryptedKeyset()) > 0
	reader := keyset.NewJSONReader(strings.NewReader(text))
	if kmsURI == "" {
		if isEncrypted {
			return nil,
				errors.New("the keyset is encrypted: the URI of the key that opens it has to be given too (OXBOW_KMS_URI)")
		}
		handle, err := insecurecleartextkeyset.Read(reader)
		if err != nil {
			return nil, errors.New("the keyset cannot be read: it must be what oxbow keys new prints, a keyset of Tink in JSON")
		}
		return of(handle)
	}
	if !isEncrypted {
		return nil,
			fmt.Errorf("the keyset is in clear, or none, though the key %s is to open it: oxbow keys encrypt encrypts it",
				kmsURI)
	}
	master, err := masterKey(kmsURI)
	if err != nil {
		return nil, err
	}
	handle, err := keyset.Read(reader, master)
	if err != nil {
		return nil, fmt.Errorf("the keyset cannot be opened with %s: %w", kmsURI, line(err))
	}
	return of(handle)
}

func masterKey(kmsURI string) (tink.AEAD, error) {
	client, err := registry.GetKMSClient(kmsURI)
	if err != nil {
		return nil, fmt.Errorf("no client of the key management service of %s is registered with Tink in this program",
			kmsURI)
	}
	master, err := client.GetAEAD(kmsURI)
	if err != nil {
		return nil, fmt.Errorf("get the key %s: %w", kmsURI, err)
	}
	return master, nil
}

func of(handle *keyset.Handle) (*Keys, error) {
	primitive, err := aead.New(handle)
	if err != nil {
		return nil, errors.New("the keyset is not one of AEAD keys")
	}
	primary, err := handle.Primary()
	if err != nil {
		return nil, fmt.Errorf("the keyset has no primary key: %w", err)
	}
	var ids []string
	for _, info := range handle.KeysetInfo().GetKeyInfo() {
		if info.GetOutputPrefixType() != tinkpb.OutputPrefixType_TINK {
			return nil,
				errors.New("the keyset has a key whose id does not stand before what it seals: the output prefix type of all " +
					"must be TINK")
		}
		ids = append(ids, strconv.FormatUint(uint64(info.GetKeyId()), 10))
	}
	return &Keys{handle, primitive, strconv.FormatUint(uint64(primary.KeyID()), 10), ids}, nil
}

// Add returns the keys with a new primary key. The others still open what they sealed.
func (k *Keys) Add() (*Keys, error) {
	manager := keyset.NewManagerFromHandle(k.handle)
	id, err := manager.Add(aead.AES256GCMKeyTemplate())
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	if err := manager.SetPrimary(id); err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	handle, err := manager.Handle()
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	return of(handle)
}

// Write returns the keyset as ReadKeys takes it: in clear if kmsURI is empty, else encrypted with that key.
func (k *Keys) Write(kmsURI string) (string, error) {
	var text bytes.Buffer
	if kmsURI == "" {
		if err := insecurecleartextkeyset.Write(k.handle, keyset.NewJSONWriter(&text)); err != nil {
			return "", fmt.Errorf("write the keyset: %w", err)
		}
		return text.String(), nil
	}
	master, err := masterKey(kmsURI)
	if err != nil {
		return "", err
	}
	if err := k.handle.Write(keyset.NewJSONWriter(&text), master); err != nil {
		return "", fmt.Errorf("the keyset cannot be encrypted with %s: %w", kmsURI, line(err))
	}
	return text.String(), nil
}

// line puts the error of a service on one line. It never has the key: a service is sent keysets and says why it
// refuses.
func line(err error) error { return errors.New(strings.Join(strings.Fields(err.Error()), " ")) }

// ID returns the id of the primary key.
func (k *Keys) ID() string { return k.id }

// IDs returns the ids of all keys.
func (k *Keys) IDs() []string { return slices.Clone(k.ids) }

// String names the primary key, and shows no key.
func (k *Keys) String() string { return "keys with the primary " + k.id }

// Seal encrypts a text with the primary key. It can be opened only with the same place, so that it cannot be moved.
func (k *Keys) Seal(text, place string) ([]byte, error) {
	return k.aead.Encrypt([]byte(text), []byte(place))
}

// Open decrypts a text that was sealed for the place.
func (k *Keys) Open(sealed []byte, place string) (string, error) {
	text, err := k.aead.Decrypt(sealed, []byte(place))
	return string(text), err
}
