package oxbow_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
)

// named returns metadata that names people, with pairs of a relation of the user and its other end.
func named(people []string, relations ...string) map[string]any {
	var entities, edges []any
	for _, name := range people {
		entities = append(entities, map[string]any{"name": name, "kind": "person"})
	}
	for i := 0; i < len(relations); i += 2 {
		edges = append(edges, map[string]any{"from": "", "relation": relations[i], "to": relations[i+1]})
	}
	return map[string]any{"entities": entities, "relations": edges}
}

func entityNames(entities []oxbow.Entity) []string {
	names := []string{}
	for _, e := range entities {
		names = append(names, e.Name)
	}
	return names
}

// Memories extracted from messages name people and places, in English and in Chinese.
func TestEntitiesOfConversations(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	at := time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)
	_, err := b.client.AddMessages(ctx, []oxbow.NewMessage{
		{UserID: "mia", SessionID: "s1", Content: "My sister Anna lives in Porto.", At: at},
		{UserID: "mia", SessionID: "s2",
			Content: "Yesterday I went sailing on the lake with Tom and Anna, it was wonderful.",
			At:      at.Add(time.Minute)},
		{UserID: "林", SessionID: "s1", Content: "我姐姐小红在北京工作。", At: at},
		{UserID: "林", SessionID: "s1", Content: "我住在杭州。", At: at},
		{UserID: "mia", SessionID: "s1", Content: "I live in Berlin.", At: at},
	})
	require.NoError(t, err)
	for user, session := range map[string]string{"mia": "s1", "林": "s1"} {
		_, err = b.client.EndSession(ctx, user, session)
		require.NoError(t, err)
	}
	_, err = b.client.EndSession(ctx, "mia", "s2")
	require.NoError(t, err)
	b.work(t)

	entities, err := b.client.Entities(ctx, "mia")
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"Anna", "Porto", "Tom", "Berlin"}, entityNames(entities))
	anna := entities[0]
	require.Equal(t, []any{"Anna", "person", int64(2), int64(2)}, []any{anna.Name, anna.Kind, anna.Mentions,
		anna.Memories})
	require.True(t, anna.ValidAt.Before(at), "yesterday")
	require.True(t, anna.LastSeen.Equal(at))
	require.Zero(t, anna.ExpiredAt)
	var said []string
	for _, g := range anna.Edges {
		said = append(said, g.From.Name+" "+g.Relation+" "+g.To.Name)
	}
	require.ElementsMatch(t, []string{"user sister Anna", "Anna related Porto", "Tom related Anna"}, said)

	// A fact that is superseded ends its edge. The entity keeps its history.
	_, err = b.client.AddMessages(ctx, []oxbow.NewMessage{{UserID: "mia", SessionID: "s3",
		Content: "I live in Paris now.", At: at.AddDate(0, 1, 0)}})
	require.NoError(t, err)
	_, err = b.client.EndSession(ctx, "mia", "s3")
	require.NoError(t, err)
	b.work(t)
	berlin, err := b.client.EntitiesNamed(ctx, "mia", "BERLIN")
	require.NoError(t, err)
	require.Len(t, berlin, 1)
	require.Len(t, berlin[0].Edges, 1)
	edge := berlin[0].Edges[0]
	require.Equal(t, []any{"user", "self", "lives_in", "Berlin", false},
		[]any{edge.From.Name, edge.From.Kind, edge.Relation, edge.To.Name, edge.Holds})
	require.True(t, edge.ValidAt.Equal(at))
	require.True(t, edge.InvalidAt.Equal(at.AddDate(0, 1, 0)))
	require.NotZero(t, edge.ExpiredAt)
	require.True(t, berlin[0].InvalidAt.Equal(edge.InvalidAt))
	require.Equal(t, "I live in Berlin.", berlin[0].NamedBy[0].Content)

	entities, err = b.client.Entities(ctx, "林")
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"小红", "北京", "杭州"}, entityNames(entities))
	hong, err := b.client.EntitiesNamed(ctx, "林", "小红")
	require.NoError(t, err)
	require.Equal(t, "sister", hong[0].Edges[len(hong[0].Edges)-1].Relation)
	_, err = b.client.EntitiesNamed(ctx, "林", " ")
	require.ErrorAs(t, err, new(*oxbow.InvalidError))
	hong, err = b.client.EntitiesNamed(ctx, "mia", "小红")
	require.NoError(t, err)
	require.Empty(t, hong, "another user's")
}

