package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// With this variable the test program is the service: it waits for an interrupt and ends with that code.
const serviceVariable = "DOCEXAMPLES_TEST_SERVICE"

func TestMain(m *testing.M) {
	code, err := strconv.Atoi(os.Getenv(serviceVariable))
	if err != nil {
		os.Exit(m.Run())
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	fmt.Println("is ready")
	<-interrupted
	fmt.Println("bye")
	os.Exit(code)
}

func testService(code int) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", serviceVariable, code))
	return cmd
}

func TestService(t *testing.T) {
	t.Parallel()
	s, err := startService(t.Context(), testService(0), "is ready")
	require.NoError(t, err)
	require.NoError(t, s.stop())
	require.Equal(t, "is ready\nbye\n", s.out.String())
}

func TestServiceThatEndsBadly(t *testing.T) {
	t.Parallel()
	s, err := startService(t.Context(), testService(4), "is ready")
	require.NoError(t, err)
	require.ErrorContains(t, s.stop(), "exit status 4")
}

func TestServiceThatIsNotReady(t *testing.T) {
	t.Parallel()
	_, err := startService(t.Context(), exec.Command("bash", "-c", "echo no database; exit 3"), "is ready")
	require.ErrorContains(t, err, "no database")
	require.ErrorContains(t, err, "exit status 3")
}
