package worker

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/store"
)

// keepIndex runs the job, which decides again which users have an index.
func (b *bundle) keepIndex() {
	b.Helper()
	b.exec(`delete from oxbow.settings where key = 'vector_index.looked'`)
	b.exec(`insert into oxbow.river_job (kind, queue, max_attempts, args) values ('vector_index', 'default', 1, '{}')`)
	require.NoError(b, b.drain())
	require.Zero(b, b.count(`oxbow.river_job where kind = 'vector_index' and state <> 'completed'`))
}

// near returns what the vector channel finds for a memory's own vector, best first.
func (b *bundle) near(user string, id uuid.UUID) []string {
	b.Helper()
	return get[[]string](b, `select r.ids::text[] from oxbow.recall_vector($1, '{episodic}',
		(select embedding from oxbow.memory_vectors where user_id = $1 and memory_id = $2), 20, 0, null) r`, user, id)
}

// asNear returns the share of the first ten of found that are no further from a memory than the tenth of
// nearest. Several may be equally near.
func (b *bundle) asNear(user string, id uuid.UUID, found, nearest []string) float64 {
	b.Helper()
	return get[float64](b, `
		with d as (select v.memory_id, v.embedding <=> q.embedding as distance
		from oxbow.memory_vectors v, oxbow.memory_vectors q
		            where v.user_id = $1 and q.user_id = $1 and q.memory_id = $2)
		select count(*) / 10.0::float8 from d where memory_id = any($3::uuid[])
		   and distance <= (select max(distance) + 1e-6 from d where memory_id = any($4::uuid[]))`, user, id,
		found[:10], nearest[:10])
}

// different returns n texts, alternately English and Chinese, with few words in common.
func different(n int) []string {
	rng := rand.New(rand.NewPCG(1, 2))
	english := strings.Fields(
		"harbour lantern violin teapot telescope jacket camera kayak mirror garden thermometer umbrella guitar printer bicycle recipe")
	chinese := strings.Fields("图书馆 菜市场 办公室 自行车 小提琴 体检 登山包 普洱茶 咖啡 雨伞 电影票 钢琴谱 实验 花盆 博物馆 植物园")
	texts := make([]string, n)
	for i := range texts {
		words, between := english, " "
		if i%2 == 1 {
			words, between = chinese, "的"
		}
		picked := rng.Perm(len(words))[:4]
		texts[i] = strings.Join([]string{words[picked[0]], words[picked[1]], words[picked[2]], words[picked[3]]},
			between)
	}
	return texts
}

// untilReady waits for the transactions of other tests that are older than the slot.
func (b *bundle) untilReady(slots int) {
	b.Helper()
	require.Eventually(b, func() bool {
		b.keepIndex()
		return b.count(`oxbow.vector_slots where ready_at is not null`) == slots
	}, 3*time.Minute, 100*time.Millisecond)
}

func TestVectorIndex(t *testing.T) {
	b := setup(t)
	b.exec(`update oxbow.settings set value = '{"policy": "auto", "from": 100, "most": 2}' where key = 'vector_index'`)
	ids := b.insert("ann", different(150)...)
	b.insert("bob", numbered(90, "a lamp")...)
	require.NoError(t, b.drain())
	exact := map[uuid.UUID][]string{}
	for _, id := range []uuid.UUID{ids[3], ids[80], ids[149]} {
		exact[id] = b.near("ann", id)
		require.Len(t, exact[id], 20)
	}

	b.untilReady(1)
	require.Equal(t, 150, b.count(`oxbow.indexed_vectors where user_id = 'ann' and slot = 1`))
	require.Zero(t, b.count(`oxbow.indexed_vectors where user_id <> 'ann' or slot is null`), "bob has too few")
	for id, want := range exact {
		require.GreaterOrEqual(t, b.asNear("ann", id, b.near("ann", id), want), 0.95)
		require.Equal(t, id.String(), b.near("ann", id)[0])
	}

	// A new memory is found before it is in the index, and an erased one is in neither table.
	late := b.insert("ann", "昨天在码头弄丢了一把黑色的雨伞")
	b.exec(`select oxbow.erase_memory('ann', $1)`, ids[0])
	b.exec(`delete from oxbow.river_job where kind = 'vector_index'`)
	require.NoError(t, b.drain())
	require.Equal(t, late[0].String(), b.near("ann", late[0])[0])
	require.Equal(t, 150, b.count(`oxbow.indexed_vectors`))
	b.keepIndex()
	require.Zero(t, b.count(`oxbow.indexed_vectors where slot is null`))
	require.Equal(t, late[0].String(), b.near("ann", late[0])[0])
	require.NotContains(t, b.near("ann", ids[1]), ids[0].String())

	users, err := store.IndexedUsers(t.Context(), b.pool)
	require.NoError(t, err)
	require.Len(t, users, 1)
	require.Equal(t, []any{"ann", "ready", int64(150)}, []any{users[0].UserID, users[0].State, users[0].Vectors})
	// The catalog does not reveal which users have an index.
	require.Zero(t,
		b.count(`pg_indexes where schemaname = 'oxbow' and indexdef like '%ann%' and indexdef not like '%annotation%'`))

	b.exec(`update oxbow.settings set value = '{"policy": "never"}' where key = 'vector_index'`)
	b.keepIndex()
	require.Zero(t, b.count(`oxbow.vector_slots`))
	require.Zero(t, b.count(`oxbow.indexed_vectors`))
	require.Equal(t, late[0].String(), b.near("ann", late[0])[0])
}

