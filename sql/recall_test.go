package sqlcode_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// found is a row of oxbow.recall.
type found struct {
	ID, Content string
	Score       float64
	Explain     explanation
}

type explanation struct {
	Text       *channel `json:"text"`
	Vector     *channel `json:"vector"`
	Recency    float64  `json:"recency"`
	Importance float64  `json:"importance"`
	Speaker    float64  `json:"speaker"`
	Relevance  float64  `json:"relevance"`
	StageBoost float64  `json:"stage_boost"`
	Weight     *struct{ Share float64 }
	Stage      string `json:"stage"`
	Session    string `json:"session"`
	Repeats    string `json:"repeats"`
	Level      string `json:"level"`
	LeftOut    string `json:"left_out"`
}

type channel struct {
	Score float64 `json:"score"`
	Rank  int     `json:"rank"`
}

// recall calls oxbow.recall with named arguments, with a cast where SQL cannot infer the type.
func recall(t *testing.T, tx db, args row) []found {
	t.Helper()
	sql, values := recallStatement(args)
	rows, err := tx.Query(t.Context(), "select id::text, content, score, explain from "+sql, values...)
	require.NoError(t, err)
	defer rows.Close()
	var list []found
	for rows.Next() {
		var f found
		require.NoError(t, rows.Scan(&f.ID, &f.Content, &f.Score, &f.Explain))
		list = append(list, f)
	}
	require.NoError(t, rows.Err())
	return list
}

func recallStatement(args row) (string, []any) {
	types := map[string]string{"embedding": "text::halfvec", "types": "text[]", "contexts": "text[]",
		"metadata_contains": "jsonb",
		"valid_as_of":       "timestamptz", "believed_as_of": "timestamptz", "now": "timestamptz",
		"max_results": "integer",
		"max_tokens":  "integer", "min_score": "double precision"}
	var parts []string
	var values []any
	for name, value := range args {
		kind := types[name]
		if kind == "" {
			kind = "text"
		}
		values = append(values, value)
		parts = append(parts, fmt.Sprintf("%s => $%d::%s", name, len(values), kind))
	}
	return "oxbow.recall(" + strings.Join(parts, ", ") + ")", values
}

func contents(list []found) []string {
	var texts []string
	for _, f := range list {
		texts = append(texts, f.Content)
	}
	return texts
}

// diary stores and indexes memories of ann, a day apart unless a row says otherwise.
func diary(t *testing.T, tx db, rows ...row) []string {
	t.Helper()
	var ids []string
	for i, r := range rows {
		r = row{"user_id": ann(t), "memory_type": "episodic", "seq": i + 1,
			"valid_at": ago(time.Duration(100-i) * 24 * time.Hour)}.with(r)
		ids = append(ids, remember(t, tx, r))
	}
	index(t, tx, ann(t))
	return ids
}

func TestRecallByText(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	diary(t, tx, row{"content": "She rented a boat."}, row{"content": "A lamp for the kitchen."},
		row{"content": "她在杭州学画画。"})
	require.Equal(t, []string{"She rented a boat."}, contents(recall(t, tx,
		row{"user_id": ann(t), "query": "Which boats?"})))
	require.Equal(t, []string{"她在杭州学画画。"}, contents(recall(t, tx, row{"user_id": ann(t), "query": "谁在学画画？"})))
	for _, query := range []any{"the of and", "piano", "!"} {
		require.Empty(t, recall(t, tx, row{"user_id": ann(t), "query": query}), query)
	}
	require.Empty(t, recall(t, tx, row{"user_id": "nobody", "query": "boat"}))
}

// In a long question a word counts wherever it is, also in the alphabet.
func TestLongQuestions(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	diary(t, tx, row{"content": "She rented a zeppelin."})
	question := "About"
	for i := range 100 {
		question += fmt.Sprintf(" b%02d", i)
	}
	require.Len(t, recall(t, tx, row{"user_id": ann(t), "query": question + " and zeppelins"}), 1)
}