// Entities in the application's metadata count like extracted ones. A missing kind is filled in later, and
// names that differ in punctuation are the same.
func TestEntitiesOfMetadata(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	b.remember(t, oxbow.NewMemory{Content: "Otto has a boat.", Metadata: map[string]any{"entities": []any{
		map[string]any{"name": "OTTO"}, map[string]any{"name": " "}, "Otto",
		map[string]any{"name": "me", "kind": "self"},
		map[string]any{"name": 7, "kind": "A Kind"}}}})
	b.work(t)
	b.remember(t, oxbow.NewMemory{Content: "Otto's boat is blue.",
		Metadata: named([]string{"Otto!"}, "Old friend", "otto", "foe", "nobody")})
	b.remember(t, oxbow.NewMemory{Content: "nothing", Metadata: map[string]any{"entities": "Otto", "relations": 3}})
	b.work(t)
	entities, err := b.client.Entities(ctx, "ann")
	require.NoError(t, err)
	require.Equal(t, []string{"OTTO", "me"}, entityNames(entities))
	require.Equal(t, []string{"person", "other"}, []string{entities[0].Kind, entities[1].Kind})
	require.EqualValues(t, 2, entities[0].Memories)
	var relations []string
	for _, g := range entities[0].Edges {
		relations = append(relations, g.Relation)
	}
	require.ElementsMatch(t, []string{"related", "old_friend"}, relations)

	// A new version names what its own text names. A repeated fact adds its names to the fact that is kept.
	first := b.remember(t, oxbow.NewMemory{Content: "Lives with Pia and Rolf.",
		Metadata: named([]string{"Pia", "Rolf"})})
	b.work(t)
	_, err = b.client.Supersede(ctx, "ann", first, oxbow.Replacement{Content: "Lives with Pia."})
	require.NoError(t, err)
	b.remember(t, oxbow.NewMemory{Content: "Sings in a choir."})
	b.remember(t, oxbow.NewMemory{Content: "Sings in a choir.", Metadata: named([]string{"Uma"})})
	b.work(t)
	pia, err := b.client.EntitiesNamed(ctx, "ann", "pia")
	require.NoError(t, err)
	require.Len(t, pia[0].NamedBy, 2)
	require.Zero(t, pia[0].InvalidAt)
	rolf, err := b.client.EntitiesNamed(ctx, "ann", "rolf")
	require.NoError(t, err)
	require.NotZero(t, rolf[0].InvalidAt, "no memory that holds names him")
	require.False(t, rolf[0].Edges[0].Holds)
	uma, err := b.client.EntitiesNamed(ctx, "ann", "uma")
	require.NoError(t, err)
	require.Len(t, uma[0].NamedBy, 2)
	require.Zero(t, uma[0].InvalidAt, "the fact that was kept names her")

	// No entities are made for users who opted out.
	_, err = b.pool.Exec(ctx, `insert into oxbow.users (user_id, opted_out) values ('eve', true)`)
	require.NoError(t, err)
	b.remember(t, oxbow.NewMemory{UserID: "eve", Content: "Knows Otto.", Metadata: named([]string{"Otto"})})
	b.work(t)
	require.Zero(t, b.count(t, `select count(*) from oxbow.entities where user_id = 'eve'`))
}

func TestEntitiesAreErasedWithTheLastMemory(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	one := b.remember(t, oxbow.NewMemory{Content: "Otto and Pia sail.",
		Metadata: named([]string{"Otto", "Pia"}, "friend", "Otto")})
	two := b.remember(t, oxbow.NewMemory{Content: "Pia sings.", Metadata: named([]string{"Pia"})})
	b.work(t)
	require.NoError(t, b.client.Forget(ctx, "ann", one, ""))
	entities, err := b.client.Entities(ctx, "ann")
	require.NoError(t, err)
	require.Equal(t, []string{"Pia"}, entityNames(entities), "what is forgotten is not told")
	require.Empty(t, entities[0].Edges)
	for _, id := range []uuid.UUID{one, two} {
		_, err = b.client.EraseMemory(ctx, "ann", id)
		require.NoError(t, err)
		require.Zero(t, b.count(t, `select count(*) from oxbow.entities where name = 'Otto' or kind = 'self'`))
		require.Zero(t, b.count(t, `select count(*) from oxbow.entity_edges`))
	}
	require.Zero(t, b.count(t, `select count(*) from oxbow.entities`))
}

