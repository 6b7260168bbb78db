package sqlcode_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

const day = 24 * time.Hour

// weightFactors is an answer of oxbow.weight.
type weightFactors struct {
	Weight, Unclamped, Time, Reinforcement, Conflict, Importance, Momentum, Strength float64
}

func weightAt(t *testing.T, tx db, id string, at time.Time) weightFactors {
	t.Helper()
	var w weightFactors
	err := tx.QueryRow(t.Context(), `
		select weight, unclamped, "time", reinforcement, conflict, importance, momentum, strength
		  from oxbow.weight($1, $2, $3)`, ann(t), id, at).Scan(&w.Weight, &w.Unclamped, &w.Time, &w.Reinforcement,
		&w.Conflict, &w.Importance, &w.Momentum, &w.Strength)
	require.NoError(t, err)
	return w
}

// mentions is a literal of the type oxbow.mention[].
func mentions(at ...time.Time) string {
	var list []string
	for _, m := range at {
		list = append(list, `"(\"`+m.Format(time.RFC3339Nano)+`\",f)"`)
	}
	return "{" + strings.Join(list, ",") + "}"
}

// The worked figures of W whose parameters it gives, and of the policies.
func TestWeightFigures(t *testing.T) {
	t.Parallel()
	now := ago(0)
	recent := func(n int) (list []time.Time) {
		for i := range n {
			list = append(list, now.Add(-time.Duration(i+1)*time.Hour))
		}
		return list
	}
	for name, c := range map[string]struct {
		row  row
		want weightFactors // 0: any
	}{
		"new":                   {row{"created_at": now}, weightFactors{1.1, 1.1, 1, 1, 1, 1.1, 1, 1}},
		"identity, 180 days":    {row{"created_at": ago(180 * day), "category": "identity"}, weightFactors{Time: 0.4545}},
		"temporary, 180 days":   {row{"created_at": ago(180 * day), "category": "temporary"}, weightFactors{Time: 0.3077}},
		"mentioned now":         {row{"mentions": mentions(now)}, weightFactors{Reinforcement: 1.50}},
		"mentioned 7 days ago":  {row{"mentions": mentions(ago(7 * day))}, weightFactors{Reinforcement: 1.3523, Momentum: 1}},
		"mentioned 30 days ago": {row{"mentions": mentions(ago(30 * day))}, weightFactors{Reinforcement: 1.1116, Momentum: 1}},
		"3 recent mentions":     {row{"mentions": mentions(recent(3)...)}, weightFactors{Momentum: 1.2331}},
		"10 recent mentions":    {row{"mentions": mentions(recent(10)...)}, weightFactors{Momentum: 1.2980}},
		"mentioned 3 days ago":  {row{"mentions": mentions(ago(3 * day))}, weightFactors{Momentum: 1}},
		"negated now":           {row{"negated_at": now}, weightFactors{Conflict: 0.3}},
		"negated 7 days ago":    {row{"negated_at": ago(7 * day)}, weightFactors{Conflict: 0.3473}},
		"negated 30 days ago":   {row{"negated_at": ago(30 * day)}, weightFactors{Conflict: 0.4814}},
		"negated 90 days ago":   {row{"negated_at": ago(90 * day)}, weightFactors{Conflict: 0.7154}},
		"negated tomorrow":      {row{"negated_at": ago(-day)}, weightFactors{Conflict: 1}},
		"stable preference":     {row{"category": "stable_preference"}, weightFactors{Importance: 1.3}},
		"short preference":      {row{"category": "short_preference"}, weightFactors{Importance: 0.9}},
		"skill":                 {row{"category": "skill"}, weightFactors{Importance: 1.2}},
		"fact":                  {row{"category": "fact"}, weightFactors{Importance: 1.1}},
		"temporary":             {row{"category": "temporary"}, weightFactors{Importance: 0.8}},
		"a name in the table":   {row{"category": " Hobby"}, weightFactors{Importance: 1.3}},
		"a Chinese name":        {row{"category": "身份信息"}, weightFactors{Importance: 1.5}},
		"an unknown name":       {row{"category": "weather"}, weightFactors{Importance: 1.1}},
		"strength 0":            {row{"strength": 0.0}, weightFactors{Strength: 0.7}},
		"strength 3":            {row{"strength": 3.0}, weightFactors{Strength: 1.6}},
		"strength 9":            {row{"strength": 9.0}, weightFactors{Strength: 1.6}},
		"6 days without use":    {row{"created_at": ago(6 * day)}, weightFactors{Strength: 1}},
		"7 days without use":    {row{"created_at": ago(7 * day)}, weightFactors{Strength: 0.7 + 0.3*0.95}},
		"20 days without use":   {row{"created_at": ago(20 * day)}, weightFactors{Strength: 0.7 + 0.3*0.95*0.95}},
		"a use counts, not age": {row{"created_at": ago(90 * day), "used_at": now}, weightFactors{Strength: 1}},
		"a summary, 7 days":     {row{"created_at": ago(7 * day), "source": "summary"}, weightFactors{Strength: 0.94}},
		"core, 70 days":         {row{"created_at": ago(70 * day), "tier": "core"}, weightFactors{Strength: 1}},
		"system, 70 days":       {row{"created_at": ago(70 * day), "tier": "system"}, weightFactors{Strength: 1}},
		"strength 3, 70 days":   {row{"created_at": ago(70 * day), "strength": 3.0}, weightFactors{Strength: 1.6}},
		"negative age":          {row{"created_at": ago(-day)}, weightFactors{Time: 1, Strength: 1}},
		"a year 1 memory":       {row{"created_at": time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC)}, weightFactors{Weight: 0.01}},
		"more than is shown":    {row{"strength": 3.0, "category": "identity", "mentions": mentions(now)}, weightFactors{Weight: 2}},
		"W's log, before g":     {row{"category": "stable_preference", "created_at": ago(400 * day), "used_at": now, "activated_at": ago(11 * day), "mentions": mentions(ago(11 * day))}, weightFactors{1.5443, 1.5443, 0.9220, 1.2885, 1, 1.3, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tx := pgtest.Tx(t)
			id := diary(t, tx, row{"content": "A boat.", "created_at": now}.with(c.row))[0]
			got := weightAt(t, tx, id, now)
			for _, f := range [][2]float64{{c.want.Weight, got.Weight}, {c.want.Unclamped, got.Unclamped},
				{c.want.Time, got.Time}, {c.want.Reinforcement, got.Reinforcement}, {c.want.Conflict, got.Conflict},
				{c.want.Importance, got.Importance}, {c.want.Momentum, got.Momentum},
				{c.want.Strength, got.Strength}} {
				if f[0] != 0 {
					require.InDelta(t, f[0], f[1], 5e-5, "%+v", got)
				}
			}
		})
	}
}

