package oxbow_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
)

func newWorking(t *testing.T, session string, items ...oxbow.WorkingItem) *oxbow.WorkingMemory {
	t.Helper()
	w, err := oxbow.NewWorkingMemory("ann", session, 0)
	require.NoError(t, err)
	for _, item := range items {
		left, err := w.Add(item)
		require.NoError(t, err)
		require.Nil(t, left)
	}
	return w
}

func contents(items []oxbow.WorkingItem) []string {
	all := []string{}
	for _, item := range items {
		all = append(all, item.Content)
	}
	return all
}

func written(items []oxbow.CommittedItem) []string {
	all := []string{}
	for _, item := range items {
		all = append(all, item.Content)
	}
	return all
}

func TestWorkingMemoryEvictsTheLeastRehearsed(t *testing.T) {
	t.Parallel()
	w := newWorking(t, "s")
	for i := range 7 {
		_, err := w.Add(oxbow.WorkingItem{Key: fmt.Sprint(i), Content: fmt.Sprint("item ", i)})
		require.NoError(t, err)
	}
	require.True(t, w.Rehearse("0"))
	require.True(t, w.Rehearse("1"))
	require.True(t, w.Rehearse("1"))
	require.False(t, w.Rehearse("7"))
	for _, c := range []struct{ add, leaves string }{{"7", "2"}, {"8", "3"}, {"9", "4"}} {
		left, err := w.Add(oxbow.WorkingItem{Key: c.add, Content: "item " + c.add})
		require.NoError(t, err)
		require.Equal(t, c.leaves, left.Key)
	}
	require.Equal(t, []string{"item 0", "item 1", "item 5", "item 6", "item 7", "item 8", "item 9"},
		contents(w.Items()))
	for _, key := range []string{"5", "6", "7", "8", "9", "9"} {
		w.Rehearse(key)
	}
	left, err := w.Add(oxbow.WorkingItem{Content: "new"})
	require.NoError(t, err)
	require.Equal(t, "0", left.Key, "the oldest of those with one rehearsal")
	require.Equal(t, 1, left.Rehearsals)
	left, err = w.Add(oxbow.WorkingItem{Content: "newer"})
	require.NoError(t, err)
	require.Equal(t, "new", left.Key, "the one with none")
}

// Random operations on a working memory give the same items as a simple model.
func TestWorkingMemoryFollowsItsRule(t *testing.T) {
	t.Parallel()
	type held struct {
		key        string
		rehearsals int
		since      int
	}
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 7))
		capacity := 5 + random.IntN(5)
		w, err := oxbow.NewWorkingMemory("ann", "s", capacity)
		require.NoError(t, err)
		model := map[string]*held{}
		for step := range 200 {
			key := fmt.Sprint("key ", random.IntN(14))
			switch random.IntN(5) {
			case 0, 1:
				left, err := w.Add(oxbow.WorkingItem{Key: key, Content: fmt.Sprint("step ", step)})
				require.NoError(t, err)
				want := ""
				if h := model[key]; h != nil {
					h.rehearsals++
				} else {
					if len(model) == capacity {
						all := []held{}
						for _, h := range model {
							all = append(all, *h)
						}
						slices.SortFunc(all, func(a, b held) int {
							if a.rehearsals != b.rehearsals {
								return a.rehearsals - b.rehearsals
							}
							return a.since - b.since
						})
						want = all[0].key
						delete(model, want)
					}
					model[key] = &held{key: key, since: step}
				}
				got := ""
				if left != nil {
					got = left.Key
				}
				require.Equal(t, want, got, "seed %d, step %d", seed, step)
			case 2, 3:
				h := model[key]
				require.Equal(t, h != nil, w.Rehearse(key))
				if h != nil {
					h.rehearsals++
				}
			case 4:
				if random.IntN(4) == 0 {
					require.Equal(t, model[key] != nil, w.Remove(key))
					delete(model, key)
				}
			}
			items := w.Items()
			require.Len(t, items, len(model))
			before := -1
			for _, item := range items {
				h := model[item.Key]
				require.NotNil(t, h, "seed %d, step %d: %s", seed, step, item.Key)
				require.Equal(t, h.rehearsals, item.Rehearsals)
				require.Greater(t, h.since, before, "the oldest first")
				before = h.since
			}
		}
	}
}