// A change of the model drops all indexes, and a user who is still large gets a new one. Erasing the user leaves
// nothing.
func TestVectorIndexAfterReembed(t *testing.T) {
	b := setup(t)
	b.exec(`update oxbow.settings set value = '{"policy": "auto", "from": 100}' where key = 'vector_index'`)
	ids := b.insert("ann", different(110)...)
	require.NoError(t, b.drain())
	b.untilReady(1)
	_, err := Reembed(t.Context(), b.target(64), nil)
	require.NoError(t, err)
	require.Zero(t, b.count(`oxbow.vector_slots`))
	require.Zero(t, b.count(`oxbow.indexed_vectors`))
	b.cfg.Embedding = b.target(64).Embedding
	b.untilReady(1)
	require.Equal(t, 110, b.count(`oxbow.indexed_vectors where slot = 1 and vector_dims(embedding) = 64`))
	require.Equal(t, ids[5].String(), b.near("ann", ids[5])[0])
	late := b.insert("ann", "a lantern at last")
	require.NoError(t, b.drain())
	require.Contains(t, b.near("ann", late[0]), late[0].String(), "the new table tells of what comes in")
	require.Equal(t, 111, b.count(`oxbow.indexed_vectors`))

	b.exec(`select oxbow.erase_user('ann')`)
	require.Zero(t, b.count(`oxbow.vector_slots`))
	require.Zero(t, b.count(`oxbow.indexed_vectors`))
}

// Concurrent steps of two workers, and an interrupted step, do no harm.
func TestVectorIndexInterrupted(t *testing.T) {
	b := setup(t)
	b.exec(`update oxbow.settings set value = '{"policy": "auto", "from": 100}' where key = 'vector_index'`)
	b.insert("ann", numbered(120, "a lantern")...)
	require.NoError(t, b.drain())
	b.exec(`delete from oxbow.vector_slots; delete from oxbow.settings where key = 'vector_index.looked'`)
	begun, _, err := store.AssignSlots(t.Context(), b.pool)
	require.NoError(t, err)
	require.Equal(t, 1, begun)
	require.Eventually(t, func() bool {
		n, err := store.WalkVectors(t.Context(), b.pool, 50)
		return err == nil && n == 50
	}, time.Minute, 10*time.Millisecond)

	tx, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	n, err := store.IndexVectors(t.Context(), tx, 20)
	require.NoError(t, err)
	require.Equal(t, 20, n)
	n, err = store.IndexVectors(t.Context(), b.pool, 10)
	require.NoError(t, err)
	require.Equal(t, 10, n, "another worker takes others, and does not wait")
	require.NoError(t, tx.Rollback(t.Context()))
	require.Equal(t, 10, b.count(`oxbow.indexed_vectors where slot is not null`))
	require.Zero(t, b.count(`oxbow.vector_slots where ready_at is not null`))

	b.untilReady(1)
	require.Equal(t, 120, b.count(`oxbow.indexed_vectors where slot = 1`))
}

// fill continues with the index until nothing is left to do.
func (b *bundle) fill() {
	b.Helper()
	for _, step := range []func(context.Context, store.DB, int) (int, error){store.EndSlots, store.WalkVectors,
		store.IndexVectors} {
		for n := 1; n > 0; {
			var err error
			n, err = step(b.Context(), b.pool, 50)
			require.NoError(b, err)
		}
	}
}

// A transaction that writes a vector while an index is assigned to its user does not know about the index, so
// the index waits for it.
func TestVectorIndexWaitsForOlderTransactions(t *testing.T) {
	b := setup(t)
	b.exec(`update oxbow.settings set value = '{"policy": "auto", "from": 100}' where key = 'vector_index'`)
	ids := b.insert("ann", different(110)...)
	require.NoError(t, b.drain())
	b.exec(`create table public.taken as select * from oxbow.memory_vectors where memory_id = $1`, ids[7])
	b.exec(`delete from oxbow.memory_vectors where memory_id = $1`, ids[7])
	b.exec(`delete from oxbow.settings where key = 'vector_index.looked'`)

	deciding, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	begun, _, err := store.AssignSlots(t.Context(), deciding)
	require.NoError(t, err)
	require.Equal(t, 1, begun)
	writing, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = writing.Exec(t.Context(), `insert into oxbow.memory_vectors select * from public.taken`)
	require.NoError(t, err)
	require.NoError(t, deciding.Commit(t.Context()))

	b.fill()
	require.Zero(t, b.count(`oxbow.indexed_vectors`), "one is under way that does not know")
	require.NoError(t, writing.Commit(t.Context()))
	b.untilReady(1)
	require.Equal(t, 110, b.count(`oxbow.indexed_vectors where slot = 1`))
	require.Equal(t, ids[7].String(), b.near("ann", ids[7])[0])
}

