package browser

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/lifecycle"
	"github.com/oxbow-memory/oxbow/internal/traittest"
	"github.com/oxbow-memory/oxbow/store"
)

// The lives of two invented persons, as the pages show them. Times are days before now.

type life struct {
	user, zone string
	facts      []fact
	traits     []belief
	wishes     [3]string // an instruction, a plan, a skill
	values     [3]string // what an app keeps as occupation, languages and theme, in JSON
	moods      []mood
}

// mood is an event with how it felt.
type mood struct {
	days    float64
	content string
	about   string // a place, a person or an animal
	valence float64
}

type fact struct {
	days     int
	content  string
	category string
	until    int // replaced by the next fact of the list that many days ago; 0: not
	level    int // of sensitivity
}

type belief struct {
	content, context string
	subtype          lifecycle.Subtype
	parent           string // its content
	events           []happening
	window           int // a trend that is watched for that many days from now
	dissolved        bool
}

// happening is a day on which something was said. The first makes the trait with the confidence sets.
type happening struct {
	days          int
	content, said string // the memory, and the message from which it was made
	sets          float64
	against, told bool
	context       string
}

var mira = life{user: "mira", zone: "Europe/Lisbon",
	wishes: [3]string{"Answer briefly", "Order flour", "Plan a market day"},
	values: [3]string{`"baker"`, `["Dutch", "English", "Portuguese"]`, `{"dark": false}`},
	moods: []mood{
		{4, "Mira sold every loaf at the Saturday market.", "the market", 0.8},
		{11, "Mira laughed with a stranger at the market.", "the market", 0.7},
		{18, "Mira ran out of rye at the market before ten.", "the market", 0.5},
		{39, "Mira traded two loaves for figs at the market.", "the market", 0.8},
		{60, "The market was cold, and Mira stayed until noon.", "the market", 0.4},
		{6, "Mira argued with the landlord about the chimney.", "the landlord", -0.7},
		{27, "The landlord sent Mira another letter.", "the landlord", -0.6},
		{48, "Mira waited for the landlord for an hour.", "the landlord", -0.8},
		{5.7, "Mira floated in the sea until her head was empty.", "the sea", 0.6},
		{26.7, "Mira walked along the sea in the rain.", "the sea", 0.5},
		{47.7, "Mira watched the ferries on the sea.", "the sea", 0.4},
	}, facts: []fact{
		{days: 700, content: "Mira lives in Utrecht.", category: "identity", until: 210},
		{days: 210, content: "Mira lives in Lisbon, in the Graça quarter.", category: "identity"},
		{days: 520, content: "Mira works as a baker at De Korst.", category: "identity", until: 200},
		{days: 200, content: "Mira runs her own small bakery, Pão da Graça.", category: "identity"},
		{days: 640, content: "Mira's sister Tess has twins.", category: "identity"},
		{days: 150, content: "Mira is allergic to hazelnuts.", category: "fact", level: 1},
		{days: 60, content: "Mira is learning Portuguese with a tutor named Rui.", category: "skill"},
		{days: 12, content: "Mira wants to repaint the shop before Christmas.", category: "temporary"},
		{days: 90, content: "The code of the bakery's back door is 4711.", level: 2},
		{days: 80, content: "[sealed]", level: 3},
	}, traits: []belief{
		{content: "Thinks with her hands: she understands things by making them.", subtype: lifecycle.CoreTrait, events: []happening{
			{days: 120, content: "Mira built a model of the shop from cardboard before she moved a single shelf.",
				said: "I built the whole shop out of cardboard first. I can't picture it otherwise.", sets: 0.86, told: true},
			{days: 70, content: "Mira learned the verbs by writing them on bread bags.",
				said: "Verbs only stick when I write them on the bread bags.", context: "learning"}}},
		{content: "Prefers small gatherings to big parties.", subtype: lifecycle.Preference, context: "social", events: []happening{
			{days: 300, content: "Mira left the opening party of De Korst after an hour.",
				said: "Left the party after an hour. Too many people.", sets: 0.62},
			{days: 190, content: "Mira invited four friends to the opening of her bakery.",
				said: "Just four friends for the opening. Perfect."},
			{days: 40, content: "Mira said that six people around a table are her limit.",
				said: "Six around a table is my limit.", told: true}}},
		{content: "Bakes for herself on Sunday mornings.", context: "personal", events: []happening{
			{days: 330, content: "Mira baked a rye bread on her free Sunday.", said: "Sunday off, so of course I baked a rye.", sets: 0.62},
			{days: 290, content: "Mira spent Sunday morning on cinnamon rolls for the neighbours.",
				said: "Cinnamon rolls this morning, the whole staircase got some."},
			{days: 240, content: "Mira tried a new sourdough on Sunday.", said: "New sourdough this Sunday. Sour it is."},
			{days: 175, content: "Mira stayed in bed on Sunday and bought rolls.",
				said: "Slept in and bought rolls. Don't tell anyone.", against: true},
			{days: 110, content: "Mira said that Sunday dough is her church.",
				said: "Sunday dough is my church.", told: true},
			{days: 45, content: "Mira baked pastéis de nata with her sister on Sunday.",
				said: "Tess was here, we made pastéis on Sunday morning.", context: "social"}}},
		{content: "Swims in the sea before work.", context: "personal", events: []happening{
			{days: 160, content: "Mira swam at Carcavelos at six in the morning.", said: "Swam at six. The sea was pink.", sets: 0.5},
			{days: 130, content: "Mira went swimming before opening the shop.", said: "Swim first, then the oven."}}},
		{content: "Writes lists on paper rather than on the phone.", context: "work", events: []happening{
			{days: 250, content: "Mira keeps her orders in a red notebook.", said: "All orders are in the red notebook.", sets: 0.62},
			{days: 200, content: "Mira made a paper list for the move.", said: "The moving list is three pages, on paper."},
			{days: 95, content: "Mira wrote the shifts on a paper calendar.", said: "Shifts are on the paper calendar."},
			{days: 20, content: "Mira said she deletes every list app again.", said: "I delete every list app again.", told: true}}},
		{content: "Reads poems in the evening.", events: []happening{
			{days: 50, content: "Mira read Pessoa before she slept.", said: "A page of Pessoa and out.", sets: 0.2}}},
		{content: "Is curious about keeping bees.", window: 19, events: []happening{
			{days: 11, content: "Mira asked how many hives fit on a roof.", said: "How many hives fit on a roof?"}}},
		{content: "Drinks coffee late in the evening.", dissolved: true, events: []happening{
			{days: 400, content: "Mira had an espresso at eleven in the evening.", said: "Espresso at eleven, as one does.", sets: 0.62},
			{days: 365, content: "Mira stopped drinking coffee after noon.", said: "No coffee after noon any more.",
				against: true}}},
	}}