func TestRecallByVector(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	ids := diary(t, tx, row{"content": "one"}, row{"content": "two"}, row{"content": "three"}, row{"content": "zero"})
	for i, vector := range []string{axis(0), axis(0, 1), axis(2), axis()} {
		addVector(t, tx, ann(t), "episodic", ids[i], vector)
	}
	got := recall(t, tx, row{"user_id": ann(t), "query": nil, "embedding": axis(0)})
	require.Equal(t, []string{"one", "two"}, contents(got)[:2])
	require.InDelta(t, 1, got[0].Explain.Vector.Score, 1e-3)
	require.InDelta(t, math.Sqrt(0.5), got[1].Explain.Vector.Score, 1e-3)
	require.NotContains(t, contents(got), "zero", "a vector without a direction is near nothing")
	require.Nil(t, got[0].Explain.Text)
	require.Empty(t, recall(t, tx, row{"user_id": ann(t), "query": nil, "embedding": axis()}))

	// a memory without a vector is scored by words only, and vice versa
	diary(t, tx, row{"content": "Only words: boat.", "seq": 9})
	both := recall(t, tx, row{"user_id": ann(t), "query": "boat", "embedding": axis(2)})
	require.ElementsMatch(t, []string{"Only words: boat.", "three"}, contents(both)[:2])
}

func TestChannelsAddUp(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	ids := diary(t, tx, row{"content": "The boat was red."},
		row{"content": "The boat was a boat for many people on the lake."}, row{"content": "Nothing else."})
	for i, vector := range []string{axis(0, 1), axis(0), axis(0, 1, 2)} {
		addVector(t, tx, ann(t), "episodic", ids[i], vector)
	}
	exec(t, tx, `insert into oxbow.settings (key, value) values ('recall', '{"text": 0.7, "vector": 0.4}')`)
	list := recall(t, tx, row{"user_id": ann(t), "query": "a red boat", "embedding": axis(0), "now": ago(0)})
	require.Len(t, list, 3)
	var text, vector float64
	for _, f := range list {
		if f.Explain.Text != nil {
			text = max(text, f.Explain.Text.Score)
		}
		vector = max(vector, f.Explain.Vector.Score)
	}
	for _, f := range list {
		sum := 0.4 * f.Explain.Vector.Score / vector
		if f.Explain.Text != nil {
			sum += 0.7 * f.Explain.Text.Score / text
		}
		bonuses := 1 + f.Explain.Recency + f.Explain.Importance + f.Explain.StageBoost
		require.InEpsilon(t, sum*bonuses*(1+f.Explain.Weight.Share), f.Score, 1e-9)
	}
}

// A memory found by its words has a vector score only if its vector is among the nearest.
func TestNearestVectors(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	ids := diary(t, tx, row{"content": "The boat was red."}, row{"content": "Nothing else."})
	for i, vector := range []string{axis(0, 1), axis(0)} {
		addVector(t, tx, ann(t), "episodic", ids[i], vector)
	}
	for nearest, scored := range map[int]bool{0: false, 5: true} {
		exec(t, tx, `insert into oxbow.settings (key, value) values ('recall', jsonb_build_object('text', 9, 'nearest', $1::int))
			on conflict (key) do update set value = excluded.value`, nearest)
		got := recall(t, tx, row{"user_id": ann(t), "query": "boat", "embedding": axis(0), "max_results": 1})
		require.Equal(t, "The boat was red.", got[0].Content)
		require.Equal(t, scored, got[0].Explain.Vector != nil, nearest)
	}
}

