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

// Without a terminal, a long command reports its progress from time to time.
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

const someID = "0198c2f6-7f0e-7bb2-9a52-0d7a51e9f5c1"

// A mistake in the command line is reported before a database is needed.
func TestWrongCommandLines(t *testing.T) {
	t.Setenv("DATABASE_URL", "")
	for says, args := range map[string][]string{
		`unknown command "nope" for "oxbow"`:                           {"nope"},
		`unknown command "upp" for "oxbow migrate"`:                    {"migrate", "upp"},
		`missing subcommand of "oxbow migrate": up, down or status`:    {"migrate"},
		`missing subcommand of "oxbow keys": new, add, encrypt or api`: {"keys"},
		`--name is required`:                                           {"keys", "api", "create", "--role", "app", "--database-url", "postgres://h/d"},
		`invalid --expires "soon": expected a duration such as 90d`:    {"keys", "api", "create", "--expires", "soon"},
		`--issuer and --audience need each other`:                      {"serve", "--issuer", "https://i", "--database-url", "postgres://h/d"},
		`unknown command "extra" for "oxbow migrate up"`:               {"migrate", "up", "extra"},
		`expected USER TEXT, got 1 argument`:                           {"remember", "u"},
		`expected USER [QUERY], got 0 arguments`:                       {"context"},
		`expected FILE... --user USER, got 0 arguments`:                {"ingest", "--user", "u"},
		`unknown flag: --bad`:                                          {"migrate", "up", "--bad"},
		`unknown command "nope" for "oxbow"
Run "oxbow help --help" for usage.`: {"help", "nope"},
		`unknown command "upp" for "oxbow migrate"
`: {"help", "migrate", "upp"},
		`--user is required`:                      {"ingest", "a.txt", "--database-url", "postgres://h/d"},
		`--as-of and --now exclude each other`:    {"traits", "u", "--as-of", "2025", "--now", "2025"},
		`--explain and --json exclude each other`: {"recall", "u", "x", "--json", "--explain"},
		`--all and --limit exclude each other`:    {"trait", someID, "--all", "-n", "3"},
		`--supersedes and --importance exclude each other`: {"remember", "u", "x", "--supersedes",
			someID, "--importance", "1"},
		`invalid database URL: cannot parse`:                             {"status", "--database-url", "garbage"},
		`invalid --sensitivity "4": expected a whole number from 0 to 3`: {"remember", "u", "x", "--sensitivity", "4"},
		`invalid --metrics-addr "foo": expected an address such as`:      {"work", "--metrics-addr", "foo"},
		`invalid --health-addr "127.0.0.1:99999": expected an address`:   {"work", "--health-addr", "127.0.0.1:99999"},
		`invalid --embedding-batch-size "0": expected a whole number from 1 to 64`: {"work", "--embedding-batch-size",
			"0"},
		`invalid --reasoner-timeout "-1s": expected a duration`:             {"work", "--reasoner-timeout", "-1s"},
		`invalid --concurrency "0": expected a whole number from 1 to 1000`: {"work", "--concurrency", "0"},
		`the reasoner rules has no model`:                                   {"work", "--reasoner-model", "m", "--database-url", "postgres://h/d"},
		`unknown reasoner provider "acme"`:                                  {"work", "--reasoner-provider", "acme", "--database-url", "postgres://h/d"},
		`the local embedding provider has no URL`: {"recall", "u", "x", "--embedding-url", "http://h", "--database-url",
			"postgres://h/d"},
		`--reason requires --supersedes`: {"remember", "u", "x", "--reason",
			"because"},
		`invalid --to "x": expected a whole number`:                      {"migrate", "down", "--to", "x"},
		`invalid --limit "0": expected a whole number from 1 to 1000`:    {"recall", "u", "x", "--limit", "0"},
		`invalid --limit "1001": expected a whole number from 1 to 1000`: {"sensory", "u", "-n", "1001"},
		`invalid --max-tokens "many": expected a whole number from 1 to 1000000`: {"context", "u", "--max-tokens",
			"many"},
		`invalid --chunk-size "99": expected a whole number from 100 to 20000`: {"ingest", "a", "--user", "u",
			"--chunk-size", "99"},
		`invalid --batch "0": expected a whole number`: {"import-v1", "--batch", "0"},
		`invalid --importance "much": expected a number`: {"remember", "u", "x", "--importance",
			"much"},
		`invalid --confidence "x": expected a number`: {"trait", "edit", someID, "--confidence",
			"x"},
		`invalid --importance-scale 5: expected 1 or 10`: {"import-v1", "--importance-scale",
			"5"},
		`invalid --map note=trade: expected fact, episodic, trait or document`: {"import-v1", "--map", "note=trade"},
		`invalid --limit-questions -1: expected 0 or more`: {"eval", "f", "--limit-questions",
			"-1"},
		`invalid --every "1ms": expected a duration such as 30s or 2m, at least 100ms`: {"top", "--every", "1ms"},
		`invalid --timeout 0s: expected 1ms to 1h`:                                     {"doctor", "--timeout", "0"},
		`invalid --stop-timeout "soon": expected a duration such as 30s`:               {"work", "--stop-timeout", "soon"},
		`invalid --type "trait": expected fact, episodic or document`: {"remember", "u", "x", "--type",
			"trait"},
		`invalid --type "fact,insight": expected fact, episodic, trait or document`: {"recall", "u", "x",
			"--type", "fact,insight"},
		`invalid --type "document": expected fact or episodic`: {"timeline", "u", "x", "--type", "document"},
		`invalid --metadata "[1]": expected a JSON object such as {"city": "Lund"}`: {"recall", "u", "x",
			"--metadata", "[1]"},
		`invalid --metadata "{": expected a JSON object`: {"remember", "u", "x", "--metadata", "{"},
		`invalid --as-of "May 2024": expected a day (2024-05-17), a month (2024-05)`: {"recall", "u", "x",
			"--as-of", "May 2024"},
		`invalid --at "2025-02-30": expected a day`:         {"remember", "u", "x", "--at", "2025-02-30"},
		`invalid --now "soon": expected a day`:              {"traits", "u", "--now", "soon"},
		`invalid --supersedes "7": expected a UUID such as`: {"remember", "u", "x", "--supersedes", "7"},
		`invalid --memory "x": expected a UUID`:             {"erase", "--memory", "x", "--user", "u", "--yes"},
		`invalid memory id "7": expected a UUID`:            {"show", "7"},
		`invalid trait id "0198zzzz": expected a UUID, or at least its first 8 hex digits`: {"trait", "edit",
			"0198zzzz", "--user", "u", "--context", "work"},
		`short trait id "0198c2f6" requires --user`:           {"trait", "0198c2f6"},
		`user_id must have 1 to 255 bytes, got ""`:            {"recall", "", "x"},
		`invalid --user "": user_id must have 1 to 255 bytes`: {"import", "f", "--user", ""},
		`unknown embedding provider "acme": use local, onnx, openai or ollama`: {"recall", "u", "x",
			"--embedding-provider", "acme", "--database-url", "postgres://h/d"},
		`nothing to correct: give --content, --context or --confidence`: {"trait", "edit", someID, "--reason", "x"},
		`--content must not be blank`:                                   {"trait", "edit", someID, "--content", " "},
		`--context must be work, personal`:                              {"trait", "edit", someID, "--context", ""},
		`nothing to erase: give USER`:                                   {"erase", "--yes"},
		`--memory requires --user`:                                      {"erase", "--memory", someID, "--yes"},
		`--user requires --memory: to erase a user, run oxbow erase u`:  {"erase", "--user", "u", "--yes"},
		`USER "u" and --memory exclude each other`:                      {"erase", "u", "--memory", someID, "--yes"},
		`--json prints one receipt, got 2 users`:                        {"erase", "u", "v", "--yes", "--json"},
		`--receipt accepts one user, got 2`:                             {"erase", "u", "v", "--receipt", "x"},
		`"oxbow erase" deletes data: add --yes to confirm`:              {"erase", "u"},
		`"oxbow trait delete" deletes data: add --yes to confirm`:       {"trait", "delete", someID},
		`"oxbow migrate down" deletes data: add --yes to confirm`: {"migrate", "down", "--database-url",
			"postgres://h/d"},
		`standard input requires --name`:           {"ingest", "-", "--user", "u"},
		`--name accepts one file, got 2`:           {"ingest", "a", "b", "--name", "c", "--user", "u"},
		`no database: set DATABASE_URL`:            {"migrate", "status"},
		`Run "oxbow migrate up --help" for usage.`: {"migrate", "up", "-x"},
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
		"postgres://u:secret@" + closed + "/d": "cannot connect to PostgreSQL on " + closed + " (connection refused): check",
		"host=/no/such/directory user=u password=secret": "cannot connect to PostgreSQL on socket " +
			"/no/such/directory/.s.PGSQL.5432 (no such file or directory)",
		"postgres://u:secret@no-such-host.invalid/d": `cannot resolve the host "no-such-host.invalid" in the ` +
			`database URL`,
		"postgres://u:secret@h:port/d": "invalid database URL",
	} {
		for _, command := range []string{"up", "status"} {
			r := cli(t, "migrate", command, "--database-url", url)
			code := exitFailed
			if says == "invalid database URL" {
				code = exitUsage
			}
			require.Equal(t, code, r.code)
			require.Contains(t, r.err, says)
			require.NotContains(t, r.err, "secret")
			require.Equal(t, code, strings.Count(r.err, "\n"))
		}
	}
}
