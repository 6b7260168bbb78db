package worker

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// chronicler is a summarizer that records the numbers of the messages in its input.
type chronicler struct {
	mu     sync.Mutex                         // held during a call
	before func(n int, t reasoner.Told) error // n is the number of earlier calls
	told   []reasoner.Told
	ctx    context.Context // of the latest call
}

func (*chronicler) Name() string { return "chronicler" }

func (c *chronicler) Summarize(ctx context.Context, t reasoner.Told) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told, c.ctx = append(c.told, t), ctx
	if c.before != nil {
		if err := c.before(len(c.told)-1, t); err != nil {
			return "", err
		}
	}
	said := strings.Fields(t.Before)
	for _, m := range t.Messages {
		if _, number, ok := strings.Cut(m.Content, "number "); ok {
			said = append(said, number)
		}
	}
	return strings.Join(said, " "), nil
}

// chronicle sets the extractor and a chronicler as the summarizer.
func (b *bundle) chronicle() *chronicler {
	b.listen()
	c := &chronicler{}
	b.cfg.testSummarizer = c
	return c
}

// chat inserts messages numbered from one number to another, and processes them.
func (b *bundle) chat(user, session string, from, to int) {
	b.Helper()
	b.talk(user, session, from, to)
	b.work()
}

// talk inserts messages numbered from one number to another in one statement.
func (b *bundle) talk(user, session string, from, to int) {
	b.Helper()
	b.exec(`insert into oxbow.messages (user_id, session_id, content, seq, created_at)
		select $1, $2, case when n % 5 = 0 then 'event: ' else 'so: ' end || 'number ' || n, n,
		timestamptz '2026-03-01 08:00Z' + n * interval '1 minute'
		  from generate_series($3::integer, $4::integer) n`, user, session, from, to)
}

// numbers returns the summary that a chronicler writes of the messages from one number to another.
func numbers(from, to int) string {
	var all []string
	for n := from; n <= to; n++ {
		all = append(all, fmt.Sprint(n))
	}
	return strings.Join(all, " ")
}

// summaries returns the current summaries of a user.
func (b *bundle) summaries(user string) []string {
	b.Helper()
	return get[[]string](b, `select coalesce(array_agg(content order by content), '{}') from oxbow.memories_episodic
		where user_id = $1 and source = 'summary' and expired_at is null and forgotten_at is null
		and (invalid_at is null or invalid_at > now())`, user)
}

