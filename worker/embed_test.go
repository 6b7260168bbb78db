package worker

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/embedding"
	"github.com/oxbow-memory/oxbow/internal/embedding/embeddingtest"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/store"
)

func TestEmbed(t *testing.T) {
	b := setup(t)
	ids := b.insert("ann", numbered(300, "memory")...)
	b.exec(`insert into oxbow.memories (user_id, content, speaker) values ('ann', 'I like tea', 'Ann')`)
	require.NoError(t, b.drain())

	terms, vectors := b.embedded(ids)
	require.Equal(t, 300, terms)
	require.Equal(t, 300, vectors)
	require.Equal(t, 301, b.count(`oxbow.reflection_inbox`)+get[int](b,
		`select sum(memories_scanned) from oxbow.reflection_cycles`))
	require.Equal(t, 301, get[int](b, `select sum(documents) from oxbow.memory_term_stats`))
	require.Zero(t, b.count(`oxbow.river_job where state <> 'completed'`))

	want, err := embedding.NewLocal(1024).Embed(t.Context(), []string{"Ann: I like tea"})
	require.NoError(t, err)
	got := get[string](b, `select embedding::text from oxbow.memory_vectors_fact`)
	require.Equal(t, get[string](b, `select $1::halfvec(1024)::text`, halfvec(want[0])), got,
		"the speaker belongs to the text")
}

// A vector stored by the application is kept.
func TestEmbedKeepsVector(t *testing.T) {
	b := setup(t)
	server := b.remote()
	ids := b.insert("ann", "mine", "yours")
	b.exec(`insert into oxbow.memory_vectors select user_id, memory_type, id, ('[1' || repeat(',0',
		1023) || ']')::halfvec from oxbow.memories where id = $1`, ids[0])
	require.NoError(t, b.drain())
	require.Len(t, server.Requests(), 1)
	require.Equal(t, []string{"yours"}, server.Requests()[0].Texts)
	require.Equal(t, 1, b.count(`oxbow.memory_vectors where memory_id = $1 and embedding <#> embedding = -1`, ids[0]))
	terms, vectors := b.embedded(ids)
	require.Equal(t, []int{2, 2}, []int{terms, vectors})
}

func TestProviderDown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault    embeddingtest.Fault
		minPause float64
		says     string
	}{
		"429, come back in 20 s": {embeddingtest.TooManyRequests(20 * time.Second), 15, "rate limit reached"},
		"429":                    {embeddingtest.TooManyRequests(-1), 2, "rate limit reached"},
		"500":                    {embeddingtest.Status(500, "broken"), 2, "broken"},
		"401":                    {embeddingtest.Status(401, "bad key"), 2, "check the API key"},
		"hanging":                {embeddingtest.Hang(), 2, "no answer within"},
		"dropped":                {embeddingtest.Drop(), 2, "does not answer"},
	} {
		t.Run(name, func(t *testing.T) {
			b := setup(t)
			server := b.remote()
			patience := b.cfg.Embedding.Timeout
			if name == "hanging" {
				b.cfg.Embedding.Timeout = 200 * time.Millisecond
			}
			server.Always(c.fault)
			ids := b.insert("ann", "I like tea", "I like coffee")

			err := b.drain()
			var left *UnfinishedError
			require.ErrorAs(t, err, &left)
			require.Equal(t, int64(1), left.Jobs)
			require.ErrorContains(t, err, c.says)
			terms, vectors := b.embedded(ids)
			require.Equal(t, []int{2, 0}, []int{terms, vectors}, "words are indexed meanwhile")
			require.Equal(t, 1, b.count(`oxbow.recall('ann', 'coffee')`))
			j := b.job("embed")
			require.Contains(t, []string{"scheduled", "available"}, j.State)
			require.Zero(t, j.Attempt, "it was no attempt")
			require.Greater(t, j.Pause, c.minPause)

			server.Always(embeddingtest.Fault{})
			b.cfg.Embedding.Timeout = patience
			require.NoError(t, b.drain(), "another worker asks at once")
			terms, vectors = b.embedded(ids)
			require.Equal(t, []int{2, 2}, []int{terms, vectors})
			require.Equal(t, 2, b.count(`oxbow.reflection_inbox`))
			require.Equal(t, 1, b.count(`oxbow.river_job where kind = 'check_trigger'`), "asked once")
		})
	}
}

