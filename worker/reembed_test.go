package worker

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/embedding"
	"github.com/oxbow-memory/oxbow/internal/embedding/embeddingtest"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/store"
)

// catalog returns the definition of the vector tables, without the length of the vectors.
func (b *bundle) catalog() string {
	b.Helper()
	return get[string](b, `
		select jsonb_build_array(
		  (select jsonb_agg(jsonb_build_array(c.relname, c.relkind, c.relrowsecurity, c.relacl::text,
		  pg_get_expr(c.relpartbound, c.oid)) order by c.relname)
		     from pg_class c where c.relnamespace = 'oxbow'::regnamespace and c.relname like 'memory\_vectors%'),
		  (select jsonb_agg(jsonb_build_array(attrelid::regclass, attname, atttypid::regtype, attstorage, attnotnull)
		  order by attrelid::regclass::text, attnum)
		     from pg_attribute where attrelid::regclass::text like 'oxbow.memory\_vectors%' and attnum > 0),
		  (select jsonb_agg(jsonb_build_array(conrelid::regclass, conname, pg_get_constraintdef(oid))
		  order by conrelid::regclass::text, conname)
		     from pg_constraint where conrelid::regclass::text like 'oxbow.memory\_vectors%' and conparentid = 0),
		  (select jsonb_agg(jsonb_build_array(conrelid::regclass, conname) order by conrelid::regclass::text, conname)
		     from pg_constraint where conrelid::regclass::text like 'oxbow.memory\_vectors%' and contype <> 'f'),
		  (select jsonb_agg(to_jsonb(p) - 'roles' order by tablename, policyname) from pg_policies p
		  where tablename like 'memory\_vectors%'))::text`)
}

const smallPage = 64

// target returns a configuration of the local provider with another dimension.
func (b *bundle) target(dimension int) Config {
	cfg := b.asOwner()
	cfg.reembedPage = smallPage
	cfg.Embedding = EmbeddingConfig{Dimension: dimension}
	return cfg
}

// asOwner returns the configuration with the login of the owner, which Reembed needs.
func (b *bundle) asOwner() Config {
	cfg := b.cfg
	cfg.DatabaseURL = pgtest.As(b.T, b.dsn, "oxbow")
	return cfg
}

func TestReembed(t *testing.T) {
	b := setup(t)
	b.insert("ann", numbered(200, "memory")...)
	b.exec(`insert into oxbow.memories (user_id, content, speaker) select 'bob', 'fact ' || i, 'Bob'
		from generate_series(1, 100) i`)
	require.NoError(t, b.drain())
	b.exec(`update oxbow.memories set forgotten_at = now() where content = 'fact 7'`)
	before := b.catalog()

	var rounds []int
	result, err := Reembed(t.Context(), b.target(64), func(p ReembedProgress) { rounds = append(rounds, p.Round) })
	require.NoError(t, err)
	require.Equal(t, ReembedResult{
		From: store.EmbeddingModel{Model: "local-v1", Dimension: 1024},
		To:   store.EmbeddingModel{Model: "local-v1", Dimension: 64}, Made: 299,
	}, result)
	require.Equal(t, []int{1, 2}, slices.Compact(rounds), "what came in meanwhile is looked for")
	require.Equal(t, before, b.catalog())
	require.Equal(t, 299, b.count(`oxbow.memory_vectors where vector_dims(embedding) = 64`))
	require.Zero(t, b.count(`oxbow.settings where key = 'reembed'`))
	want, err := embedding.NewLocal(64).Embed(t.Context(), []string{"Bob: fact 8"})
	require.NoError(t, err)
	require.Equal(t, 1, b.count(`oxbow.memory_vectors v join oxbow.memories m on m.id = v.memory_id
		where m.content = 'fact 8' and v.embedding = $1::text::halfvec`, halfvec(want[0])))

	_, err = New(t.Context(), b.cfg)
	require.ErrorAs(t, err, new(*store.ModelMismatchError))
	b.cfg.Embedding = b.target(64).Embedding
	b.insert("ann", "one more")
	require.NoError(t, b.drain())
	require.Equal(t, 300, b.count(`oxbow.memory_vectors where vector_dims(embedding) = 64`))
	_, err = Reembed(t.Context(), b.asOwner(), nil)
	require.ErrorIs(t, err, ErrSameModel)
}