// An item on which a failed answer rested goes first, until it is said again.
func TestWorkingMemoryWeighs(t *testing.T) {
	t.Parallel()
	w, err := oxbow.NewWorkingMemory("ann", "s", 5)
	require.NoError(t, err)
	add := func(content string) *oxbow.WorkingItem {
		t.Helper()
		evicted, err := w.Add(oxbow.WorkingItem{Content: content})
		require.NoError(t, err)
		return evicted
	}
	for _, content := range []string{"a", "b", "c", "d", "e"} {
		add(content)
	}
	for key, factor := range map[string]float64{"c": 0.5, "d": 0.5, "a": 2} {
		found, err := w.Weigh(key, factor)
		require.NoError(t, err)
		require.True(t, found)
	}
	add("d") // said again
	require.Equal(t, "c", add("f").Content)
	require.Equal(t, "b", add("g").Content, "the oldest of weight 1")
	for _, factor := range []float64{-0.1, 10.1, math.NaN(), math.Inf(1)} {
		_, err := w.Weigh("a", factor)
		require.ErrorContains(t, err, "factor must be between 0 and 10")
	}
	found, err := w.Weigh("c", 1)
	require.NoError(t, err)
	require.False(t, found)
}

func TestWorkingMemoryReplacesInPlace(t *testing.T) {
	t.Parallel()
	w := newWorking(t, "s", oxbow.WorkingItem{Key: "city", Content: "Ann lives in Lisbon", Importance: new(0.9)},
		oxbow.WorkingItem{Content: "other"})
	left, err := w.Add(oxbow.WorkingItem{Key: "city", Content: "Ann lives in Porto", Importance: new(0.3),
		Rehearsals: 40})
	require.NoError(t, err)
	require.Nil(t, left)
	items := w.Items()
	require.Equal(t, []string{"Ann lives in Porto", "other"}, contents(items))
	require.Equal(t, 1, items[0].Rehearsals)
	require.InDelta(t, 0.9, *items[0].Importance, 0)
	_, err = w.Add(oxbow.WorkingItem{Content: "other", Importance: new(0.3)})
	require.NoError(t, err)
	require.InDelta(t, 0.5, *w.Items()[1].Importance, 0, "the default is kept too")

	// Returned and given values are copied.
	metadata := map[string]any{"a": 1}
	_, err = w.Add(oxbow.WorkingItem{Key: "m", Content: "with metadata", Metadata: metadata})
	require.NoError(t, err)
	metadata["a"] = 2
	*items[0].Importance = 0
	raw := w.Items()[2].Metadata.(json.RawMessage)
	require.JSONEq(t, `{"a": 1}`, string(raw))
	raw[1] = 'x'
	require.JSONEq(t, `{"a": 1}`, string(w.Items()[2].Metadata.(json.RawMessage)))
	require.InDelta(t, 0.9, *w.Items()[0].Importance, 0)
}

func TestWorkingMemoryRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		user, session string
		capacity      int
		says          string
	}{
		{"ann", "s", 4, "capacity must be between 5 and 9, got 4"},
		{"ann", "s", 10, "capacity must be between 5 and 9, got 10"},
		{"ann", "s", -1, "capacity must be"},
		{"", "s", 7, "user_id must have 1 to 255 bytes"},
		{"ann", "", 7, "session_id must have 1 to 1024 bytes"},
		{"ann", strings.Repeat("s", 1025), 7, "session_id must have at most 1024 bytes"},
		{"ann", "\x00", 7, "session_id must not contain a NUL"},
	} {
		w, err := oxbow.NewWorkingMemory(c.user, c.session, c.capacity)
		require.ErrorContains(t, err, c.says)
		require.ErrorAs(t, err, new(*oxbow.InvalidError))
		require.Nil(t, w)
	}
	w := newWorking(t, "s")
	for says, item := range map[string]oxbow.WorkingItem{
		"content must not be blank":             {Content: " \n"},
		"content must not be longer":            {Content: strings.Repeat("a", 1<<20+1)},
		"content must be valid UTF-8":           {Content: "\xff"},
		"memory_type must be fact or episodic":  {Content: "a", Type: oxbow.TypeTrait},
		"importance must be between 0 and 1":    {Content: "a", Importance: new(math.NaN())},
		"metadata must be a JSON object":        {Content: "a", Metadata: 7},
		"speaker must have at most 1024 bytes":  {Content: "a", Speaker: strings.Repeat("a", 1025)},
		"valid_at must be in the years 1 to 99": {Content: "a", ValidAt: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		_, err := w.Add(item)
		require.ErrorContains(t, err, says)
		require.ErrorAs(t, err, new(*oxbow.InvalidError))
		require.NotContains(t, err.Error(), "memory 0")
	}
	require.Empty(t, w.Items())

	client, err := oxbow.New(unreachable{}, oxbow.WithoutUseReports())
	require.NoError(t, err)
	_, err = client.CommitWorkingMemory(t.Context(), nil, oxbow.CommitOptions{})
	require.ErrorContains(t, err, "the working memory is nil")
	_, err = client.CommitWorkingMemory(t.Context(), w, oxbow.CommitOptions{MinRehearsals: -1})
	require.ErrorContains(t, err, "min_rehearsals must not be negative")
	for _, importance := range []float64{-0.1, 1.1, math.NaN()} {
		_, err = client.CommitWorkingMemory(t.Context(), w, oxbow.CommitOptions{MinImportance: importance})
		require.ErrorContains(t, err, "min_importance must be between 0 and 1")
	}
	none, err := client.CommitWorkingMemory(t.Context(), w, oxbow.CommitOptions{})
	require.NoError(t, err, "nothing to write needs no database")
	require.Empty(t, none)
}

