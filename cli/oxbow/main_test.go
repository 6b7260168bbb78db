package main

import (
	"bytes"
	"context"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// asProgram makes the test binary run main, for tests that need oxbow as a process.
const asProgram = "OXBOW_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	speakEvery = time.Hour
	os.Exit(m.Run())
}

// Without a terminal, long work reports its progress from time to time.
func TestProgress(t *testing.T) {
	defer func(every time.Duration) { speakEvery = every }(speakEvery)
	var err bytes.Buffer
	some := (&app{err: &err}).progress("ask", 12_345)
	some.set(1)
	require.Empty(t, err.String())
	speakEvery = 0
	some.set(1_234)
	some.add(1)
	some.end()
	(&app{err: &err}).progress("jobs left", 0).set(3)
	require.Equal(t, "ask: 1,234 of 12,345\nask: 1,235 of 12,345\njobs left: 3\n", err.String())
}

// result is the output and exit code of one command line.
type result struct {
	code     int
	out, err string
}

// unexpected returns standard error without River's messages about a PostgreSQL that is slow to
// answer.
func (r result) unexpected() (lines string) {
	for line := range strings.Lines(r.err) {
		if !strings.Contains(line, "context deadline exceeded") {
			lines += line
		}
	}
	return lines
}

// cli runs one command line as the program would, with empty standard input.
func cli(t *testing.T, args ...string) result {
	t.Helper()
	return cliContext(t.Context(), args...)
}

func cliContext(ctx context.Context, args ...string) result {
	var out, err bytes.Buffer
	code := run(ctx, args, &app{in: strings.NewReader(""), out: &out, err: &err})
	return result{code, out.String(), err.String()}
}

func TestWrongCommandLines(t *testing.T) {
	t.Setenv("DATABASE_URL", "")
	for says, args := range map[string][]string{
		`unknown command "nope" for "oxbow"`:                        {"nope"},
		`unknown command "upp" for "oxbow migrate"`:                 {"migrate", "upp"},
		`missing subcommand of "oxbow migrate": up, down or status`: {"migrate"},
		`unknown command "extra" for "oxbow migrate up"`:            {"migrate", "up", "extra"},
		`unknown flag: --bad`:                                       {"migrate", "up", "--bad"},
		`invalid --to "x": expected a whole number`:                 {"migrate", "down", "--to", "x"},
		`no database: set DATABASE_URL`:                             {"migrate", "status"},
		`"oxbow migrate down" deletes data: add --yes to confirm`:   {"migrate", "down", "--database-url", "postgres://h/d"},
		`Run "oxbow migrate up --help" for usage.`:                  {"migrate", "up", "-x"},
	} {
		r := cli(t, args...)
		require.Equal(t, exitUsage, r.code, args)
		require.Contains(t, r.err, says)
		require.True(t, strings.HasPrefix(r.err, "oxbow: "), r.err)
		require.Equal(t, 2, strings.Count(r.err, "\n"), "a sentence, and where to read more")
		require.Empty(t, r.out)
	}
}

func TestHelp(t *testing.T) {
	t.Setenv("DATABASE_URL", "postgres://u:hunter2@h/d")
	for _, args := range [][]string{{}, {"--help"}, {"migrate", "--help"}, {"migrate", "down", "--help"}} {
		r := cli(t, args...)
		require.Zero(t, r.code, args)
		require.Contains(t, r.out, "--database-url")
		require.NotContains(t, r.out, "hunter2")
		require.Empty(t, r.err)
	}
}

func TestVersion(t *testing.T) {
	r := cli(t, "--version")
	require.Zero(t, r.code)
	require.Regexp(t, `^oxbow version \S+ \(go1\.\S+, `+runtime.GOOS+`/`+runtime.GOARCH+`\)\n$`, r.out)
}

func TestNoConnection(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	closed := listener.Addr().String()
	require.NoError(t, listener.Close())
	for url, says := range map[string]string{
		"postgres://u:secret@" + closed + "/d":           "cannot connect to PostgreSQL on " + closed,
		"host=/no/such/directory user=u password=secret": "cannot connect to PostgreSQL on socket /no/such/directory/.s.PGSQL.5432",
		"postgres://u:secret@no-such-host.invalid/d":     `cannot resolve the host "no-such-host.invalid" in the database URL`,
		"postgres://u:secret@h:port/d":                   "invalid database URL",
	} {
		for _, command := range []string{"up", "status"} {
			r := cli(t, "migrate", command, "--database-url", url)
			require.Equal(t, exitFailed, r.code)
			require.Contains(t, r.err, says)
			require.NotContains(t, r.err, "secret")
			require.Equal(t, 1, strings.Count(r.err, "\n"))
		}
	}
}