// A conversation of more than 30 messages has one summary, which is updated as it grows and at its end.
func TestSummaryOfALongConversation(t *testing.T) {
	b := setup(t)
	c := b.chronicle()
	b.chat("ann", "s1", 1, 30)
	require.Empty(t, b.summaries("ann"))
	require.Zero(t, b.count(`oxbow.river_job where kind = 'summarize'`), "30 are not more than 30")
	b.chat("ann", "s1", 31, 35)
	require.Equal(t, []string{numbers(1, 35)}, b.summaries("ann"))
	first := get[uuid.UUID](b, `select summary_id from oxbow.sessions where id = 's1'`)
	require.Equal(t, 1, b.count(`oxbow.memories_episodic where id = $1 and session_id is null and importance = 0.3
		and version = 1
		and expires_at = valid_at + interval '14 days' and valid_at = '2026-03-01 08:35Z'
		and metadata = '{"session": "s1", "messages": 35, "from": "2026-03-01T08:01:00Z", "until": "2026-03-01T08:35:00Z"}'`, first))
	require.Equal(t, 7, b.count(`oxbow.memory_links l join oxbow.memories m on m.id = l.to_id where l.from_id = $1
		and l.relation = 'source' and m.source = 'extraction'`, first))
	require.Equal(t, 1, b.count(`oxbow.memory_sources where memory_id = $1 and session_id = 's1'
		and message_id is null`, first))
	require.Equal(t, 1, b.count(`oxbow.memory_vectors where memory_id = $1`, first))
	require.Zero(t, b.count(`oxbow.memory_links l where l.relation = 'source' and l.to_id = $1`, first))

	b.chat("ann", "s1", 36, 65)
	require.Len(t, b.summaries("ann"), 1)
	require.Len(t, c.told, 1)
	b.chat("ann", "s1", 66, 70)
	require.Equal(t, []string{numbers(1, 70)}, b.summaries("ann"))
	require.Equal(t, numbers(1, 35), c.told[1].Before)
	require.Len(t, c.told[1].Messages, 35)
	require.Equal(t, 1, b.count(`oxbow.memories_episodic o join oxbow.memories_episodic n on n.id = o.superseded_by
		where o.id = $1
		and o.expired_at is not null and o.invalid_at = n.valid_at and n.version = 2 and n.expired_at is null`, first))
	second := get[uuid.UUID](b, `select summary_id from oxbow.sessions where id = 's1'`)
	require.Equal(t, 14, b.count(`oxbow.memory_links where from_id = $1 and relation = 'source'`, second),
		"what the first told of too")
	require.Equal(t, 1, b.count(`oxbow.memory_links where from_id = $1 and to_id = $2 and relation = 'supersedes'`,
		second, first))
	require.Equal(t, 1, b.count(`oxbow.memory_history where memory_id = $1 and event = 'UPDATE' and actor = 'chronicler'
		and new_content = $2`, first, numbers(1, 70)))

	b.chat("ann", "s1", 71, 72)
	require.Len(t, c.told, 2)
	b.exec(`select oxbow.end_session('ann', 's1')`)
	require.NoError(t, b.drain())
	require.Equal(t, []string{numbers(1, 72)}, b.summaries("ann"), "the end brings in what is left")
	b.exec(`insert into oxbow.river_job (kind, queue, max_attempts, args)
		values ('summarize', 'reflect', 25, '{"user_id": "ann", "session_id": "s1"}'), ('summarize', 'reflect',
		25, '{"user_id": "ann", "session_id": "gone"}')`)
	require.NoError(t, b.drain())
	require.Len(t, c.told, 3, "nothing is new")
	require.Equal(t, 3, b.count(`oxbow.memories where source = 'summary'`))

	b.chat("ann", "s2", 101, 110)
	b.exec(`select oxbow.end_session('ann', 's2')`)
	require.NoError(t, b.drain())
	require.Len(t, b.summaries("ann"), 1, "a short one has none, also when it ends")
}

func TestSummaryAfterIsASetting(t *testing.T) {
	b := setup(t)
	c := b.chronicle()
	b.exec(`update oxbow.settings set value = value || '{"summary_after": 0}' where key = 'conversations'`)
	b.chat("ann", "s1", 1, 50)
	require.Empty(t, b.summaries("ann"))
	b.exec(`update oxbow.settings set value = value || '{"summary_after": 5, "summary_days": 0}'
		where key = 'conversations'`)
	b.chat("ann", "s1", 51, 52)
	require.Equal(t, []string{numbers(1, 52)}, b.summaries("ann"))
	require.Zero(t, b.count(`oxbow.memories where expires_at is not null`))
	// Messages that exceed one call are summarized in several.
	b.exec(`update oxbow.settings set value = value || '{"summary_after": 30}' where key = 'conversations'`)
	asked := len(c.told)
	b.chat("bob", "s1", 1, 450)
	b.exec(`select oxbow.end_session('bob', 's1')`)
	require.NoError(t, b.drain())
	told := 0
	for _, each := range c.told[asked:] {
		told += len(each.Messages)
		require.LessOrEqual(t, len(each.Messages), 200)
	}
	require.Equal(t, 450, told)
	require.Len(t, b.summaries("bob"), 1)
	require.LessOrEqual(t, len([]rune(b.summaries("bob")[0])), reasoner.MaxSummary, "it is cut")
}

// The rules summarize English and Chinese conversations from start to end.
func TestSummaryByRules(t *testing.T) {
	b := setup(t)
	for user, texts := range map[string][3]string{
		"mia": {"I live in Bergen, and I play the cello.", "I walked %d kilometres in the mountains.",
			"assistant> You own a castle."},
		"小雨": {"我住在杭州，在一家设计公司上班。", "我今天在山里走了%d公里。", "assistant> 你有一座城堡。"},
	} {
		for _, n := range []int{35, 70} {
			session := fmt.Sprint("s", n)
			b.say(user, session, texts[0])
			for i := range n/2 - 1 {
				b.say(user, session, fmt.Sprintf(texts[1], i+n), texts[2])
			}
			b.say(user, session, fmt.Sprintf(texts[1], 7777))
		}
	}
	b.work()
	for user, has := range map[string][]string{"mia": {"User said: I live in Bergen, and I play the cello.",
		"I walked 7777 kilometres", "castle"}, "小雨": {"用户说：我住在杭州，在一家设计公司上班。", "走了7777公里", "城堡"}} {
		b.exec(`select oxbow.end_session($1, id) from oxbow.sessions where user_id = $1`, user)
		require.NoError(t, b.drain())
		all := b.summaries(user)
		require.Len(t, all, 2)
		for _, s := range all {
			require.Contains(t, s, has[0])
			require.NotContains(t, s, has[2])
		}
		require.Contains(t, all[0]+all[1], has[1])
		found := get[[]string](b, `select array_agg(r.content) from oxbow.recall($1, $2, types => '{episodic}',
			max_results => 50) r join oxbow.memories m on m.id = r.id and m.source = 'summary'`, user, has[1])
		require.NotEmpty(t, found, "it is found like other memories")
	}
}