// The index does not wait for transactions of other databases of the server, which may take hours.
func TestVectorIndexIgnoresOtherDatabases(t *testing.T) {
	b := setup(t)
	elsewhere, err := pgx.Connect(t.Context(), pgtest.Database(t))
	require.NoError(t, err)
	defer elsewhere.Close(context.Background())
	_, err = elsewhere.Exec(t.Context(), `begin; select pg_current_xact_id()`)
	require.NoError(t, err)
	b.exec(`update oxbow.settings set value = '{"policy": "auto", "from": 100}' where key = 'vector_index'`)
	b.insert("ann", different(110)...)
	require.NoError(t, b.drain())
	b.keepIndex()
	require.Equal(t, 110, b.count(`oxbow.indexed_vectors where slot = 1`))
	require.Equal(t, 1, b.count(`oxbow.vector_slots where ready_at is not null`))
	_, err = elsewhere.Exec(t.Context(), `rollback`) // it was open during the test
	require.NoError(t, err)
}

// A slot is free when it holds no user's vectors. Locked vectors stay until the next run, and vectors
// without a slot are removed.
func TestVectorIndexFreesEmptySlots(t *testing.T) {
	b := setup(t)
	b.exec(`update oxbow.settings set value = '{"policy": "auto", "from": 100}' where key = 'vector_index'`)
	ids := b.insert("ann", different(110)...)
	bob := b.insert("bob", "a lamp")
	require.NoError(t, b.drain())
	b.untilReady(1)
	b.exec(`insert into oxbow.indexed_vectors (user_id, memory_type, memory_id) values ('bob', 'episodic', $1)`, bob[0])
	b.exec(`update oxbow.vector_slots set ending = true, ready_at = null`)

	holding, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = holding.Exec(t.Context(), `select from oxbow.indexed_vectors where memory_id = $1 for update`, ids[5])
	require.NoError(t, err)
	b.fill()
	require.Equal(t, 1, b.count(`oxbow.indexed_vectors`))
	require.Equal(t, 1, b.count(`oxbow.vector_slots`), "one copy is left in it")
	require.NoError(t, holding.Rollback(t.Context()))
	b.fill()
	require.Zero(t, b.count(`oxbow.indexed_vectors`))
	require.Zero(t, b.count(`oxbow.vector_slots`))

	// A leftover copy in a slot that now belongs to another user is removed.
	b.exec(`insert into oxbow.indexed_vectors (user_id, memory_type, memory_id, slot, embedding)
		select user_id, memory_type, memory_id, 9, embedding from oxbow.memory_vectors where memory_id = $1`, ids[5])
	b.exec(`insert into oxbow.vector_slots (user_id, memory_type, slot) values ('ann', 'episodic', 2)`)
	require.Eventually(t, func() bool {
		b.fill()
		return b.count(`oxbow.vector_slots where ready_at is not null`) == 1
	}, 3*time.Minute, 100*time.Millisecond)
	require.Equal(t, 110, b.count(`oxbow.indexed_vectors where slot = 2`))
}

// Transaction ids belong to a cluster: an index that was restored into another cluster continues.
func TestVectorIndexInAnotherCluster(t *testing.T) {
	b := setup(t)
	b.exec(`update oxbow.settings set value = '{"policy": "auto", "from": 100}' where key = 'vector_index'`)
	b.insert("ann", different(110)...)
	require.NoError(t, b.drain())
	b.exec(`insert into oxbow.vector_slots (user_id, memory_type, slot, born)
		values ('ann', 'episodic', 1, '99999999999')`)
	b.untilReady(1)
	require.Equal(t, 110, b.count(`oxbow.indexed_vectors where slot = 1`))
}

// Vectors that wait for the index are looked up by key, even without table statistics.
func TestVectorIndexWithoutStatistics(t *testing.T) {
	b := setup(t)
	b.exec(`update oxbow.settings set value = '{"policy": "auto", "from": 100}' where key = 'vector_index'`)
	ids := b.insert("ann", different(500)...)
	require.NoError(t, b.drain())
	b.untilReady(1)
	b.exec(`update oxbow.indexed_vectors set slot = null, embedding = null where memory_id = any($1)`, ids[:60])
	b.exec(`create function public.explained(_sql text, out plan text) language plpgsql as $$
		begin execute 'explain (analyze, buffers, format json) ' || _sql into plan; end $$`)
	plan := get[string](b, `select public.explained(format('select r.* from oxbow.recall_near(''ann'', ''episodic'', 1::smallint, %L::halfvec, null, 70) r',
		(select embedding from oxbow.memory_vectors where memory_id = $1)))`, ids[0])
	var told []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(plan), &told))
	require.Less(t, told[0].Plan.Hit+told[0].Plan.Read, 4_000, "60 of 500 are looked up, and some of the graph")
}
