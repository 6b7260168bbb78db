package jobs

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/store"
)

func TestPastDeadlocks(t *testing.T) {
	t.Parallel()
	deadlock, other := error(&pgconn.PgError{Code: "40P01"}), errors.New("another")
	for _, c := range []struct {
		errs  []error // returned by successive tries
		tries int
		want  error
	}{
		{[]error{nil}, 1, nil},
		{[]error{deadlock, nil}, 2, nil},
		{[]error{other}, 1, other},
		{[]error{deadlock, other}, 2, other},
		{[]error{deadlock, deadlock, deadlock, nil}, deadlockTries, deadlock},
	} {
		tries := 0
		err := retried(deadlockTries, store.IsDeadlock, func() error {
			tries++
			return c.errs[tries-1]
		})
		require.Equal(t, c.want, err)
		require.Equal(t, c.tries, tries)
	}
}
