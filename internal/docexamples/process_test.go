package main

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestService(t *testing.T) {
	t.Parallel()
	s, err := startService(t.Context(), exec.Command("bash", "-c", `trap 'echo bye; exit 0' INT; echo "is ready"; while :; do read -r -t 1 || :; done < <(sleep 60)`), "is ready")
	require.NoError(t, err)
	require.NoError(t, s.stop())
	require.Contains(t, s.out.String(), "bye")
}

func TestServiceThatEnds(t *testing.T) {
	t.Parallel()
	_, err := startService(t.Context(), exec.Command("bash", "-c", "echo no database; exit 3"), "is ready")
	require.ErrorContains(t, err, "no database")
	require.ErrorContains(t, err, "exit status 3")
}

func TestServiceThatEndsBadly(t *testing.T) {
	t.Parallel()
	s, err := startService(t.Context(), exec.Command("bash", "-c", "trap 'exit 4' INT; echo is ready; while :; do read -r -t 1 || :; done < <(sleep 60)"), "is ready")
	require.NoError(t, err)
	require.ErrorContains(t, s.stop(), "exit status 4")
}
