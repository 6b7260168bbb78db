package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/google/uuid"
)

// PageSession is a session of somebody who is signed in to the pages.
type PageSession struct {
	UserID    string    // "" for an operator
	KeyID     uuid.UUID // uuid.Nil if signed in at the issuer
	Role      Role      // person or operator
	ExpiresAt time.Time
}

// CreatePageSession stores a session that ends after the lifetime, or with the key if keyID is not uuid.Nil. It returns
// the id, a secret of which only the hash is stored.
func CreatePageSession(ctx context.Context, db DB, userID string, keyID uuid.UUID, lifetime time.Duration) (
	id string, err error,
) {
	id = rand.Text()
	hash := sha256.Sum256([]byte(id))
	_, err = Exec(ctx, db, `
		insert into oxbow.page_sessions (user_id, hash, key_id, expires_at)
		values ($1, $2, $3, now() + make_interval(secs => $4))`, userID, hash[:], pointer(keyID), lifetime.Seconds())
	return id, err
}

// FindPageSession returns the session with an id, or ErrNoKey if it is unknown or expired, or if its key is not valid.
func FindPageSession(ctx context.Context, db DB, id string) (PageSession, error) {
	hash := sha256.Sum256([]byte(id))
	s, err := CollectOne[PageSession](ctx, db, `
		select s.user_id, s.key_id, coalesce(k.role, 'person') as role, s.expires_at
		  from oxbow.page_sessions s left join oxbow.api_keys k on k.user_id = s.user_id and k.id = s.key_id
		 where s.hash = $1 and s.expires_at > now()
		   and (s.key_id is null or k.revoked_at is null and coalesce(k.expires_at > now(), true))`, hash[:])
	if errors.Is(err, ErrNotFound) {
		err = ErrNoKey
	}
	return s, err
}

// DeletePageSession ends a session. It does nothing for an unknown id.
func DeletePageSession(ctx context.Context, db DB, id string) error {
	hash := sha256.Sum256([]byte(id))
	_, err := Exec(ctx, db, `delete from oxbow.page_sessions where hash = $1`, hash[:])
	return err
}
