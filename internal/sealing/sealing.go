// Package sealing encrypts texts that the database is not to know, with keys that it does not have.
package sealing

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/core/registry"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"
)

// Keys are the keys of an application: the primary one seals, and all of them open. They are safe for concurrent use.
type Keys struct {
	handle *keyset.Handle
	aead   tink.AEAD
	id     string
}

// New makes one key (AES-256-GCM).
func New() (*Keys, error) {
	handle, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	return of(handle)
}

// Read reads a keyset of Tink, in JSON: in clear, or with the URI of a key management service encrypted by its key. The
// program must have registered a client of that service with Tink (registry.RegisterKMSClient). Errors never show the keyset.
func Read(text, kmsURI string) (*Keys, error) {
	reader := keyset.NewJSONReader(strings.NewReader(text))
	if kmsURI == "" {
		handle, err := insecurecleartextkeyset.Read(reader)
		if err != nil {
			return nil, errors.New("the keyset cannot be read: it must be what oxbow keys new prints, a keyset of Tink in JSON")
		}
		return of(handle)
	}
	master, err := masterKey(kmsURI)
	if err != nil {
		return nil, err
	}
	handle, err := keyset.Read(reader, master)
	if err != nil {
		return nil, fmt.Errorf("the keyset cannot be opened with %s: %w", kmsURI, err)
	}
	return of(handle)
}

func masterKey(kmsURI string) (tink.AEAD, error) {
	client, err := registry.GetKMSClient(kmsURI)
	if err != nil {
		return nil, fmt.Errorf("no client of the key management service of %s is registered with Tink in this program", kmsURI)
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
	return &Keys{handle, primitive, strconv.FormatUint(uint64(primary.KeyID()), 10)}, nil
}

// Add returns the keys with a new primary one. The others still open what they sealed.
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

// Write returns the keyset as Read takes it.
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
		return "", fmt.Errorf("write the keyset: %w", err)
	}
	return text.String(), nil
}

// ID is the id of the primary key.
func (k *Keys) ID() string { return k.id }

// String shows no key.
func (k *Keys) String() string { return "keys with the primary " + k.id }

// Seal encrypts a text with the primary key. Only with the same place can it be opened, so that it cannot be put elsewhere.
func (k *Keys) Seal(text, place string) ([]byte, error) {
	return k.aead.Encrypt([]byte(text), []byte(place))
}

// Open decrypts what was sealed for the place.
func (k *Keys) Open(sealed []byte, place string) (string, error) {
	text, err := k.aead.Decrypt(sealed, []byte(place))
	return string(text), err
}
