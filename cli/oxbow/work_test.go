package main

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/embedding/embeddingtest"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

const threeMemories = `insert into oxbow.memories (user_id, memory_type, content)
	values ('ann', 'fact', 'tea'), ('ann', 'fact', 'coffee'), ('bob', 'episodic', 'a walk')`

func TestWorkUntilIdle(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	on{t, dsn}.exec(threeMemories)
	for range 2 {
		r := cli(t, "work", "--until-idle", "--database-url", pgtest.As(t, dsn, "worker"))
		require.Zero(t, r.code, r.err)
		require.Empty(t, r.unexpected())
		require.Equal(t, 3, on{t, dsn}.number("select count(*) from oxbow.memory_vectors"))
		require.Zero(t, on{t, dsn}.number("select count(*) from oxbow.river_job where state <> 'completed'"))
	}
}

// As the owner of a single-tenant database, who may also change the model.
func TestWorkUntilIdleWithProviderDown(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	server := embeddingtest.New(t, 8)
	server.Always(embeddingtest.Status(503, "overloaded"))
	on{t, dsn}.exec(threeMemories)
	flags := []string{"--database-url", dsn, "--embedding-provider", "openai", "--embedding-model", "m",
		"--embedding-dimension", "8", "--embedding-url", server.OpenAIURL()}

	r := cli(t, append([]string{"work", "--until-idle"}, flags...)...)
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.err,
		"choose openai:m with 8 dimensions, but the database's vectors are from local-v1 with 1024 dimensions")
	require.Contains(t, r.err, "oxbow reembed --embedding-provider openai --embedding-model m --embedding-dimension 8")

	server.Always(embeddingtest.Fault{})
	r = cli(t, append([]string{"reembed"}, flags...)...)
	require.Zero(t, r.code, r.err)
	require.Contains(t, r.out,
		"Changed the model from local-v1 with 1024 dimensions to openai:m with 8 dimensions: 3 vectors computed.")
	r = cli(t, append([]string{"reembed"}, flags...)...)
	require.Zero(t, r.code, r.err)
	require.Contains(t, r.out, "Nothing to do: the database already uses this model: openai:m with 8 dimensions.")

	server.Always(embeddingtest.Status(503, "overloaded"))
	on{t, dsn}.exec(`insert into oxbow.memories (user_id, content) values ('ann', 'milk')`)
	r = cli(t, append([]string{"work", "--until-idle"}, flags...)...)
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.err, "job")
	require.Contains(t, r.err, "postponed: ")
	require.Contains(t, r.err, "overloaded")
	require.Equal(t, 1, on{t, dsn}.number("select count(*) from oxbow.recall('ann', 'milk')"))
}

func TestWorkRefusesDatabases(t *testing.T) {
	t.Parallel()
	ahead, empty, behind := pgtest.Database(t), pgtest.Empty(t), pgtest.Database(t)
	on{t, ahead}.exec(`update oxbow.schema_version set version = 99`)
	on{t, behind}.exec(`update oxbow.schema_version set version = 1`)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	down := listener.Addr().String()
	require.NoError(t, listener.Close())
	for dsn, says := range map[string]string{
		ahead:                       "the database is newer than this version of oxbow",
		behind:                      "the database is older than this version of oxbow",
		empty:                       "oxbow migrate up",
		"postgres://" + down + "/d": "cannot connect to PostgreSQL on " + down,
	} {
		for _, command := range [][]string{{"work"}, {"work", "--until-idle"},
			{"reembed", "--embedding-dimension", "64"}} {
			r := cli(t, append(command, "--database-url", dsn)...)
			require.Equal(t, exitFailed, r.code, r.err)
			require.Contains(t, r.err, says)
			require.Equal(t, 1, strings.Count(r.err, "\n"), r.err)
		}
	}
}

func TestWorkUntilInterrupted(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan result, 1)
	go func() {
		ended <- cliContext(ctx, "work", "--database-url", pgtest.As(t, dsn, "worker"), "--health-addr", "127.0.0.1:0")
	}()
	on{t, dsn}.exec(threeMemories)
	require.Eventually(t, func() bool { return on{t, dsn}.number("select count(*) from oxbow.memory_vectors") == 3 },
		5*time.Minute, 10*time.Millisecond)
	cancel()
	r := <-ended
	require.Zero(t, r.code, r.err)
	for _, says := range []string{"serving health", "msg=working", "msg=stopping"} {
		require.Contains(t, r.err, says)
	}
}

func TestEmbeddingVariables(t *testing.T) {
	for name, c := range map[string]struct{ value, says string }{
		"OXBOW_EMBEDDING_DIMENSION": {"many", `invalid OXBOW_EMBEDDING_DIMENSION "many": expected a whole number`},
		"OXBOW_EMBEDDING_TIMEOUT":   {"30", `invalid OXBOW_EMBEDDING_TIMEOUT "30": expected a duration such as 30s`},
		"OXBOW_EMBEDDING_SEND_DIMENSION": {"perhaps",
			`invalid OXBOW_EMBEDDING_SEND_DIMENSION "perhaps": expected true or false`},
		"OXBOW_EMBEDDING_PROVIDER": {"x", `unknown embedding provider "x": use local, onnx, openai or ollama`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, c.value)
			r := cli(t, "work", "--database-url", "postgres://h/d")
			require.NotZero(t, r.code)
			require.Contains(t, r.err, c.says)
		})
	}
	t.Setenv("OXBOW_EMBEDDING_API_KEY", "secret")
	require.NotContains(t, cli(t, "work", "--help").out, "secret")
}