func TestBonuses(t *testing.T) {
	t.Parallel()
	const month = 30 * 24 * time.Hour
	for name, c := range map[string]struct {
		row     row
		recency float64
	}{
		"now":           {row{"valid_at": ago(0)}, 0.15},
		"in the future": {row{"valid_at": ago(-month)}, 0.15},
		"a month":       {row{"valid_at": ago(month)}, 0.15 * math.Exp(-1)},
		"a month, aroused": {row{"valid_at": ago(month), "metadata": `{"emotion": {"arousal": 1}}`},
			0.15 * math.Exp(-1/1.5)},
		"a month, half": {row{"valid_at": ago(month), "metadata": `{"emotion": {"arousal": 0.5}}`},
			0.15 * math.Exp(-1/1.25)},
		"too much arousal": {row{"valid_at": ago(month), "metadata": `{"emotion": {"arousal": 1e300}}`},
			0.15 * math.Exp(-1/1.5)},
		"far too much": {row{"valid_at": ago(month), "metadata": `{"emotion": {"arousal": 1e400}}`},
			0.15 * math.Exp(-1/1.5)},
		"negative arousal": {row{"valid_at": ago(month), "metadata": `{"emotion": {"arousal": -3}}`},
			0.15 * math.Exp(-1)},
		"arousal in words": {row{"valid_at": ago(month), "metadata": `{"emotion": {"arousal": "high"}}`},
			0.15 * math.Exp(-1)},
		"emotion in words":    {row{"valid_at": ago(month), "metadata": `{"emotion": "joy"}`}, 0.15 * math.Exp(-1)},
		"without valid_at":    {row{"valid_at": nil, "created_at": ago(2 * month)}, 0.15 * math.Exp(-2)},
		"long ago":            {row{"valid_at": time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC)}, 0},
		"importance 0":        {row{"valid_at": ago(0), "importance": 0.0}, 0.15},
		"importance 1":        {row{"valid_at": ago(0), "importance": 1.0}, 0.15},
		"emerging trait":      {row{"valid_at": ago(0), "memory_type": "trait", "trait_stage": "emerging"}, 0.15},
		"established trait":   {row{"valid_at": ago(0), "memory_type": "trait", "trait_stage": "established"}, 0.15},
		"a trait at its core": {row{"valid_at": ago(0), "memory_type": "trait", "trait_stage": "core"}, 0.15},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tx := pgtest.Tx(t)
			diary(t, tx, row{"content": "A boat."}.with(c.row))
			got := recall(t, tx, row{"user_id": ann(t), "query": "boat", "now": ago(0)})[0]
			importance, ok := c.row["importance"].(float64)
			if !ok {
				importance = 0.5
			}
			stage, _ := c.row["trait_stage"].(string)
			boost := map[string]float64{"emerging": 0.05, "established": 0.15, "core": 0.25}[stage]
			require.InDelta(t, c.recency, got.Explain.Recency, 1e-9)
			require.InDelta(t, 0.15*importance, got.Explain.Importance, 1e-9)
			require.InDelta(t, boost, got.Explain.StageBoost, 1e-9)
			require.Equal(t, stage, got.Explain.Stage)
			share := 0.0 // a trait has no weight
			if got.Explain.Weight != nil {
				share = got.Explain.Weight.Share
			}
			require.Equal(t, stage != "", got.Explain.Weight == nil)
			require.InDelta(t, (1+c.recency+0.15*importance+boost)*(1+share), got.Score, 1e-9,
				"the best of a channel has 1")
		})
	}
}

// A question that names a speaker favours what that speaker said, and what has no speaker. A name is found as a word, or in Chinese as a part of
// the text, and never as a part of a word.
func TestNamedSpeakers(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	for _, speaker := range []any{"Al", "Caroline Dubois", "小林", "O'Neil", ""} {
		diary(t, tx, row{"speaker": speaker, "content": fmt.Sprint("A boat 小船, said ", speaker)})
	}
	for question, want := range map[string][]string{
		"What did Al say about a boat?":               {"Al"},
		"Did she also see the boat, although it sank": nil,
		"caroline's boat":                             {"Caroline Dubois"},
		"What boat have Al and Caroline Dubois seen?": {"Al", "Caroline Dubois"},
		"小林说的小船":                                      {"小林"},
		"the boat of O'Neil":                          {"O'Neil"},
		"boat":                                        nil,
		"":                                            nil,
	} {
		var named []string
		for _, f := range recall(t, tx, row{"user_id": ann(t), "query": question, "embedding": axis(0)}) {
			if f.Explain.Speaker > 0 {
				require.InDelta(t, 0.5, f.Explain.Speaker, 1e-9)
				_, speaker, _ := strings.Cut(f.Content, "said ")
				named = append(named, speaker)
			}
		}
		if want != nil {
			want = append(want, "")
		}
		require.ElementsMatch(t, want, named, question)
	}
}

