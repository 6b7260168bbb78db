package store

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// What PostgreSQL refuses only for now is an error of its own, and can be retried.
func TestRetryable(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	for code, want := range map[string]error{
		"25006": ErrReadOnly, "40001": ErrBusy, "40P01": ErrBusy, "53100": ErrBusy, "53200": ErrBusy, "55P03": ErrBusy,
		"57014": ErrBusy, "53300": ErrUnreachable, "57P01": ErrUnreachable, "57P02": ErrUnreachable, "57P03": ErrUnreachable,
		"08000": ErrUnreachable, "08003": ErrUnreachable, "08006": ErrUnreachable,
		"22012": nil, "23505": nil, "42501": nil, "XX000": nil,
	} {
		savepoint, err := tx.Begin(t.Context())
		require.NoError(t, err)
		_, err = savepoint.Exec(t.Context(), fmt.Sprintf(`do $$ begin raise exception using errcode = '%s'; end $$`, code))
		require.NoError(t, savepoint.Rollback(t.Context()))
		require.Error(t, err)
		for _, e := range []error{err, Explain(err), fmt.Errorf("store: %w", Explain(err))} {
			require.Equal(t, want != nil, IsRetryable(e), "%s: %v", code, e)
		}
		if want != nil {
			require.ErrorIs(t, Explain(err), want, code)
		}
	}
	for _, code := range slices.Sorted(maps.Keys(known)) {
		if retryable(code) {
			require.NotEmpty(t, known[code].todo, "%s: what to do", code)
		}
	}
	require.False(t, IsRetryable(nil))
	require.False(t, IsRetryable(errors.New("another")))
}
