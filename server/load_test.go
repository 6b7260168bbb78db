package server

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// A user with a key holds at most a share, the users of a key three quarters of all, and everybody what there is.
func TestLoads(t *testing.T) {
	t.Parallel()
	app, other := uuid.New(), uuid.New()
	all := newLoads(32, 64)
	hold := func(key uuid.UUID, user string, n int64) (*load, error) {
		l := all.begin(caller{key: key, user: user})
		return l, l.take(n)
	}
	var tooMany *retryAfter
	held := map[string]*load{}
	for _, c := range []struct {
		key     uuid.UUID
		user    string
		n       int64
		refused any
	}{
		{app, "ada", 32, nil}, {app, "ada", 1, &tooMany}, {other, "ada", 4, nil}, {app, "bob", 16, nil},
		{app, "cy", 1, &tooMany}, {uuid.Nil, "cy", 12, nil}, {uuid.Nil, "dan", 1, errBusy},
	} {
		l, err := hold(c.key, c.user, c.n)
		switch refused := c.refused.(type) {
		case nil:
			require.NoError(t, err)
			held[c.user] = l
		case error:
			require.ErrorIs(t, err, refused)
		default:
			require.ErrorAs(t, err, refused)
		}
	}
	held["bob"].end()
	l, err := hold(app, "cy", 16)
	require.NoError(t, err)
	for _, l := range []*load{l, held["ada"], held["cy"]} {
		l.end()
	}
	require.Equal(t, map[bucket]int64{{key: app, user: "ada"}: 32, {key: app, all: true}: 32}, all.owned)
}