// The bonuses follow the policies in force at the moment that is asked about.
func TestBonusesArePolicies(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	day := time.Now().Add(-24 * time.Hour)
	diary(t, tx, row{"content": "A boat.", "importance": 0.5, "valid_at": day, "created_at": day})
	earlier := []row{
		{"user_id": ann(t), "query": "boat", "now": day},
		{"user_id": ann(t), "query": "boat", "now": time.Now(), "believed_as_of": day.Add(time.Hour)},
	}
	before := [][]found{recall(t, tx, earlier[0]), recall(t, tx, earlier[1])}
	exec(t, tx, `select oxbow.set_policy('recall_recency', 4), oxbow.set_policy('recall_recency_days', 1),
	                    oxbow.set_policy('recall_importance', 2)`)
	got := recall(t, tx, row{"user_id": ann(t), "query": "boat"})[0]
	require.InDelta(t, 4*math.Exp(-1), got.Explain.Recency, 1e-3, "a day old")
	require.InDelta(t, 1, got.Explain.Importance, 1e-9)
	require.InDelta(t, 0.075, before[0][0].Explain.Importance, 1e-9)
	require.Equal(t, before, [][]found{recall(t, tx, earlier[0]), recall(t, tx, earlier[1])})
}

func TestTraitStages(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	for _, stage := range []any{"trend", "candidate", "emerging", "established", "core", "dissolved", nil} {
		diary(t, tx, row{"memory_type": "trait", "trait_stage": stage,
			"content": fmt.Sprint("Boats are liked: ", stage)})
	}
	want := []string{"Boats are liked: core", "Boats are liked: established", "Boats are liked: emerging"}
	require.Equal(t, want, contents(recall(t, tx, row{"user_id": ann(t), "query": "boats"})))
	require.Equal(t, want, contents(recall(t, tx, row{"user_id": ann(t), "query": "boats", "metadata_contains": "{}"})))
}

func TestNeighbours(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	minute := func(n int) time.Time { return ago(-time.Duration(n) * time.Minute) }
	diary(t, tx,
		row{"content": "Third before.", "session_id": "s", "valid_at": minute(-3)},
		row{"content": "Second before.", "session_id": "s", "valid_at": minute(-2)},
		row{"content": "First before.", "session_id": "s", "valid_at": minute(-1)},
		row{"content": "Did you rent the boat?", "session_id": "s", "valid_at": minute(0)},
		row{"content": "Yes, yesterday.", "session_id": "s", "valid_at": minute(60)},
		row{"content": "An hour later.", "session_id": "s", "valid_at": minute(61)},
		row{"content": "Elsewhere.", "session_id": "other", "valid_at": minute(0)},
		row{"content": "Alone.", "valid_at": minute(0)})
	got := recall(t, tx, row{"user_id": ann(t), "query": "boat", "now": minute(0)})
	require.ElementsMatch(t, []string{"Did you rent the boat?", "First before.", "Second before.", "Yes, yesterday."},
		contents(got))
	whole := got[0].Explain.Text.Score
	for _, f := range got {
		share := map[string]float64{"Did you rent the boat?": 1, "First before.": 0.5, "Second before.": 0.25,
			"Yes, yesterday.": 0.5}[f.Content]
		require.InEpsilon(t, share*whole, f.Explain.Text.Score, 1e-9, f.Content)
	}
	require.Empty(t, recall(t, tx, row{"user_id": ann(t), "query": "boat", "types": []string{"fact"}}))
}

func TestHiddenNeighboursStayHidden(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	diary(t, tx,
		row{"content": "Did you rent the boat?", "session_id": "s", "valid_at": ago(0)},
		row{"content": "A secret.", "session_id": "s", "valid_at": ago(0), "forgotten_at": ago(0)},
		row{"content": "Of another agent.", "session_id": "s", "valid_at": ago(0), "agent_id": "b"},
		row{"content": "Yes.", "session_id": "s", "valid_at": ago(0)})
	require.Equal(t, []string{"Did you rent the boat?", "Of another agent.", "Yes."},
		contents(recall(t, tx, row{"user_id": ann(t), "query": "boat"})))
	require.Empty(t, recall(t, tx, row{"user_id": ann(t), "query": "boat", "agent": "b"}))
}