func TestForgettingFactor(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	id := diary(t, tx, row{"content": "A boat.", "created_at": ago(100 * day)})[0]
	exec(t, tx, `insert into oxbow.users (user_id, forgetting_factor) values ($1, 1.3)`, ann(t))
	w := weightAt(t, tx, id, ago(0))
	require.InDelta(t, 1/(1+0.01*1.3/1.1*100), w.Time, 1e-9)
	require.InDelta(t, 1.1, w.Importance, 1e-9, "U acts on time alone")
	now := time.Now()
	exec(t, tx, `update oxbow.memories set negated_at = $2 where user_id = $1`, ann(t), now)
	exec(t, tx, `select oxbow.set_policy('weight_conflict_fade', 1)`)
	for days, want := range map[time.Duration]float64{0: 1, 7: 0.9527, 30: 0.8186, 90: 0.5846} {
		require.InDelta(t, want, weightAt(t, tx, id, now.Add(days*day+time.Minute)).Conflict, 5e-5, "as W prints it")
	}
}

// A mention never lowers a weight, at no later time, whatever came before. Frequent ones add less.
func TestMentionNeverLowersWeight(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	random := rand.New(rand.NewPCG(18, 1))
	id := diary(t, tx, row{"content": "A boat.", "created_at": ago(60 * day)})[0]
	frequent := 0
	for range 60 {
		exec(t, tx, `update oxbow.memories set mentions = null, activated_at = null where user_id = $1`, ann(t))
		at := ago(50 * day)
		for range 12 {
			at = at.Add(time.Duration(random.ExpFloat64() * float64([]time.Duration{time.Hour, day}[random.IntN(2)])))
			moments := []time.Time{at, at.Add(time.Minute), at.Add(7 * time.Hour), at.Add(73 * time.Hour),
				at.Add(time.Duration(random.Float64() * float64(40*day)))}
			var before []float64
			for _, m := range moments {
				before = append(before, weightAt(t, tx, id, m).Unclamped)
			}
			exec(t, tx, `select oxbow.mention_memory($1, 'episodic', $2, array[$3::timestamptz], 1, 0::smallint, 'me')`, ann(t),
				id, at)
			for i, m := range moments {
				require.GreaterOrEqual(t, weightAt(t, tx, id, m).Unclamped, before[i]-1e-12)
			}
		}
		frequent += one[int](t, tx, `
			select count(*) from oxbow.memories m, unnest(m.mentions) n where m.user_id = $1 and n.frequent`, ann(t))
		require.LessOrEqual(t, one[int](t, tx, `
			select max(cardinality(m.mentions)) from oxbow.memories m where m.user_id = $1`, ann(t)), 33)
	}
	require.Positive(t, frequent)
	require.Equal(t, 1+60*12, one[int](t, tx, `select mention_count from oxbow.memories where user_id = $1`, ann(t)))
}