// While a provider is down, jobs do not each wait for a call to it.
func TestProviderDownIsAskedRarely(t *testing.T) {
	b := setup(t)
	server := b.remote()
	b.cfg.Embedding.Timeout = 200 * time.Millisecond
	server.Always(embeddingtest.Hang())
	for i := range 40 {
		b.insert("ann", numbered(2, strings.Repeat("x", i+1))...)
	}
	begin := time.Now()
	var left *UnfinishedError
	require.ErrorAs(t, b.drain(), &left)
	pauses := int(time.Since(begin) / (5 * time.Second)) // none, unless the machine is slow
	require.Equal(t, 40, b.count(`oxbow.river_job where kind = 'embed'
		and state in ('available', 'scheduled', 'retryable')`))
	require.LessOrEqual(t, len(server.Requests()), b.cfg.Concurrency*(1+pauses),
		"only those that were under way when the first failed")
	require.Equal(t, 80, b.count(`oxbow.memory_terms`))
}

func TestProviderAnswersNonsense(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault embeddingtest.Fault
		says  string
	}{
		"short vector": {embeddingtest.ShortVector(), "1023 dimensions, but the configuration says 1024"},
		"NaN":          {embeddingtest.NaN(), "cannot be read as vectors"},
		"one less":     {embeddingtest.OneLess(), "1 vectors for 2 texts"},
		"one more":     {embeddingtest.OneMore(), "3 vectors for 2 texts"},
		"all zero":     {embeddingtest.ZeroVector(), "all zero"},
		"garbage":      {embeddingtest.Garbage(), "cannot be read as vectors"},
	} {
		t.Run(name, func(t *testing.T) {
			b := setup(t)
			server := b.remote()
			server.Next(c.fault)
			ids := b.insert("ann", "I like tea", "I like coffee")
			require.NoError(t, b.drain(), "tried again after a second")
			require.Len(t, server.Requests(), 2)
			j := b.job("embed")
			require.Equal(t, 2, j.Attempt)
			require.Contains(t, j.LastError, c.says)
			terms, vectors := b.embedded(ids)
			require.Equal(t, []int{2, 2}, []int{terms, vectors})
		})
	}
}

func TestProviderRefusesTexts(t *testing.T) {
	b := setup(t)
	server := b.remote()
	server.Refuse(func(texts []string) bool {
		return slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, "forbidden") })
	})
	ids := b.insert("ann", "fine", "a forbidden word", "fine too")
	require.NoError(t, b.drain())
	terms, vectors := b.embedded(ids)
	require.Equal(t, []int{3, 2}, []int{terms, vectors})
	require.Equal(t, ids[1], get[uuid.UUID](b, `select memory_id from oxbow.embedding_refusals where model = 'openai:m'
		and reason like '%not acceptable%'`))
	require.Equal(t, 1, b.count(`oxbow.recall('ann', 'forbidden')`), "found by its words")

	asked := len(server.Requests())
	b.exec(`update oxbow.river_job set state = 'available', attempt = 0, finalized_at = null where kind = 'embed'`)
	require.NoError(t, b.drain())
	require.Len(t, server.Requests(), asked, "what was refused is not asked again")
}

// A job of many texts keeps the results of its earlier calls.
func TestEmbedInSeveralCalls(t *testing.T) {
	b := setup(t)
	server := b.remote()
	server.Next(embeddingtest.Fault{}, embeddingtest.Status(503, "busy"))
	ids := b.insert("ann", numbered(100, "memory")...)
	require.ErrorAs(t, b.drain(), new(*UnfinishedError))
	terms, vectors := b.embedded(ids)
	require.Equal(t, []int{100, 64}, []int{terms, vectors})
	b.work()
	_, vectors = b.embedded(ids)
	require.Equal(t, 100, vectors)
	sent := server.Requests()
	require.Len(t, sent[len(sent)-1].Texts, 36)
}

func TestMemoriesThatAreGone(t *testing.T) {
	b := setup(t)
	server := b.remote()
	ids := b.insert("ann", "deleted", "forgotten", "here")
	b.exec(`delete from oxbow.memories where id = $1`, ids[0])
	b.exec(`update oxbow.memories set forgotten_at = now() where id = $1`, ids[1])
	require.NoError(t, b.drain())
	require.Equal(t, []string{"here"}, server.Requests()[0].Texts)
	require.Equal(t, 1, b.count(`oxbow.memory_vectors`))

	b.exec(`delete from oxbow.memories`)
	b.exec(`update oxbow.river_job set state = 'available', attempt = 0, finalized_at = null where kind = 'embed'`)
	require.NoError(t, b.drain())
	require.Len(t, server.Requests(), 1)
}

