package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/jackc/pgx/v5"
)

// ErrOtherRequest reports that a key of a repeated request was first used for another one.
var ErrOtherRequest = errors.New("the Idempotency-Key was used for another request")

// maxKey is the maximum length of a key of a repeated request.
const maxKey = 255

// AnswerOnce returns the answer of the user's earlier request with the key. If there is none, it calls f and stores its
// answer in the same transaction. request identifies the request; ErrOtherRequest if the earlier one differs.
// Concurrent calls with the same key wait for each other.
func AnswerOnce(ctx context.Context, tx pgx.Tx, userID, key string, request []byte,
	f func() (json.RawMessage, error),
) (json.RawMessage, error) {
	if len(key) > maxKey {
		return nil, Invalid("Idempotency-Key", key, "must have at most 255 bytes")
	}
	if err := text("Idempotency-Key", key); err != nil {
		return nil, err
	}
	_, err := Exec(ctx, tx, `select pg_advisory_xact_lock(hashtextextended('oxbow.answer ' || $1 || ' ' || $2, 0))`,
		userID, key)
	if err != nil {
		return nil, err
	}
	type row struct {
		Request []byte
		Answer  json.RawMessage
	}
	earlier, err := Collect[row](ctx, tx, `select request, answer from oxbow.api_answers where user_id = $1 and key = $2`,
		userID, key)
	if err != nil {
		return nil, err
	}
	if len(earlier) > 0 {
		if !bytes.Equal(earlier[0].Request, request) {
			return nil, ErrOtherRequest
		}
		return earlier[0].Answer, nil
	}
	answer, err := f()
	if err != nil {
		return nil, err
	}
	_, err = Exec(ctx, tx, `insert into oxbow.api_answers (user_id, key, request, answer) values ($1, $2, $3, $4)`,
		userID, key, request, answer)
	return answer, err
}