func TestFrequentMentions(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	id := diary(t, tx, row{"content": "A boat.", "created_at": ago(9 * day)})[0]
	mention := func(at ...time.Time) {
		exec(t, tx, `select oxbow.mention_memory($1, 'episodic', $2, $3, cardinality($3::timestamptz[]), 2::smallint, 'me')`, ann(t), id, at)
	}
	mention(ago(30*time.Hour), ago(20*time.Hour))
	w := weightAt(t, tx, id, ago(0))
	require.InDelta(t, 1.1896, w.Momentum, 5e-5, "two mentions")
	mention(ago(10 * time.Hour)) // the first is 20 hours before it
	w = weightAt(t, tx, id, ago(10*time.Hour))
	require.InDelta(t, 1.2331+0.2, w.Momentum, 5e-5)
	require.InDelta(t, 1+0.5*0.97938, w.Reinforcement, 5e-5, "of the last that was not frequent, 10 hours before")
	require.InDelta(t, 1, weightAt(t, tx, id, ago(10*time.Hour-3*day)).Momentum, 5e-5, "three days later")
	require.Equal(t, 1, one[int](t, tx, `
		select count(*) from oxbow.memories m, unnest(m.mentions) n where m.user_id = $1 and n.frequent`, ann(t)))
	require.Equal(t, 2, one[int](t, tx, `select sensitivity from oxbow.memories where user_id = $1`, ann(t)))
	mention(ago(-day))
	require.False(t, one[bool](t, tx, `select activated_at > now() from oxbow.memories where user_id = $1`, ann(t)),
		"a mention is never in the future")
}

// Activated is above ordinary, and ordinary above negated, at any later time; without events a weight falls.
func TestWeightOrder(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	begun := ago(200 * day)
	ids := diary(t, tx, row{"content": "Ordinary.", "created_at": begun},
		row{"content": "Mentioned.", "created_at": begun, "mentions": mentions(begun), "activated_at": begun},
		row{"content": "Used.", "created_at": begun, "used_at": begun, "strength": 1.3, "activated_at": begun},
		row{"content": "Negated.", "created_at": begun, "negated_at": begun})
	last := []float64{9, 9, 9}
	for days := range 200 {
		var w []float64
		for _, id := range ids {
			w = append(w, weightAt(t, tx, id, begun.Add(time.Duration(days)*day)).Unclamped)
		}
		require.Greater(t, w[1], w[0], "mentioned, after %d days", days)
		require.Greater(t, w[2], w[0], "used, after %d days", days)
		require.Greater(t, w[0], w[3], "negated, after %d days", days)
		for i := range last {
			require.Less(t, w[i], last[i])
			last[i] = w[i]
		}
	}
}