var xiaowen = life{user: "xiaowen", zone: "Asia/Shanghai", wishes: [3]string{"回答简短一些", "买面粉", "安排出摊"},
	values: [3]string{`"编辑"`, `["中文", "英文"]`, `{"dark": true}`},
	moods: []mood{
		{4, "林晓雯在书市上淘到一本旧诗集。", "书市", 0.8},
		{11, "林晓雯和书市的老板聊了一上午。", "书市", 0.7},
		{25, "林晓雯在书市上遇到了老同学。", "书市", 0.6},
		{39, "书市下雨，林晓雯还是买到了想要的书。", "书市", 0.4},
		{6, "印刷厂又把封面印错了。", "印刷厂", -0.7},
		{27, "印刷厂说要推迟一周交货。", "印刷厂", -0.6},
		{48, "林晓雯在印刷厂等了一下午。", "印刷厂", -0.8},
		{5.7, "林晓雯抱着墨墨坐了一晚上。", "墨墨", 0.6},
		{26.7, "墨墨趴在稿子上睡着了。", "墨墨", 0.5},
		{47.7, "林晓雯给墨墨买了新的猫抓板。", "墨墨", 0.4},
	}, facts: []fact{
		{days: 800, content: "林晓雯住在南京。", category: "identity", until: 260},
		{days: 260, content: "林晓雯住在杭州，离西湖不远。", category: "identity"},
		{days: 610, content: "林晓雯在一家出版社做编辑。", category: "identity"},
		{days: 300, content: "林晓雯养了一只叫“墨墨”的黑猫。", category: "identity"},
		{days: 120, content: "林晓雯对青霉素过敏。", category: "fact", level: 1},
		{days: 45, content: "林晓雯正在学弹古琴。", category: "skill"},
		{days: 9, content: "林晓雯打算春节前把书房重新整理一遍。", category: "temporary"},
		{days: 30, content: "林晓雯家的门锁密码是 280913。", level: 2},
	}, traits: []belief{
		{content: "做事讲究，愿意慢慢把一件事做好。", subtype: lifecycle.CoreTrait, events: []happening{
			{days: 130, content: "林晓雯为一篇译稿改了七遍。", said: "这篇译稿我改到第七遍才放心。", sets: 0.86, told: true},
			{days: 60, content: "林晓雯练一个指法练了整整一周。", said: "一个指法练了一个星期，总算顺了。", context: "learning"}}},
		{content: "比起热闹的聚会，更喜欢三五好友小聚。", subtype: lifecycle.Preference, context: "social", events: []happening{
			{days: 280, content: "林晓雯没去年会，约了两个朋友喝茶。", said: "年会没去，和两个朋友喝茶去了。", sets: 0.62},
			{days: 150, content: "林晓雯生日只请了三位朋友。", said: "生日就请了三个人，刚刚好。"},
			{days: 35, content: "林晓雯说人一多她就累。", said: "人一多我就累。", told: true}}},
		{content: "周末清晨去西湖边跑步。", context: "personal", events: []happening{
			{days: 240, content: "林晓雯周六早上绕着西湖跑了一圈。", said: "周六早上绕西湖跑了一圈，荷花开了。", sets: 0.62},
			{days: 205, content: "林晓雯周日清晨在苏堤跑步。", said: "周日在苏堤跑步，几乎没人。"},
			{days: 160, content: "林晓雯下雨天也去跑了步。", said: "下雨也去跑了，痛快。"},
			{days: 115, content: "林晓雯整个周末都在家看稿，没有出门。", said: "整个周末都在家看稿，没出门。", against: true},
			{days: 52, content: "林晓雯说不跑步的周末不算周末。", said: "不跑步的周末不算周末。", told: true}}},
		{content: "喝绿茶，不喝咖啡。", context: "personal", events: []happening{
			{days: 210, content: "林晓雯开会时自带了龙井。", said: "开会我自己带了龙井。", sets: 0.62},
			{days: 100, content: "林晓雯说喝咖啡会心慌。", said: "咖啡一喝就心慌，还是茶好。", told: true}}},
		{content: "睡前读古诗。", events: []happening{
			{days: 40, content: "林晓雯睡前读了几首王维。", said: "睡前读了几首王维。", sets: 0.2}}},
		{content: "对观鸟产生了兴趣。", window: 21, events: []happening{
			{days: 8, content: "林晓雯问西溪湿地什么时候能看到候鸟。", said: "西溪湿地什么时候能看到候鸟？"}}},
	}}