func TestRecallFilters(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	diary(t, tx,
		row{"content": "boat 1", "memory_type": "fact", "agent_id": "a",
			"metadata": `{"context": "work", "tags": ["x", "y"]}`},
		row{"content": "boat 2", "memory_type": "episodic", "agent_id": "b",
			"metadata": `{"context": "personal", "tags": ["y"]}`},
		row{"content": "boat 3", "memory_type": "document", "metadata": `{"n": 7}`},
		row{"content": "boat 4", "memory_type": "trait", "trait_stage": "core", "trait_context": "work"})
	for name, c := range map[string]struct {
		filter row
		want   []string
	}{
		"none":           {row{}, []string{"boat 1", "boat 2", "boat 3", "boat 4"}},
		"one type":       {row{"types": []string{"fact"}}, []string{"boat 1"}},
		"two types":      {row{"types": []string{"trait", "document"}}, []string{"boat 3", "boat 4"}},
		"a type twice":   {row{"types": []string{"fact", "fact"}}, []string{"boat 1"}},
		"no type":        {row{"types": []string{}}, nil},
		"agent":          {row{"agent": "b"}, []string{"boat 2"}},
		"unknown agent":  {row{"agent": "z"}, nil},
		"context":        {row{"contexts": []string{"work"}}, []string{"boat 1", "boat 4"}},
		"contexts":       {row{"contexts": []string{"work", "personal"}}, []string{"boat 1", "boat 2", "boat 4"}},
		"metadata":       {row{"metadata_contains": `{"tags": ["y"]}`}, []string{"boat 1", "boat 2"}},
		"metadata empty": {row{"metadata_contains": `{}`}, []string{"boat 1", "boat 2", "boat 3", "boat 4"}},
		"all together": {row{"types": []string{"fact", "trait"}, "contexts": []string{"work"}, "agent": "a",
			"metadata_contains": `{"tags": ["x"]}`}, []string{"boat 1"}},
	} {
		got := contents(recall(t, tx, row{"user_id": ann(t), "query": "boat"}.with(c.filter)))
		require.ElementsMatch(t, c.want, got, name)
	}
}

func TestRecallRefusesBadArguments(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	diary(t, tx, row{"content": "boat"})
	for name, c := range map[string]struct {
		args         row
		field, value string
	}{
		"unknown type":    {row{"types": []string{"fact", "opinion"}}, "types", "'opinion'"},
		"null type":       {row{"types": []*string{nil}}, "types", "null"},
		"no results":      {row{"max_results": 0}, "max_results", "'0'"},
		"too many":        {row{"max_results": 1001}, "max_results", "'1001'"},
		"far too many":    {row{"max_results": math.MaxInt32}, "max_results", "'2147483647'"},
		"null results":    {row{"max_results": nil}, "max_results", "null"},
		"endless now":     {row{"now": "infinity"}, "now", "infinity"},
		"negative score":  {row{"min_score": -0.5}, "min_score", "-0.5"},
		"no score":        {row{"min_score": "NaN"}, "min_score", "NaN"},
		"endless score":   {row{"min_score": "Infinity"}, "min_score", "Infinity"},
		"no query":        {row{"query": nil}, "query", "null"},
		"blank query":     {row{"query": " \n"}, "query", "' \n'"},
		"no user":         {row{"user_id": nil}, "user_id", "null"},
		"empty user":      {row{"user_id": ""}, "user_id", "''"},
		"short embedding": {row{"embedding": "[1,2,3]"}, "embedding", "3"},
		"long embedding":  {row{"embedding": strings.Replace(axis(), "]", ",0]", 1)}, "embedding", "1025"},
	} {
		sql, values := recallStatement(row{"user_id": ann(t), "query": "boat"}.with(c.args))
		err := fails(t, tx, "select from "+sql, values...)
		require.Equal(t, "23514", err.Code, "%s: %v", name, err)
		require.Equal(t, c.field, err.ColumnName, name)
		require.Contains(t, err.Message, c.field, name)
		require.Contains(t, err.Detail, c.value, name)
	}
}