// A use strengthens and activates; being returned counts an access and nothing else.
func TestUseStrengthens(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	then, now := time.Now().Add(-15*day), time.Now()
	ids := diary(t, tx, row{"content": "Used.", "created_at": then}, row{"content": "Returned.", "created_at": then})
	exec(t, tx, `select oxbow.touch($1, array[$2::uuid]), oxbow.touch($1, array[$2::uuid]),
	                    oxbow.touch($1, array[$3::uuid], false)`, ann(t), ids[0], ids[1])
	before := weightAt(t, tx, ids[1], now)
	exec(t, tx, `select oxbow.fold_activity(100)`)
	require.Equal(t, []string{"Returned. 1 1 f f", "Used. 2 1.5025 t t"}, all[string](t, tx, `
		select format('%s %s %s %s %s', content, access_count, round(strength::numeric, 4)::double precision, used_at is not null,
		         activated_at is not null) from oxbow.memories where user_id = $1 order by 1`, ann(t)),
		"decayed twice, then 0.3 for each use")
	require.Equal(t, before, weightAt(t, tx, ids[1], now))
	require.InDelta(t, 1.1*(0.7+0.3*1.5025), weightAt(t, tx, ids[0], time.Now()).Unclamped, 1e-3)
}

// A fact that is stored again is a mention of the first.
func TestRepeatIsMention(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	var ids []string
	for _, at := range []time.Time{ago(40 * day), ago(9 * day), ago(2 * day)} {
		ids = append(ids, remember(t, tx, row{"user_id": ann(t), "content": "Likes tea.", "memory_type": "fact", "created_at": at}))
	}
	index(t, tx, ann(t))
	w := weightAt(t, tx, ids[0], ago(0))
	require.InDelta(t, 1/(1+0.01/1.1*2), w.Time, 1e-6, "activated two days ago")
	require.InDelta(t, 1.1180, w.Momentum, 5e-5, "one recent mention")
	require.Equal(t, 3, one[int](t, tx, `
		select mention_count from oxbow.memories where user_id = $1 and id = $2`, ann(t), ids[0]))
}

// Weight decides between memories that answer equally well.
func TestWeightRanks(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	at := ago(30 * day)
	diary(t, tx, row{"content": "boat negated", "created_at": at, "valid_at": at, "negated_at": ago(day)},
		row{"content": "boat ordinary", "created_at": at, "valid_at": at},
		row{"content": "boat used", "created_at": at, "valid_at": at, "used_at": ago(day), "strength": 1.6,
			"activated_at": ago(day)},
		row{"content": "boat temporary", "created_at": at, "valid_at": at, "category": "temporary"},
		row{"content": "boat identity", "created_at": at, "valid_at": at, "category": "identity"})
	require.Equal(t, []string{"boat used", "boat identity", "boat ordinary", "boat temporary", "boat negated"},
		contents(recall(t, tx, row{"user_id": ann(t), "query": "boat", "now": ago(0)})))
	exec(t, tx, `select oxbow.set_policy('recall_weight', 0)`)
	list := recall(t, tx, row{"user_id": ann(t), "query": "boat"})
	require.InDelta(t, list[0].Score, list[4].Score, 1e-9, "without it they tie")
}

func TestWeightRefusesBadValues(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	id := diary(t, tx, row{"content": "A boat."})[0]
	require.Equal(t, "at must be in the years 1 to 9999", fails(t, tx, `select oxbow.weight($1, $2, 'infinity')`, ann(t), id).Message)
	require.Empty(t, all[float64](t, tx, `select weight from oxbow.weight('nobody', $1)`, id))
	for column, value := range map[string]string{"tier": "gold", "used_at": "infinity", "activated_at": "-infinity",
		"negated_at": "10000-01-01"} {
		err := fails(t, tx, `update oxbow.memories set `+column+` = $2 where user_id = $1`, ann(t), value)
		require.True(t, strings.HasPrefix(err.Message, column+" must be "), err.Message)
	}
}

// A weight of 0, which policies may make, is the least share and no error.
func TestWeightOfNothing(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	diary(t, tx, row{"content": "boat", "negated_at": ago(-365 * 100 * day), "strength": 0.0})
	exec(t, tx, `select oxbow.set_policy('weight_strength', 1)`)
	list := recall(t, tx, row{"user_id": ann(t), "query": "boat"})
	require.InDelta(t, -0.3, list[0].Explain.Weight.Share, 1e-9)
}