// unreachable is a database that must not be called.
type unreachable struct{ oxbow.DB }

func TestWorkingMemoryRendered(t *testing.T) {
	t.Parallel()
	w := newWorking(t, "s", oxbow.WorkingItem{Content: "wants to\n- book a table\x1b[2J", Speaker: "Ann"},
		oxbow.WorkingItem{Content: "周六晚上  七点"})
	require.Equal(t, "- Ann: wants to - book a table [2J\n- 周六晚上 七点\n", w.Render())
	require.Empty(t, newWorking(t, "s").Render())
}

// For the race detector: concurrent use by one conversation, including a commit.
func TestWorkingMemoryIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := newWorking(t, "s")
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for n := range 100 {
				key := fmt.Sprint("item ", (g*7+n)%12)
				if _, err := w.Add(oxbow.WorkingItem{Content: key, Metadata: map[string]any{"g": g}}); err != nil {
					t.Errorf("add: %v", err)
				}
				w.Rehearse(key)
				w.Remove(fmt.Sprint("item ", n%50))
				if got := len(w.Items()); got > 7 {
					t.Errorf("%d items", got)
				}
				_ = w.Render()
				if n%50 == 0 {
					if _, err := b.client.CommitWorkingMemory(t.Context(), w, oxbow.CommitOptions{}); err != nil {
						t.Errorf("commit: %v", err)
					}
				}
			}
		})
	}
	all.Wait()
	require.Zero(t, b.count(t, `select count(*) - count(distinct content) from oxbow.memories`),
		"each was written once")
}

func TestCommitWorkingMemory(t *testing.T) {
	t.Parallel()
	b := setup(t)
	at := time.Date(2025, 10, 12, 8, 30, 0, 0, time.UTC)
	w := newWorking(t, "chat 1",
		oxbow.WorkingItem{Content: "mentioned once"},
		oxbow.WorkingItem{Content: "came up again", Type: oxbow.TypeEpisodic, Speaker: "Ann", ValidAt: at,
			Metadata: map[string]any{"channel": "phone"}},
		oxbow.WorkingItem{Content: "came up once more"},
		oxbow.WorkingItem{Content: "important", Importance: new(0.6), Category: oxbow.CategoryIdentity},
		oxbow.WorkingItem{Content: "not quite important", Importance: new(0.59)},
	)
	w.Rehearse("came up again")
	w.Rehearse("came up again")
	w.Rehearse("came up once more")

	done, err := b.client.CommitWorkingMemory(t.Context(), w, oxbow.CommitOptions{AgentID: "butler"})
	require.NoError(t, err)
	require.Equal(t, []string{"came up again", "important"}, written(done))
	m, err := b.client.Get(t.Context(), "ann", done[0].ID)
	require.NoError(t, err)
	require.Equal(t, oxbow.TypeEpisodic, m.Type)
	require.Equal(t, "chat 1", m.SessionID)
	require.Equal(t, "Ann", m.Speaker)
	require.Equal(t, "butler", m.AgentID)
	require.Equal(t, "working_memory", m.Source)
	require.Equal(t, map[string]any{"channel": "phone"}, m.Metadata)
	require.True(t, at.Equal(m.ValidAt))
	m, err = b.client.Get(t.Context(), "ann", done[1].ID)
	require.NoError(t, err)
	require.Equal(t, oxbow.TypeFact, m.Type)
	require.Equal(t, oxbow.CategoryIdentity, m.Category)
	require.InDelta(t, 0.6, m.Importance, 1e-9)
	require.Equal(t, 2, b.count(t, `select count(*) from oxbow.memories`))
	require.Len(t, w.Items(), 5, "the items stay")

	// A second commit stores nothing, even in another process with the same conversation.
	done, err = b.client.CommitWorkingMemory(t.Context(), w, oxbow.CommitOptions{})
	require.NoError(t, err)
	require.Empty(t, done)
	twin := newWorking(t, "chat 1", oxbow.WorkingItem{Key: "another key", Content: "important", Importance: new(1.0)})
	done, err = b.client.CommitWorkingMemory(t.Context(), twin, oxbow.CommitOptions{})
	require.NoError(t, err)
	require.Empty(t, done)
	require.Equal(t, 2, b.count(t, `select count(*) from oxbow.memories`))

	// An item that was rehearsed since, and one that was replaced, are stored.
	w.Rehearse("came up once more")
	_, err = w.Add(oxbow.WorkingItem{Key: "important", Content: "important, and changed", Importance: new(0.6)})
	require.NoError(t, err)
	done, err = b.client.CommitWorkingMemory(t.Context(), w, oxbow.CommitOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"came up once more", "important, and changed"}, written(done))

	// other thresholds
	done, err = b.client.CommitWorkingMemory(t.Context(), w, oxbow.CommitOptions{MinRehearsals: 3, MinImportance: 0.55,
		Source: "me"})
	require.NoError(t, err)
	require.Equal(t, []string{"not quite important"}, written(done))

	// An erased item is not stored again.
	_, err = b.client.EraseMemory(t.Context(), "ann", done[0].ID)
	require.NoError(t, err)
	done, err = b.client.CommitWorkingMemory(t.Context(), w, oxbow.CommitOptions{MinImportance: 0.55})
	require.NoError(t, err)
	require.Empty(t, done)
}