// The prefixes belong to the model: a worker with others is refused. Another passage prefix makes all vectors anew,
// another query prefix none.
func TestReembedPrefixes(t *testing.T) {
	b := setup(t)
	server := embeddingtest.New(t, 1024)
	b.cfg.Embedding = EmbeddingConfig{Provider: "openai", URL: server.OpenAIURL(), Model: "m", Dimension: 1024}
	b.setModel(store.EmbeddingModel{Model: "openai:m", Dimension: 1024})
	b.insert("ann", "one", "two")
	require.NoError(t, b.drain())

	b.cfg.Embedding.PassagePrefix = "passage: "
	_, err := New(t.Context(), b.cfg)
	require.ErrorAs(t, err, new(*store.ModelMismatchError))
	require.ErrorContains(t, err, `--embedding-dimension 1024 --embedding-passage-prefix 'passage: '`)
	result, err := Reembed(t.Context(), b.asOwner(), nil)
	require.NoError(t, err)
	require.EqualValues(t, 2, result.Made)
	vector := embeddingtest.Vector("passage: one", 1024)
	require.NoError(t, embedding.Normalize(vector))
	require.Equal(t, 1, b.count(`oxbow.memory_vectors where embedding <=> $1::text::halfvec < 0.0001`, halfvec(vector)))
	b.insert("ann", "three")
	require.NoError(t, b.drain())
	require.Equal(t, 3, b.count(`oxbow.memory_vectors`))

	b.cfg.Embedding.QueryPrefix = "query: "
	_, err = New(t.Context(), b.cfg)
	require.ErrorAs(t, err, new(*store.ModelMismatchError))
	result, err = Reembed(t.Context(), b.asOwner(), nil)
	require.NoError(t, err)
	require.Zero(t, result.Made)
	require.Equal(t, "query: ", result.To.QueryPrefix)
	require.NoError(t, b.drain())
}

// Memories arrive, are embedded and are erased during a reembed, while the worker of the old model runs.
func TestReembedWhileServing(t *testing.T) {
	b := setup(t)
	first := b.insert("ann", numbered(200, "memory")...)
	require.NoError(t, b.drain())
	_, stop, ended := b.run()
	served := 0
	result, err := Reembed(t.Context(), b.target(64), func(p ReembedProgress) {
		if served++; served > 3 {
			return
		}
		ids := b.insert("new", "during "+strings.Repeat("x", served))
		b.eventually(`select exists (select from oxbow.memory_vectors where memory_id = $1)`, ids[0])
		require.Equal(t, 1, b.count(`oxbow.recall('new', $1)`, strings.Repeat("x", served)))
		b.exec(`select oxbow.erase_memory('ann', $1)`, first[served])
	})
	require.NoError(t, err)
	require.Greater(t, served, 3)
	b.insert("new", "zebra")
	// found by words, because the old worker makes no vector for it
	b.eventually(`select exists (select from oxbow.recall('new', 'zebra'))`)
	stop()
	require.NoError(t, end(t, ended))
	b.cfg.Embedding = b.target(64).Embedding
	b.work()
	require.Equal(t, 197+4, b.count(`oxbow.memory_vectors`))
	require.Equal(t, 197+4, b.count(`oxbow.memories`))
	require.LessOrEqual(t, result.Left, int64(3))
}

func TestReembedResumes(t *testing.T) {
	b := setup(t)
	b.insert("ann", numbered(200, "memory")...)
	require.NoError(t, b.drain())
	server := embeddingtest.New(t, 32)
	target := b.target(32)
	target.Embedding = EmbeddingConfig{Provider: "openai", Model: "m", Dimension: 32, URL: server.OpenAIURL()}

	// interrupted after a page
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Reembed(ctx, target, func(ReembedProgress) { cancel() })
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, smallPage, b.count(`oxbow.memory_vectors_next`))
	require.Equal(t, 200, b.count(`oxbow.memory_vectors where vector_dims(embedding) = 1024`),
		"nothing changed for anyone")
	b.insert("aaa", "before the place that was reached")

	asked := len(server.Requests())
	var resumed bool
	result, err := Reembed(t.Context(), target, func(p ReembedProgress) { resumed = p.Resumed })
	require.NoError(t, err)
	require.True(t, resumed)
	require.Equal(t, int64(200-smallPage+1), result.Made)
	texts := 0
	for _, r := range server.Requests()[asked:] {
		texts += len(r.Texts)
	}
	require.Equal(t, 200-smallPage+2, texts, "one to try the model; what was made is not asked for again")
	require.Equal(t, 201, b.count(`oxbow.memory_vectors where vector_dims(embedding) = 32`))
}