// live stores a life, as reflection and an application would have done in the course of time.
func (l life) live(t testing.TB, pool *pgxpool.Pool) {
	t.Helper()
	ago := func(days int) time.Time { return time.Now().AddDate(0, 0, -days).Truncate(time.Hour) }
	exec := func(sql string, args ...any) {
		t.Helper()
		_, err := pool.Exec(t.Context(), sql, args...)
		require.NoError(t, err)
	}
	require.NoError(t, store.SetSettings(t.Context(), pool, l.user, store.UserSettings{Timezone: l.zone}))
	newer := uuid.Nil
	for i := len(l.facts) - 1; i >= 0; i-- { // the newer one of two first
		f, id := l.facts[i], uuid.New()
		var until, by any
		if f.until > 0 {
			until, by = ago(f.until), newer
		}
		exec(`insert into oxbow.memories_fact (user_id, id, content, category, valid_at, created_at, invalid_at, expired_at,
				superseded_by, sensitivity, sealed, sealed_key)
			values ($1, $2, $3, nullif($4, ''), $5, $5, $6::timestamptz, $6::timestamptz, $7::uuid, $8::smallint,
			  case when $8::smallint = 3 then '\x0100000007'::bytea || decode(repeat('00', 40), 'hex') end, case when $8::smallint = 3 then '7' end)`,
			l.user, id, f.content, f.category, ago(f.days), until, by, f.level)
		newer = id
	}
	exec(`select oxbow.instruct($1, $2), oxbow.intend($1, $3, now() + interval '2 days', kind => 'reminder'),
			oxbow.learn_skill($1, $4, array[$4, $3], $2)`, l.user, l.wishes[0], l.wishes[1], l.wishes[2])
	exec(`select oxbow.adjust(user_id, 'fact', id, 0.5, '2 signals against it', '{}', -1.4, now()) from oxbow.memories_fact
		where user_id = $1 and expired_at is null and sensitivity = 0 order by id limit 1`, l.user)
	for i, key := range []string{"occupation", "languages", "theme"} {
		exec(`insert into oxbow.key_values (user_id, namespace, key, value) values ($1, 'profile', $2, $3)`, l.user, key, l.values[i])
	}
	for _, m := range l.moods {
		exec(`insert into oxbow.memories (user_id, memory_type, content, valid_at, metadata)
			values ($1, 'episodic', $2, now() - $3::float8 * interval '1 day', jsonb_build_object('emotion',
			  jsonb_build_object('valence', $4::float8, 'arousal', 0.5), 'entities', jsonb_build_array(jsonb_build_object('name', $5::text))))`,
			l.user, m.content, m.days, m.valence, m.about)
	}
	ids := map[string]uuid.UUID{}
	for _, b := range l.traits {
		trait := traittest.Trait{UserID: l.user, Content: b.content, Subtype: b.subtype, Context: b.context,
			Parent: ids[b.parent]}
		for i, h := range b.events {
			at := ago(h.days)
			e := traittest.Evidence{Content: h.content, At: at, Session: "talk " + at.Format(time.DateOnly), Against: h.against,
				Context: h.context}
			factor := 0.15
			switch {
			case h.context != "":
				e.Quality, factor = lifecycle.QualityA, 0.25
			case h.told:
				e.Quality, factor = lifecycle.QualityB, 0.20
			}
			switch {
			case b.window > 0:
				trait.Events = append(trait.Events, traittest.Watched(at, time.Now().AddDate(0, 0, b.window), e))
			case i == 0:
				trait.Events = append(trait.Events, traittest.Created(at, h.sets, e))
				trait.Events[0].Subtype = b.subtype
			case h.against:
				trait.Events = append(trait.Events, traittest.Contradicted(at, 0.20, e))
			default:
				trait.Events = append(trait.Events, traittest.Reinforced(at, factor, e))
			}
		}
		if b.dissolved {
			trait.Events = append(trait.Events, traittest.Event{Event: lifecycle.Event{Kind: lifecycle.Dissolution, At: ago(30)}})
		}
		id, err := trait.Make(context.Background(), pool)
		require.NoError(t, err)
		ids[b.content] = id
		for _, h := range b.events {
			exec(`with message as (insert into oxbow.messages (user_id, session_id, content, created_at, extracted_at)
					values ($1, $2, $3, $4, now()) returning id)
				insert into oxbow.memory_sources (user_id, memory_type, memory_id, session_id, message_id)
				select $1, 'episodic', m.id, $2, message.id from oxbow.memories_episodic m, message
				 where m.user_id = $1 and m.content = $5`,
				l.user, "talk "+ago(h.days).Format(time.DateOnly), h.said, ago(h.days), h.content)
		}
	}
	exec(`update oxbow.memories_episodic set created_at = valid_at where user_id = $1`, l.user)
	exec(`update oxbow.memories_trait m set created_at = (select min(e.at) from oxbow.trait_events e
		where e.user_id = $1 and e.trait_id = m.id) where user_id = $1`, l.user)
}