// An interrupted worker leaves no partial summary, and two concurrent workers leave one summary.
func TestSummaryIsInterrupted(t *testing.T) {
	b := setup(t)
	c := b.chronicle()
	b.cfg.StopTimeout = 10 * time.Millisecond
	ctx, stop := context.WithCancel(t.Context())
	c.before = func(n int, _ reasoner.Told) error {
		if n == 0 {
			stop()
			<-c.ctx.Done() // the interrupted call still returns its result
		}
		return nil
	}
	b.exec(`insert into oxbow.messages (user_id, session_id, content, seq) select 'ann', 's1', 'event: number ' || n, n
		from generate_series(1, 40) n`)
	require.ErrorIs(t, b.worker().RunUntilIdle(ctx, nil), context.Canceled)
	require.Empty(t, b.summaries("ann"))
	require.Zero(t, b.count(`oxbow.sessions where summarized_seq is not null`))
	require.NoError(t, b.drain())
	require.Equal(t, []string{numbers(1, 40)}, b.summaries("ann"))
	require.Equal(t, 1, b.count(`oxbow.memories where source = 'summary'`))

	// The row of the job is gone, and another summary is written during this call.
	raced := false
	c.before = func(int, reasoner.Told) error {
		if !raced {
			raced = true
			b.exec(`select oxbow.write_summary('ann', 's1', 'another', 40, 80, (select summary_id
				from oxbow.sessions), gen_random_uuid(), 'another', now(), 0.3, '{}', '{}')`)
		}
		return nil
	}
	b.chat("ann", "s1", 41, 80)
	require.Equal(t, []string{"another"}, b.summaries("ann"))
	require.Equal(t, 2, b.count(`oxbow.memories where source = 'summary'`))
	require.Zero(t, b.count(`oxbow.river_job where kind = 'summarize' and state <> 'completed'`))
}

// Many concurrent conversations get one summary each, whichever worker processes them.
func TestSummariesAtOnce(t *testing.T) {
	b := setup(t)
	const sessions = 6
	for i := range sessions {
		for part := range 5 {
			var said []string
			for j := range 12 {
				said = append(said, fmt.Sprintf("I have a cat named Milo%d%d%d.", i, part, j))
			}
			b.say("ann", fmt.Sprint("s", i), said...)
		}
	}
	b.exec(`update oxbow.river_job set state = 'available', scheduled_at = now()`)
	require.NoError(t, b.drain())
	require.Len(t, b.summaries("ann"), sessions)
	require.Equal(t, sessions, b.count(`oxbow.sessions s join oxbow.memories_episodic m on m.id = s.summary_id
		and m.expired_at is null where m.metadata ->> 'session' = s.id`))
	require.Zero(t, b.count(`(select superseded_by from oxbow.memories where source = 'summary'
		and superseded_by is not null group by 1 having count(*) > 1) x`))
}

// The conversations of a user who opted out are not summarized, and messages from before are not summarized later.
func TestOptedOutIsNotSummarized(t *testing.T) {
	b := setup(t)
	c := b.chronicle()
	b.chat("ann", "s1", 1, 20)
	b.exec(`insert into oxbow.users (user_id, opted_out) values ('ann', true)`)
	b.chat("ann", "s1", 21, 60)
	require.Empty(t, c.told)
	b.exec(`update oxbow.users set opted_out = false`)
	b.chat("ann", "s1", 61, 100)
	require.Equal(t, []string{numbers(61, 100)}, b.summaries("ann"))

	c.before = func(int, reasoner.Told) error {
		b.exec(`update oxbow.users set opted_out = true`)
		return nil
	}
	b.chat("ann", "s1", 101, 140)
	require.Equal(t, []string{numbers(61, 100)}, b.summaries("ann"), "nor what the summarizer was just thinking about")
	c.before = nil
	b.exec(`update oxbow.users set opted_out = false`)
	b.chat("ann", "s1", 141, 180)
	require.Equal(t, []string{numbers(61, 100) + " " + numbers(141, 180)}, b.summaries("ann"))
}

