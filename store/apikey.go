package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Role says what a caller of the API may do.
type Role string

// The roles.
const (
	RolePerson   Role = "person"   // reads and changes the data of one user
	RoleApp      Role = "app"      // reads and changes the data of the user that the path names
	RoleOperator Role = "operator" // an app that may also see the queue and all users
)

// ErrNoKey reports that a key of the API is unknown, expired or revoked. It does not say which.
var ErrNoKey = errors.New("the API key is not valid")

// APIKey is a key of the API, without its secret.
type APIKey struct {
	ID         uuid.UUID `json:"id"`
	Role       Role      `json:"role"`
	UserID     string    `json:"user_id,omitzero"` // of a person
	Name       string    `json:"name"`
	CreatedAt  time.Time `json:"created_at"`
	ExpiresAt  time.Time `json:"expires_at,omitzero"`
	RevokedAt  time.Time `json:"revoked_at,omitzero"`
	LastUsedAt time.Time `json:"last_used_at,omitzero"` // to the minute
}

const (
	keyPrefix  = "oxb_"
	secretSize = 32
)

// CreateAPIKey stores a new key and returns the text that its holder sends. The text cannot be read again.
func CreateAPIKey(ctx context.Context, db DB, key APIKey) (_ APIKey, secret string, err error) {
	if key.ID, err = uuid.NewV7(); err != nil {
		return key, "", err
	}
	random := make([]byte, secretSize)
	rand.Read(random)
	hash := sha256.Sum256(random)
	key.CreatedAt, err = CollectOne[time.Time](ctx, db, `
		insert into oxbow.api_keys (user_id, id, role, name, hash, expires_at) values ($1, $2, $3, $4, $5, $6)
		returning created_at`, key.UserID, key.ID, key.Role, key.Name, hash[:], null(key.ExpiresAt))
	return key, keyPrefix + base64.RawURLEncoding.EncodeToString(append(key.ID[:], random...)), err
}

// CheckAPIKey is a statement that fails with ErrNoKey unless the key with the id $1 is valid.
const CheckAPIKey = `select oxbow.check_api_key($1)`

// FindAPIKey returns the key with the given text, or ErrNoKey.
func FindAPIKey(ctx context.Context, db DB, text string) (APIKey, error) {
	encoded, ok := strings.CutPrefix(text, keyPrefix)
	raw, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	if !ok || err != nil || len(raw) != len(uuid.UUID{})+secretSize {
		return APIKey{}, ErrNoKey
	}
	type row struct {
		APIKey
		Hash  []byte
		Valid bool
	}
	found, err := CollectOne[row](ctx, db, `
		select id, role, user_id, name, created_at, expires_at, revoked_at, last_used_at, hash,
		       revoked_at is null and coalesce(expires_at > now(), true) as valid
		  from oxbow.api_keys where id = $1`, uuid.UUID(raw[:len(uuid.UUID{})]))
	if errors.Is(err, ErrNotFound) {
		return APIKey{}, ErrNoKey
	} else if err != nil {
		return APIKey{}, err
	}
	hash := sha256.Sum256(raw[len(uuid.UUID{}):])
	if subtle.ConstantTimeCompare(hash[:], found.Hash) != 1 || !found.Valid {
		return APIKey{}, ErrNoKey
	}
	return found.APIKey, nil
}

// APIKeyUsed records that a key is used now. It does nothing if the key was used within the same minute, or if another
// transaction is changing the key.
func APIKeyUsed(ctx context.Context, db DB, key APIKey) error {
	_, err := Exec(ctx, db, `
		update oxbow.api_keys k set last_used_at = date_trunc('minute', now())
		  from (select user_id, id from oxbow.api_keys
		         where user_id = $1 and id = $2 and coalesce(last_used_at < date_trunc('minute', now()), true)
		           for update skip locked) u
		 where k.user_id = u.user_id and k.id = u.id`, key.UserID, key.ID)
	return err
}

// APIKeys returns keys, at most limit, the newest first, before the key with the given id unless it is uuid.Nil.
func APIKeys(ctx context.Context, db DB, before uuid.UUID, limit int) ([]APIKey, error) {
	return Collect[APIKey](ctx, db, `
		select id, role, user_id, name, created_at, expires_at, revoked_at, last_used_at
		  from oxbow.api_keys where $1::uuid is null or id < $1 order by id desc limit $2`, pointer(before), limit)
}

// ManagesAPIKeys reports whether the login may see and change all keys, as the owner and members of oxbow_operator
// may.
func ManagesAPIKeys(ctx context.Context, db DB) (bool, error) {
	return CollectOne[bool](ctx, db, `
		select pg_has_role((select relowner from pg_class where oid = 'oxbow.api_keys'::regclass), 'MEMBER')
		    or coalesce(pg_has_role(current_user, to_regrole('oxbow_operator'), 'usage'), false)`)
}

// APIKeyNames returns the names of keys by their ids. Erased keys are missing.
func APIKeyNames(ctx context.Context, db DB, ids []uuid.UUID) (map[uuid.UUID]string, error) {
	keys, err := Collect[APIKey](ctx, db, `select id, name from oxbow.api_keys where id = any($1::uuid[])`, ids)
	names := map[uuid.UUID]string{}
	for _, k := range keys {
		names[k.ID] = k.Name
	}
	return names, err
}

// RevokeAPIKey ends a key. Transactions that are running finish. It returns ErrNotFound for an unknown key, and does
// nothing for one that is revoked.
func RevokeAPIKey(ctx context.Context, db DB, id uuid.UUID) error {
	n, err := Exec(ctx, db, `update oxbow.api_keys set revoked_at = coalesce(revoked_at, now()) where id = $1`, id)
	if err == nil && n == 0 {
		err = fmt.Errorf("%w: no API key %s", ErrNotFound, id)
	}
	return err
}
