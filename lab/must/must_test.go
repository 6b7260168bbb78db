package must

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTry(t *testing.T) {
	t.Parallel()
	wrong := errors.New("wrong")
	require.NoError(t, Try(func() { require.Equal(t, 1, Get(1, nil)) }))
	require.ErrorIs(t, Try(func() { Get(0, wrong) }), wrong)
	require.Panics(t, func() { _ = Try(func() { panic(wrong) }) }, "a mistake in the program is not an error")
}