// Erased, forgotten or deleted content is removed from summaries, and is not in later ones.
func TestSummaryLosesErasedContent(t *testing.T) {
	b := setup(t)
	w := b.chronicle()
	// Each case has its own user, with messages numbered from 1: #35 is the 35th.
	cases := []struct {
		name, sql string
		left      int // remaining rows of summaries
	}{
		{"a memory is erased", `select oxbow.erase_memory($1, (select id from oxbow.memories where user_id = $1
			and content = 'number #35'))`, 0},
		{"an early one is", `select oxbow.erase_memory($1, (select id from oxbow.memories where user_id = $1
			and content = 'number #5'))`, 0},
		{"one not told of is", `select oxbow.erase_memory($1, (select id from oxbow.memories where user_id = $1
			and content = 'number #90'))`, 0},
		{"a message is deleted", `delete from oxbow.messages where user_id = $1 and content like '%number #35'`, 0},
		{"the summary is erased", `select oxbow.erase_memory($1, (select summary_id from oxbow.sessions
			where user_id = $1 and id = 's1'))`, 0},
		{"a memory is forgotten", `select oxbow.forget($1, (select id from oxbow.memories where user_id = $1
			and content = 'number #35'))`, 2},
	}
	first := func(i int) int { return (i + 1) * 1000 }
	own := func(i int, sql string) string {
		return regexp.MustCompile(`#\d+`).ReplaceAllStringFunc(sql, func(number string) string {
			n, err := strconv.Atoi(number[1:])
			require.NoError(t, err)
			return strconv.Itoa(first(i) + n)
		})
	}
	chat := func(session string, from, to int) {
		for i, c := range cases {
			b.talk(c.name, session, first(i)+from, first(i)+to)
		}
	}
	b.talk("bob", "s1", 1, 40)
	chat("s1", 1, 40)
	b.work()
	chat("s1", 41, 80)
	b.work()
	chat("s1", 81, 90)
	chat("s2", 201, 240)
	b.work()
	for i, c := range cases {
		b.exec(own(i, c.sql), c.name)
	}
	require.Equal(t, []string{numbers(1, 40)}, b.summaries("bob"))
	for i, c := range cases {
		require.Equal(t, []string{numbers(first(i)+201, first(i)+240)}, b.summaries(c.name), c.name)
		require.Equal(t, c.left+1, b.count(`oxbow.memories where user_id = $1 and source = 'summary'`, c.name), c.name)
		require.Equal(t, c.left, b.count(`oxbow.memory_history where user_id = $1 and event = 'DELETE'
			and reason = 'it covered a forgotten memory'`, c.name), c.name)
		if c.left == 0 {
			require.Zero(t, b.count(own(i, `oxbow.memory_history where user_id = $1
				and (new_content like '%#34 #35 #36%' or old_content like '%#34 #35 #36%')`), c.name), c.name)
		}
		for _, at := range []string{"", ", believed_as_of => now() - interval '1 millisecond'"} {
			require.Zero(t, b.count(own(i, `oxbow.recall($1, 'number #35 #36',
				max_results => 100`+at+`) r where r.content like '%#34 #35 #36%'`), c.name), c.name)
		}
	}
	b.exec(`update oxbow.memories set forgotten_at = null where content like 'number %35'`)
	chat("s1", 91, 130)
	b.work()
	for i, c := range cases {
		require.Equal(t, []string{numbers(first(i)+91, first(i)+130), numbers(first(i)+201, first(i)+240)},
			b.summaries(c.name), "%s: what was said before is not told again", c.name)
	}

	// during a call of the summarizer
	erased := map[int]bool{}
	w.before = func(_ int, told reasoner.Told) error {
		_, text, _ := strings.Cut(told.Messages[0].Content, "number ")
		number, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		if i := number/1000 - 1; !erased[i] {
			erased[i] = true
			b.exec(own(i, `select oxbow.erase_memory($1, (select id from oxbow.memories
				where content = 'number #150'))`), cases[i].name)
		}
		return nil
	}
	chat("s1", 131, 170)
	b.work()
	require.Len(t, erased, len(cases))
	for i, c := range cases {
		require.Equal(t, []string{numbers(first(i)+201, first(i)+240)}, b.summaries(c.name), c.name)
		require.Zero(t, b.count(own(i, `oxbow.memories where content like '%#149 #150%'`)), c.name)
	}
}