// A memory that is erased while its vector is being made leaves nothing behind.
func TestErasedWhileEmbedding(t *testing.T) {
	b := setup(t)
	server := b.remote()
	ids := b.insert("ann", "to be erased", "to stay")
	server.Refuse(func(texts []string) bool {
		_, err := b.pool.Exec(b.Context(), `select oxbow.erase_memory('ann', $1)`, ids[0])
		return err != nil
	})
	require.NoError(t, b.drain())
	require.Equal(t, ids[1], get[uuid.UUID](b, `select memory_id from oxbow.memory_vectors`))
	require.Equal(t, 1, b.count(`oxbow.memory_terms`))
	require.Equal(t, "completed", b.job("embed").State)

	b.insert("bob", "everything of bob")
	server.Refuse(func(texts []string) bool {
		_, err := b.pool.Exec(b.Context(), `select oxbow.erase_user('bob')`)
		return err != nil
	})
	require.NoError(t, b.drain())
	require.Zero(t, b.count(`oxbow.river_job where args ->> 'user_id' = 'bob'`))
	require.Zero(t, b.count(`oxbow.memory_terms where user_id = 'bob'`))
}

func TestUnreadableArguments(t *testing.T) {
	b := setup(t)
	b.exec(`insert into oxbow.river_job (kind, queue, max_attempts, args)
		values ('embed', 'embed', 25, '{"user_id": "ann", "ids": "x"}')`)
	require.NoError(t, b.drain())
	j := b.job("embed")
	require.Equal(t, "cancelled", j.State)
	require.Contains(t, j.LastError, `id "x" in the arguments is not a UUID`)
}

// If PostgreSQL rejects one memory, the job's other memories are stored.
func TestSplit(t *testing.T) {
	b := setup(t)
	b.exec(`create function oxbow.test_poison() returns trigger language plpgsql as $$ begin
		if exists (select from oxbow.memories m where m.id = new.memory_id and m.content = 'poison') then
			raise 'too much' using errcode = 'program_limit_exceeded';
		end if; return new; end $$;
		create trigger test_poison before insert on oxbow.memory_terms_episodic
		for each row execute function oxbow.test_poison()`)
	ids := b.insert("ann", append(numbered(20, "memory"), "poison")...)
	require.ErrorAs(t, b.drain(), new(*UnfinishedError))
	terms, vectors := b.embedded(ids)
	require.Equal(t, []int{20, 20}, []int{terms, vectors})
	require.Equal(t, 1, b.count(`oxbow.river_job where kind = 'embed' and state <> 'completed' and args ->> 'ids' = $1`,
		ids[20].String()))
}

// If the transaction of a job is rolled back at its end, nothing is stored, and the next attempt does it all.
func TestRolledBackAndRepeated(t *testing.T) {
	b := setup(t)
	b.exec(`create sequence oxbow.test_tries; grant usage on sequence oxbow.test_tries to oxbow_worker;
		create function oxbow.test_fail() returns trigger language plpgsql as $$ begin
		if nextval('oxbow.test_tries') = 1 then raise 'crash'; end if; return new; end $$;
		create trigger test_fail before update on oxbow.river_job for each row
			when (new.state = 'completed' and new.kind = 'embed') execute function oxbow.test_fail()`)
	ids := b.insert("ann", "I like tea")
	require.NoError(t, b.drain())
	require.Equal(t, 2, b.job("embed").Attempt)
	terms, vectors := b.embedded(ids)
	require.Equal(t, []int{1, 1}, []int{terms, vectors})
	require.Equal(t, 1, get[int](b, `select documents from oxbow.memory_term_stats`))
	require.Equal(t, 1, b.count(`oxbow.river_job where kind = 'check_trigger'`))
}