func TestCommitWorkingMemoryRolledBack(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := newWorking(t, "chat", oxbow.WorkingItem{Content: "important", Importance: new(0.8)})
	for range 2 {
		tx := begin(t, b.pool)
		client := b.client.WithTx(tx)
		done, err := client.CommitWorkingMemory(t.Context(), w, oxbow.CommitOptions{})
		require.NoError(t, err)
		require.Equal(t, []string{"important"}, written(done))
		done, err = client.CommitWorkingMemory(t.Context(), w, oxbow.CommitOptions{})
		require.NoError(t, err)
		require.Empty(t, done, "twice in one transaction")
		require.NoError(t, tx.Rollback(t.Context()))
	}
	require.Zero(t, b.count(t, `select count(*) from oxbow.memories`))

	tx := begin(t, b.pool)
	done, err := b.client.WithTx(tx).CommitWorkingMemory(t.Context(), w, oxbow.CommitOptions{})
	require.NoError(t, err)
	require.Len(t, done, 1)
	require.NoError(t, tx.Commit(t.Context()))
	again, err := b.client.CommitWorkingMemory(t.Context(), w, oxbow.CommitOptions{})
	require.NoError(t, err)
	require.Empty(t, again)
	require.Equal(t, 1, b.count(t, `select count(*) from oxbow.memories`))
}

// A commit that fails stores nothing; the next one stores everything.
func TestCommitWorkingMemoryIsAllOrNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.pool.Exec(t.Context(), `alter table oxbow.memories add constraint broken check (content <> 'second')`)
	require.NoError(t, err)
	w := newWorking(t, "chat", oxbow.WorkingItem{Content: "first", Importance: new(0.8)},
		oxbow.WorkingItem{Content: "second", Importance: new(0.8)})
	_, err = b.client.CommitWorkingMemory(t.Context(), w, oxbow.CommitOptions{})
	require.Error(t, err)
	require.Zero(t, b.count(t, `select count(*) from oxbow.memories`))
	_, err = b.pool.Exec(t.Context(), `alter table oxbow.memories drop constraint broken`)
	require.NoError(t, err)
	done, err := b.client.CommitWorkingMemory(t.Context(), w, oxbow.CommitOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"first", "second"}, written(done))
}

func TestCommitWorkingMemoryAtTheSameTime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	app := b.app(t) // with row-level security
	w := newWorking(t, "chat", oxbow.WorkingItem{Content: "one", Importance: new(0.8)},
		oxbow.WorkingItem{Content: "two", Importance: new(0.8)})
	var mu sync.Mutex
	ids := map[uuid.UUID]bool{}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			done, err := app.CommitWorkingMemory(t.Context(), w, oxbow.CommitOptions{})
			if err != nil {
				t.Errorf("commit: %v", err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, item := range done {
				ids[item.ID] = true
			}
		})
	}
	all.Wait()
	require.Len(t, ids, 2)
	require.Equal(t, 2, b.count(t, `select count(*) from oxbow.memories`))
	for id := range ids {
		require.Equal(t, 1, b.count(t, `select count(*) from oxbow.memories where id = $1`, id))
	}
}