// A summary expires 14 days after the last message that it covers, unless it was promoted or used often.
func TestSummaryExpires(t *testing.T) {
	b := setup(t)
	b.chronicle()
	for i, user := range []string{"ann", "bob", "cid", "dan"} {
		b.chat(user, "s1", 100*i+1, 100*i+40)
	}
	b.exec(`update oxbow.memories set strength = 2.5, used_at = now() where user_id = 'bob' and source = 'summary'`)
	require.True(t, get[bool](b, `select oxbow.promote('cid', summary_id, 'a good talk') from oxbow.sessions
		where user_id = 'cid'`))
	require.False(t, get[bool](b, `select oxbow.promote('cid', summary_id) from oxbow.sessions where user_id = 'cid'`))
	settle := func() {
		b.exec(`insert into oxbow.river_job (kind, queue, max_attempts, args) values ('settle', 'default', 1, '{}')`)
		require.NoError(t, b.drain())
	}
	expire := func(from, in string) {
		b.exec(`update oxbow.memories set expires_at = now() + $2::interval, created_at = now() - interval '14 days'
			where expires_at is not null and user_id <> $1`, from, in)
	}
	expire("", "1 hour")
	settle()
	require.Len(t, b.summaries("ann"), 1, "its time is not over")
	expire("dan", "-1 second")
	settle()
	require.Empty(t, b.summaries("ann"))
	require.Len(t, b.summaries("bob"), 1)
	require.Len(t, b.summaries("cid"), 1)
	require.Len(t, b.summaries("dan"), 1)
	require.Equal(t, "ann EXPIRE settle: it expired, bob PROMOTE settle: replies used it, cid PROMOTE app: a good talk",
		get[string](b, `
		select string_agg(user_id || ' ' || event || ' ' || actor || ': ' || reason, ', ' order by user_id)
		from oxbow.memory_history where event in ('EXPIRE', 'PROMOTE')`))
	require.Zero(t, b.count(`oxbow.recall('ann', 'number 17', max_results => 100) where content = $1`, numbers(1, 40)))
	for _, as := range []string{"believed_as_of => now() - interval '1 hour'",
		"valid_as_of => now() - interval '1 hour'"} {
		require.Equal(t, 1, b.count(`oxbow.recall('ann', 'number 17', max_results => 100, `+as+`) where content = $1`,
			numbers(1, 40)), as)
	}
	b.chat("ann", "s1", 501, 540)
	require.Equal(t, []string{numbers(501, 540)}, b.summaries("ann"), "what has expired does not come back")
	b.chat("cid", "s1", 501, 540)
	require.Zero(t, b.count(`oxbow.memories where user_id = 'cid' and source = 'summary' and expires_at is not null`),
		"a promoted one stays promoted as it grows")
	require.True(t, get[bool](b, `select oxbow.promote('ann', id) from oxbow.memories where user_id = 'ann'
		and content = $1`, numbers(1, 40)))
	require.Len(t, b.summaries("ann"), 2, "it holds again")
	_, err := b.pool.Exec(t.Context(), `select oxbow.promote('ann', gen_random_uuid())`)
	require.ErrorContains(t, err, "has no memory")
}

// A summary is not evidence: only the memories that it summarizes count.
func TestSummaryIsNotEvidence(t *testing.T) {
	b := setup(t)
	b.chronicle()
	b.chat("ann", "s1", 1, 40)
	require.Len(t, b.summaries("ann"), 1)
	require.Equal(t, 1, b.count(`oxbow.memory_terms t join oxbow.memories m on m.id = t.memory_id
		where m.source = 'summary'`))
	b.reflect("ann")
	require.Equal(t, 8, get[int](b, `select sum(memories_scanned) from oxbow.reflection_cycles`),
		"40 messages, 8 of them events")
	require.Zero(t, b.count(`oxbow.memory_sources s join oxbow.memories m on m.id = s.memory_id
		where m.source = 'summary' and s.message_id is not null`))
}