func TestMaxResults(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	exec(t, tx, `insert into oxbow.memories (user_id, memory_type, content, seq, valid_at)
	             select $1, 'episodic', 'boat', n, now() from generate_series(1, 1200) n`, ann(t))
	index(t, tx, ann(t))
	for _, n := range []int{1, 10, 1000} {
		got := recall(t, tx, row{"user_id": ann(t), "query": "boat", "max_results": n})
		require.Len(t, got, n)
	}
	require.Len(t, recall(t, tx, row{"user_id": ann(t), "query": "boat"}), 10)
}

func TestMinScore(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	diary(t, tx, row{"content": "boat"}, row{"content": "A boat of wood, tarred last spring"},
		row{"content": "Where the boat lay in the winter nobody knows, nor who rowed it"},
		row{"memory_type": "trait", "trait_stage": "core", "content": "Sails."})
	exec(t, tx, `insert into oxbow.memory_vectors (user_id, memory_type, memory_id, embedding)
		select user_id, memory_type, id, $2::text::halfvec from oxbow.memories where user_id = $1 and memory_type = 'trait'`,
		ann(t), axis(0))
	for _, question := range []string{"boat", "boat of wood tarred", "Did a zeppelin or a boat pass the lighthouse?"} {
		every := recall(t, tx, row{"user_id": ann(t), "query": question})
		require.Len(t, every, 3)
		for _, f := range every {
			var enough []found
			for _, other := range every {
				if other.Explain.Relevance >= f.Explain.Relevance {
					enough = append(enough, other)
				}
			}
			require.Equal(t, enough,
				recall(t, tx, row{"user_id": ann(t), "query": question, "min_score": f.Explain.Relevance - 1e-4}))
		}
		require.Equal(t, every, recall(t, tx, row{"user_id": ann(t), "query": question, "min_score": 0}))
	}
	require.Empty(t, recall(t, tx, row{"user_id": ann(t), "query": "Did a zeppelin or a boat pass the lighthouse?",
		"min_score": 0.5}), "most of the question is not known")
	require.Len(t, recall(t, tx, row{"user_id": ann(t), "query": "boat of wood tarred", "min_score": 0.6}), 1)
	require.Len(t, recall(t, tx, row{"user_id": ann(t), "query": "boat of wood tarred", "max_results": 1,
		"min_score": 0.6}), 1)
	require.InDelta(t, 0.5, recall(t, tx, row{"user_id": ann(t), "query": "zeppelin", "embedding": axis(0),
		"types": "{trait}"})[0].Explain.Relevance, 1e-3, "it is as similar as can be")
}

func TestEqualScoresComeInAFixedOrder(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	exec(t, tx, `insert into oxbow.memories (user_id, memory_type, content, seq, valid_at)
	             select $1, 'episodic', 'boat', n * 7 % 41, now() from generate_series(1, 40) n`, ann(t))
	index(t, tx, ann(t))
	const order = "select seq from oxbow.recall($1, 'boat', max_results => 40)"
	first := all[int](t, tx, order, ann(t))
	require.IsIncreasing(t, first)
	require.Equal(t, first, all[int](t, tx, order, ann(t)))
}

func TestDatesRaise(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	day := func(m time.Month, d int) time.Time { return time.Date(2025, m, d, 9, 0, 0, 0, time.UTC) }
	ids := diary(t, tx,
		row{"content": "We went out in the boat.", "valid_at": day(3, 5)},
		row{"content": "We went out in the boat!", "valid_at": day(10, 3)},
		row{"content": "We went out in the boat?", "valid_at": day(10, 20)},
		row{"content": "A lamp.", "valid_at": day(10, 3)})
	for _, id := range ids {
		addVector(t, tx, ann(t), "episodic", id, axis(0))
	}
	for _, query := range []string{"boat on October 3", "boat 2025年10月3日"} {
		for _, embedding := range []any{nil, axis(0)} {
			got := contents(recall(t, tx, row{"user_id": ann(t), "query": query, "embedding": embedding,
				"now": day(12, 1)}))
			require.Equal(t, "We went out in the boat!", got[0])
			require.Contains(t, got, "A lamp.", "the day alone finds it")
		}
	}
	got := contents(recall(t, tx, row{"user_id": ann(t), "query": "October 3", "now": day(12, 1)}))
	require.ElementsMatch(t, []string{"We went out in the boat!", "A lamp."}, got[:2])
}