func TestRecallByEntities(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	met := b.remember(t, oxbow.NewMemory{Content: "Met her and her husband at the harbour.",
		Metadata: named([]string{"Anna Berg", "Kurt"})})
	kurt := b.remember(t, oxbow.NewMemory{Content: "He repairs clocks.", Metadata: named([]string{"Kurt"})})
	gone := b.remember(t, oxbow.NewMemory{Content: "She paints.", Metadata: named([]string{"Anna Berg"})})
	cat := b.remember(t, oxbow.NewMemory{Content: "最近很爱睡觉。", Metadata: named([]string{"咪咪"})})
	b.remember(t, oxbow.NewMemory{Content: "The weather is fine."})
	b.remember(t, oxbow.NewMemory{UserID: "bob", Content: "Plays chess.", Metadata: named([]string{"Anna Berg"})})
	b.work(t)
	require.NoError(t, b.client.Forget(ctx, "ann", gone, ""))
	found := func(q oxbow.Query) map[uuid.UUID]*oxbow.ChannelScore {
		q.UserID, q.WordsOnly = "ann", true
		r, err := b.client.Recall(ctx, q)
		require.NoError(t, err)
		by := map[uuid.UUID]*oxbow.ChannelScore{}
		for _, m := range r.Memories {
			by[m.ID] = m.Explain.Entity
		}
		return by
	}
	by := found(oxbow.Query{Text: "How is anna?"})
	require.Len(t, by, 2)
	require.Equal(t, 1, by[met].Rank)
	require.Equal(t, 2, by[kurt].Rank, "one hop away")
	require.Less(t, by[kurt].Score, by[met].Score)
	require.Len(t, found(oxbow.Query{Text: "ANNA BERG’s plans"}), 2)
	require.Equal(t, 1, found(oxbow.Query{Text: "咪咪怎么样了？"})[cat].Rank)
	require.Empty(t, found(oxbow.Query{Text: "anna", Types: []oxbow.MemoryType{oxbow.TypeEpisodic}}))
	require.Empty(t, found(oxbow.Query{Text: "anna", BelievedAsOf: time.Now().Add(-time.Hour)}),
		"nothing was known then")
	require.Len(t, found(oxbow.Query{Text: "anna", ValidAsOf: time.Now().Add(time.Hour)}), 2)

	// Once the memory that names both has ended, recall of one does not lead to the other.
	_, err := b.client.Supersede(ctx, "ann", met, oxbow.Replacement{Content: "Met Anna Berg at the harbour."})
	require.NoError(t, err)
	b.work(t)
	by = found(oxbow.Query{Text: "berg anna"})
	require.NotContains(t, by, kurt)
	require.NotContains(t, by, met)
	require.Len(t, by, 1)
}

// Entities follow the metadata when it changes, even while the memory is forgotten.
func TestEntitiesFollowTheMetadata(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	id := b.remember(t, oxbow.NewMemory{Content: "安娜和鲍勃去了公园。", Metadata: map[string]any{"entities": []any{"安娜"}}})
	b.work(t)
	names := func() []string {
		entities, err := b.client.Entities(ctx, "ann")
		require.NoError(t, err)
		return entityNames(entities)
	}
	require.Equal(t, []string{"安娜"}, names())
	_, err := b.pool.Exec(ctx,
		`update oxbow.memories set metadata = '{"entities": ["鲍勃", {"name": "公园", "kind": "place"}]}'
			where user_id = 'ann'
			and id = $1`, id)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"鲍勃", "公园"}, names())

	// as in a database from before entities existed
	_, err = b.pool.Exec(ctx, `delete from oxbow.entities where user_id = 'ann'`)
	require.NoError(t, err)
	require.NoError(t, b.client.Forget(ctx, "ann", id, ""))
	_, err = b.pool.Exec(ctx, `select oxbow.note_old_entities('', 10)`)
	require.NoError(t, err)
	require.Empty(t, names())
	_, err = b.pool.Exec(ctx, `select oxbow.restore('ann', $1)`, id)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"鲍勃", "公园"}, names())
}