// A committed job can be repeated, as when the worker dies before River learns of the commit.
func TestCommittedAndRepeated(t *testing.T) {
	b := setup(t)
	b.exec(`insert into oxbow.memories (user_id, content) values ('ann', 'I like tea'), ('ann', 'I like tea'),
		('ann', 'I swim')`)
	require.NoError(t, b.drain())
	snapshot := func() string {
		return get[string](b, `select jsonb_build_array(
			(select jsonb_agg(to_jsonb(t) order by memory_id) from oxbow.memory_terms t),
			(select jsonb_agg(to_jsonb(v) order by memory_id) from oxbow.memory_vectors v),
			(select jsonb_agg(to_jsonb(s)) from oxbow.memory_term_stats s),
			(select jsonb_agg(to_jsonb(m) order by id) from oxbow.memories m),
			(select jsonb_agg(to_jsonb(i) order by memory_id) from oxbow.reflection_inbox i),
			(select jsonb_agg(to_jsonb(h) order by id) from oxbow.memory_history h),
			(select count(*) from oxbow.river_job))::text`)
	}
	before := snapshot()
	b.exec(`update oxbow.river_job set state = 'available', attempt = 0, finalized_at = null where kind = 'embed'`)
	require.NoError(t, b.drain())
	require.Equal(t, before, snapshot())
}

// Eight workers run concurrent jobs that repeat the same facts.
func TestConcurrently(t *testing.T) {
	b := setup(t)
	b.cfg.Concurrency = 8
	const facts, times = 10, 24
	for range times {
		b.exec(`insert into oxbow.memories (user_id, content) select 'ann', unnest($1::text[])`,
			numbered(facts, "fact"))
	}
	b.exec(`insert into oxbow.river_job (kind, queue, max_attempts, args) select kind, queue, max_attempts, args
		from oxbow.river_job where kind = 'embed'`)
	var workers sync.WaitGroup
	for range 2 {
		w := b.worker()
		workers.Go(func() {
			if err := w.RunUntilIdle(b.Context(), nil); err != nil {
				t.Error(err)
			}
		})
	}
	workers.Wait()
	require.Equal(t, facts*times, b.count(`oxbow.memory_vectors`))
	require.Equal(t, facts*times, get[int](b, `select documents from oxbow.memory_term_stats`))
	require.Equal(t, facts, b.count(`oxbow.memories where expired_at is null`))
	require.Equal(t, facts, b.count(`oxbow.memories where expired_at is null and mention_count = $1`, times))
	require.Equal(t, facts*(times-1), b.count(`oxbow.memories d join oxbow.memories k on k.id = d.superseded_by
		and k.expired_at is null and k.content = d.content`))
}

func TestWrongModel(t *testing.T) {
	b := setup(t)
	b.setModel(store.EmbeddingModel{Model: "openai:x", Dimension: 256})
	_, err := New(t.Context(), b.cfg)
	require.ErrorAs(t, err, new(*store.ModelMismatchError))
	require.ErrorContains(t, err, "openai:x with 256 dimensions")
	require.ErrorContains(t, err, "local-v1 with 1024 dimensions")
	require.ErrorContains(t, err, "oxbow reembed --embedding-provider local --embedding-dimension 1024")
}

// A reembed finishes while a worker with the old model runs.
func TestModelChangesUnderneath(t *testing.T) {
	b := setup(t)
	server := b.remote()
	server.Refuse(func([]string) bool { // between the job's check and its write
		_, err := b.pool.Exec(b.Context(), `update oxbow.settings set value = '{"model": "new", "dimension": 1024}'
			where key = 'embedding'`)
		return err != nil
	})
	ids := b.insert("ann", "I like tea")
	w := b.worker()
	require.ErrorAs(t, w.RunUntilIdle(t.Context(), nil), new(*UnfinishedError))
	terms, vectors := b.embedded(ids)
	require.Equal(t, []int{1, 0}, []int{terms, vectors})
	require.InDelta(t, 83, b.job("embed").Pause, 30) // includes the attempt itself
	require.Contains(t, w.Health(t.Context()).Database, "new with 1024 dimensions")

	b.hurry()
	server.Refuse(nil)
	require.ErrorAs(t, w.RunUntilIdle(t.Context(), nil), new(*UnfinishedError))
	require.Len(t, server.Requests(), 1, "the provider is not even asked")
}

func TestCalls(t *testing.T) {
	t.Parallel()
	length := func(s string) int { return len(s) }
	big := strings.Repeat("x", 700_000)
	require.Nil(t, jobs.Calls(nil, 3, length))
	require.Equal(t, [][]string{{"a", "b", "c"}, {"d"}}, jobs.Calls([]string{"a", "b", "c", "d"}, 3, length))
	require.Equal(t, [][]string{{"a", big}, {big, "b"}}, jobs.Calls([]string{"a", big, big, "b"}, 3, length))
}