// A reembed to another model starts again.
func TestReembedToAnotherModel(t *testing.T) {
	b := setup(t)
	b.insert("ann", numbered(100, "memory")...)
	require.NoError(t, b.drain())
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Reembed(ctx, b.target(64), func(ReembedProgress) { cancel() })
	require.ErrorIs(t, err, context.Canceled)
	_, err = Reembed(t.Context(), b.target(128), nil)
	require.NoError(t, err)
	require.Equal(t, 100, b.count(`oxbow.memory_vectors where vector_dims(embedding) = 128`))
}

func TestReembedWithProviderThatMisbehaves(t *testing.T) {
	b := setup(t)
	b.insert("ann", "fine", "a forbidden word", "fine too")
	require.NoError(t, b.drain())
	b.exec(`select oxbow.refuse_vectors(array['ann'], 'local-v1', array(select id from oxbow.memories
		limit 1), 'of the old model')`)
	server := embeddingtest.New(t, 32)
	server.Always(embeddingtest.Status(503, "busy"))
	target := b.target(32)
	target.Embedding = EmbeddingConfig{Provider: "openai", Model: "m", Dimension: 32, URL: server.OpenAIURL()}
	var waited []string
	result, err := Reembed(t.Context(), target, func(p ReembedProgress) {
		if p.Waiting == nil {
			return
		}
		waited = append(waited, p.Waiting.Error())
		if len(waited) == 1 {
			server.Always(embeddingtest.NaN())
			return
		}
		server.Always(embeddingtest.Fault{})
		server.Refuse(func(texts []string) bool {
			return slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, "forbidden") })
		})
	})
	require.NoError(t, err)
	require.Len(t, waited, 2)
	require.Contains(t, waited[0], "busy")
	require.Contains(t, waited[1], "cannot be read as vectors")
	require.Equal(t, []int64{2, 1}, []int64{result.Made, result.Refused})
	require.Equal(t, []string{"openai:m"}, get[[]string](b, `select array_agg(model) from oxbow.embedding_refusals`))
}

// The exchange waits for an application that holds a lock, and lets waiting transactions pass meanwhile.
func TestReembedWaitsForLocks(t *testing.T) {
	b := setup(t)
	b.insert("ann", "I like tea")
	require.NoError(t, b.drain())
	hold, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	defer hold.Rollback(t.Context())
	var result ReembedResult
	held, released := false, false
	result, err = Reembed(t.Context(), b.target(64), func(p ReembedProgress) {
		switch {
		case !held:
			held = true
			_, err := hold.Exec(t.Context(), `select from oxbow.memories`)
			require.NoError(t, err)
		case p.Waiting != nil && !released:
			require.True(t, store.IsLockTimeout(p.Waiting), p.Waiting)
			require.Equal(t, 1, b.count(`oxbow.recall('ann', 'tea')`))
			released = true
			require.NoError(t, hold.Commit(t.Context()))
		}
	})
	require.NoError(t, err)
	require.True(t, released)
	require.Equal(t, int64(1), result.Made)
}

func TestReembedRefuses(t *testing.T) {
	b := setup(t)
	other, err := pgx.Connect(t.Context(), b.dsn)
	require.NoError(t, err)
	defer other.Close(t.Context())
	_, err = other.Exec(t.Context(), `select pg_advisory_lock(hashtextextended('oxbow.reembed', 0))`)
	require.NoError(t, err)
	_, err = Reembed(t.Context(), b.target(64), nil)
	require.ErrorContains(t, err, "another reembed is running")

	cfg := b.target(64)
	cfg.DatabaseURL = pgtest.As(t, b.dsn, "worker")
	_, err = Reembed(t.Context(), cfg, nil)
	require.ErrorContains(t, err, "worker does not: connect as")
	require.Zero(t,
		b.count(`oxbow.settings
			where key not in ('embedding', 'conversations', 'sensory', 'vector_index', 'vector_index.looked')`))
}
