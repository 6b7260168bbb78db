// Package sealed encrypts the texts of secret memories and messages with keys that the database never holds.
//
// A client with keys encrypts and decrypts memories and messages of sensitivity 3:
//
//	keys, err := sealed.ReadKeys(os.Getenv("OXBOW_KEYSET"), "")
//	client, err := oxbow.New(pool, oxbow.WithSealer(keys))
package sealed

import (
	"bytes"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
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

// Keys is a keyset of an application and implements oxbow.Sealer. The primary key encrypts; all keys decrypt.
// It is safe for concurrent use.
type Keys struct {
	handle *keyset.Handle
	aead   tink.AEAD
	id     string
	ids    []string
	naming []byte // derived from the oldest key
}

// NewKeys returns a keyset with one new AES-256-GCM key. Store the output of Write with your other secrets:
// without it nobody can read the texts that the key encrypted.
func NewKeys() (*Keys, error) {
	handle, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err != nil {
		return nil, fmt.Errorf("create a key: %w", err)
	}
	return of(handle)
}

// ReadKeys parses a Tink keyset in JSON, as written by Keys.Write. If kmsURI is empty, the keyset must be in clear
// text; otherwise it must be encrypted with that key of a key management service, whose client the program must have
// registered with Tink (registry.RegisterKMSClient). Errors never contain the keyset.
func ReadKeys(text, kmsURI string) (*Keys, error) {
	encrypted, malformed := keyset.NewJSONReader(strings.NewReader(text)).ReadEncrypted()
	isEncrypted := malformed == nil && len(encrypted.GetEncryptedKeyset()) > 0
	reader := keyset.NewJSONReader(strings.NewReader(text))
	if kmsURI == "" {
		if isEncrypted {
			return nil,
				errors.New("the keyset is encrypted: also set the URI of the key that opens it (OXBOW_KMS_URI)")
		}
		handle, err := insecurecleartextkeyset.Read(reader)
		if err != nil {
			return nil,
				errors.New("the keyset cannot be read: expected a Tink keyset in JSON, as oxbow keys new prints")
		}
		return of(handle)
	}
	if !isEncrypted {
		return nil,
			fmt.Errorf("the keyset is not encrypted, but the key %s was given: encrypt it with oxbow keys encrypt",
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
		return nil, errors.New("the keyset does not consist of AEAD keys")
	}
	primary, err := handle.Primary()
	if err != nil {
		return nil, fmt.Errorf("the keyset has no primary key: %w", err)
	}
	var ids []string
	for _, info := range handle.KeysetInfo().GetKeyInfo() {
		if info.GetOutputPrefixType() != tinkpb.OutputPrefixType_TINK {
			return nil, errors.New("the keyset has a key that does not prefix the ciphertext with its id: " +
				"every key must have the output prefix type TINK")
		}
		ids = append(ids, strconv.FormatUint(uint64(info.GetKeyId()), 10))
	}
	oldest := insecurecleartextkeyset.KeysetMaterial(handle).GetKey()[0].GetKeyData().GetValue()
	naming, err := hkdf.Key(sha256.New, oldest, nil, "oxbow: names of texts", sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	return &Keys{handle, primitive, strconv.FormatUint(uint64(primary.KeyID()), 10), ids, naming}, nil
}

// Add returns the keys with a new primary key. The other keys still decrypt.
func (k *Keys) Add() (*Keys, error) {
	manager := keyset.NewManagerFromHandle(k.handle)
	id, err := manager.Add(aead.AES256GCMKeyTemplate())
	if err != nil {
		return nil, fmt.Errorf("create a key: %w", err)
	}
	if err := manager.SetPrimary(id); err != nil {
		return nil, fmt.Errorf("create a key: %w", err)
	}
	handle, err := manager.Handle()
	if err != nil {
		return nil, fmt.Errorf("create a key: %w", err)
	}
	return of(handle)
}

// Write returns the keyset in JSON for ReadKeys: in clear text if kmsURI is empty, otherwise encrypted with that key.
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

// line puts the error of a key management service on one line.
func line(err error) error { return errors.New(strings.Join(strings.Fields(err.Error()), " ")) }

// ID returns the id of the primary key.
func (k *Keys) ID() string { return k.id }

// IDs returns the ids of all keys.
func (k *Keys) IDs() []string { return slices.Clone(k.ids) }

// String returns the id of the primary key. It contains no key material.
func (k *Keys) String() string { return "keys with the primary " + k.id }

// Seal encrypts a text with the primary key. It can be opened only with the same place.
func (k *Keys) Seal(text, place string) ([]byte, error) {
	return k.aead.Encrypt([]byte(text), []byte(place))
}

// Open decrypts a text that was sealed with the same place.
func (k *Keys) Open(sealed []byte, place string) (string, error) {
	text, err := k.aead.Decrypt(sealed, []byte(place))
	return string(text), err
}

// Name returns a keyed hash of a text, 32 hexadecimal digits. It stays the same while the oldest key does. Without the
// keys nobody can check whether a text has a given name.
func (k *Keys) Name(text string) string {
	mac := hmac.New(sha256.New, k.naming)
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}
