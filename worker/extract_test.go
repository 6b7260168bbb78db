package worker

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// listener is an extractor that makes a fact of each user message "fact: …" and an episode of each "event: …",
// and ignores others. "… is now …" supersedes facts with the same beginning. before lets a test act during a call.
type listener struct {
	mu     sync.Mutex
	before func(n int, c reasoner.Conversation) (*reasoner.Extraction, error) // n is the number of earlier calls
	heard  []reasoner.Conversation
	asked  [][]reasoner.Conflict
	also   []uuid.UUID // further memories that an update supersedes
}

func (*listener) Name() string { return "listener" }

func (l *listener) Extract(_ context.Context, c reasoner.Conversation) (e reasoner.Extraction, err error) {
	l.mu.Lock()
	n := len(l.heard)
	l.heard = append(l.heard, c)
	l.mu.Unlock()
	if l.before != nil {
		if given, err := l.before(n, c); given != nil || err != nil {
			if given == nil {
				given = &e
			}
			return *given, err
		}
	}
	for _, m := range c.Messages {
		kind, text, _ := strings.Cut(m.Content, ": ")
		if !m.New || m.Role != "user" || kind != "fact" && kind != "event" {
			continue
		}
		candidate := reasoner.Candidate{Type: map[string]string{"fact": "fact", "event": "episodic"}[kind],
			Content: text, Category: reasoner.Identity, Importance: 0.7, Sources: []uuid.UUID{m.ID}}
		e.Candidates = append(e.Candidates, candidate)
	}
	return e, nil
}

func (l *listener) Resolve(_ context.Context, _ time.Time,
	conflicts []reasoner.Conflict) ([]reasoner.Resolution, error) {
	l.mu.Lock()
	l.asked = append(l.asked, conflicts)
	l.mu.Unlock()
	decided := make([]reasoner.Resolution, len(conflicts))
	for i, c := range conflicts {
		decided[i].Operation = reasoner.Add
		what, _, changed := strings.Cut(c.Candidate.Content, " is now ")
		for _, h := range c.Similar {
			if changed && strings.HasPrefix(h.Content, what+" is") {
				decided[i] = reasoner.Resolution{Operation: reasoner.Update, Target: h.ID, Also: l.also,
					Reason: "it changed"}
				break
			}
		}
	}
	return decided, nil
}

// listen sets a listener as the extractor.
func (b *bundle) listen() *listener {
	l := &listener{}
	b.script(time.Now().Add(time.Hour))
	b.cfg.Now = nil
	b.cfg.testExtractor = l
	return l
}

// say inserts messages of a session, each in its own statement, from the user unless they begin with a role.
func (b *bundle) say(user, session string, messages ...string) {
	b.Helper()
	for _, text := range messages {
		role := "user"
		for _, r := range []string{"assistant", "system", "tool"} {
			if rest, ok := strings.CutPrefix(text, r+"> "); ok {
				role, text = r, rest
			}
		}
		b.exec(`insert into oxbow.messages (user_id, session_id, role, content) values ($1, $2, $3, $4)`, user, session,
			role, text)
	}
}

func TestMessagesBecomeMemories(t *testing.T) {
	b := setup(t)
	l := b.listen()
	b.exec(`insert into oxbow.users (user_id, timezone, language) values ('ann', 'Asia/Tokyo', 'ja')`)
	b.say("ann", "s1", "hello", "fact: Ann's home is Lisbon", "assistant> fact: I am an assistant",
		"event: Ann saw the sea")
	require.Equal(t, 1, b.count(`oxbow.sessions where user_id = 'ann' and id = 's1' and ended_at is null`))
	require.Equal(t, 4, b.count(`oxbow.river_job where kind = 'extract' and state = 'scheduled'
		and scheduled_at > now()`))
	b.work()

	require.Len(t, l.heard, 1, "a burst is extracted from at once")
	require.Len(t, l.heard[0].Messages, 4)
	require.Equal(t, "ja", l.heard[0].Language)
	require.Equal(t, "Asia/Tokyo", l.heard[0].Messages[0].Time.Location().String())
	require.Equal(t, 2, b.count(`oxbow.memories`))
	require.Equal(t, 1, b.count(`oxbow.memories_fact m join oxbow.memory_sources s on s.memory_id = m.id
		join oxbow.messages g on g.id = s.message_id
		where m.content = 'Ann''s home is Lisbon' and m.source = 'extraction' and m.session_id = 's1'
		and m.category = 'identity' and m.importance = 0.7
		  and m.seq = g.seq and m.valid_at = g.created_at and g.content like 'fact: %'`))
	require.Equal(t, 2, b.count(`oxbow.memory_history where event = 'ADD' and actor = 'listener'
		and cardinality(message_ids) = 1`))
	require.Zero(t, b.count(`oxbow.messages where extracted_at is null`))
	require.Equal(t, 2, b.count(`oxbow.memory_vectors`))
	require.Equal(t, 2, b.count(`oxbow.memory_terms`), "they can be found by their words")

	b.say("ann", "s1", "event: Ann went home")
	b.work()
	require.Len(t, l.heard, 2)
	require.Len(t, l.heard[1].Messages, 5, "with what was said before")
	require.False(t, l.heard[1].Messages[0].New)
	require.Equal(t, 3, b.count(`oxbow.memories`))
}

// A changed fact is superseded on both timelines; a repeated fact counts as a mention.
func TestOperations(t *testing.T) {
	b := setup(t)
	b.listen()
	b.say("ann", "s1", "fact: Ann's home is Lisbon")
	b.work()
	b.say("ann", "s2", "fact: Ann's home is Lisbon", "fact: Ann's home is now Porto", "fact: Ann's home is now Porto")
	b.work()
	require.Equal(t, 1, b.count(`oxbow.memories_fact where content = 'Ann''s home is now Porto' and expired_at is null
		and mention_count = 2`))
	require.Equal(t, 1, b.count(`oxbow.memories_fact m join oxbow.memories_fact n on n.id = m.superseded_by
		where m.content = 'Ann''s home is Lisbon'
		and m.expired_at is not null and m.invalid_at = n.valid_at and m.mention_count = 2`))
	require.Equal(t, 1, b.count(`oxbow.memory_links where relation = 'supersedes'`))
	require.Equal(t, "ADD,NOOP,UPDATE,NOOP", get[string](b, `select string_agg(event, ',' order by created_at)
		from oxbow.memory_history`))
	require.Equal(t, 4, b.count(`oxbow.memory_sources`))
}

// A category's policy decides what happens to the old memory. A fact about an earlier time supersedes nothing.
func TestConflictPolicies(t *testing.T) {
	for policy, want := range map[string]string{
		"latest_wins":    "Ann's home is Lisbon: expired, ended; Ann's home is now Porto",
		"version_keep":   "Ann's home is Lisbon: ended, negated; Ann's home is now Porto",
		"weight_balance": "Ann's home is Lisbon: negated; Ann's home is now Porto",
		"":               "Ann's home is Lisbon: expired, ended; Ann's home is now Porto",
		"earlier":        "Ann's home is Lisbon; Ann's home is now Porto: expired, ended",
	} {
		t.Run(policy, func(t *testing.T) {
			b := setup(t)
			b.listen()
			b.say("ann", "s1", "fact: Ann's home is Lisbon")
			b.work()
			at := time.Now()
			switch policy {
			case "earlier":
				at = at.AddDate(-1, 0, 0)
			case "":
			default:
				b.exec(`update oxbow.settings set value = value || jsonb_build_object('policies',
					jsonb_build_object('identity', $1::text)) where key = 'conversations'`, policy)
			}
			b.exec(`insert into oxbow.messages (user_id, session_id, content, created_at)
				values ('ann', 's2', 'fact: Ann''s home is now Porto', $1)`, at)
			b.work()
			require.Equal(t, want, get[string](b, `
				select string_agg(concat_ws(': ', content, nullif(concat_ws(', ',
				         case when expired_at is not null then 'expired' end,
				         case when invalid_at is not null then 'ended' end,
				         case when negated_at is not null then 'negated' end), '')), '; ' order by content)
				  from oxbow.memories_fact where strength = 1`))
		})
	}
}

// Many concurrent conversations of one user leave each fact once, with its mentions, and lose no change.
func TestConversationsAtOnce(t *testing.T) {
	b := setup(t)
	b.listen()
	b.cfg.Concurrency = 4
	const conversations, facts = 20, 10
	for i := range conversations {
		var said []string
		for j := range facts {
			said = append(said, fmt.Sprintf("fact: Ann's thing number %d is here", j))
		}
		b.say("ann", fmt.Sprintf("s%d", i), said...)
	}
	b.work()
	require.Equal(t, facts, b.count(`oxbow.memories_fact where expired_at is null`))
	require.Equal(t, facts, b.count(`oxbow.memories_fact where mention_count = $1`, conversations))
	require.Equal(t, facts, b.count(`oxbow.memories_fact`), "no duplicate had to be folded")
	require.Equal(t, conversations*facts, b.count(`oxbow.memory_sources`))
	require.Zero(t, b.count(`oxbow.messages where extracted_at is null`))
}

// Many concurrent changes of one fact form a chain: each supersedes the one before it.
func TestChangesAtOnce(t *testing.T) {
	b := setup(t)
	b.listen()
	b.cfg.Concurrency = 4
	b.say("ann", "s0", "fact: Ann's home is Lisbon")
	b.work()
	const changes = 12
	for i := range changes {
		b.say("ann", fmt.Sprintf("c%d", i), fmt.Sprintf("fact: Ann's home is now town %d", i))
	}
	b.work()
	require.Equal(t, changes+1, b.count(`oxbow.memories_fact`))
	require.Equal(t, 1, b.count(`oxbow.memories_fact where expired_at is null`))
	require.Equal(t, changes, b.count(`oxbow.memory_history where event = 'UPDATE'`))
}

// A message that cannot be extracted is retried, later each time, and does not delay others.
func TestExtractorAnswersNonsense(t *testing.T) {
	b := setup(t)
	l := b.listen()
	l.before = func(_ int, c reasoner.Conversation) (*reasoner.Extraction, error) {
		for _, m := range c.Messages {
			if m.New && m.Content == "poison" {
				return nil, &reasoner.AnswerError{Problem: "that is prose", Answer: "Once upon a time"}
			}
		}
		return nil, nil
	}
	b.say("ann", "s1", "poison", "fact: Ann plays chess")
	b.hurry()
	require.ErrorAs(t, b.drain(), new(*UnfinishedError))
	require.Equal(t, 2, b.count(`oxbow.messages where extracted_at is null and extract_failures = 1
		and extract_error like '%that is prose%'`))
	b.say("ann", "s1", "fact: Ann has a cat")
	b.hurry()
	require.ErrorAs(t, b.drain(), new(*UnfinishedError))
	require.Equal(t, 1, b.count(`oxbow.memories_fact`), "what was said later does not wait")
	b.hurry()
	require.ErrorAs(t, b.drain(), new(*UnfinishedError))
	require.Equal(t, 2, b.count(`oxbow.memories_fact`), "nor does, one by one, what failed with it")
	require.Equal(t, 1, b.count(`oxbow.messages where extracted_at is null and content = 'poison'`))
	require.Equal(t, 1, b.count(`oxbow.river_job where kind = 'extract' and state = 'scheduled'
		and args ->> 'retry' = 'true'`))
	l.before = nil
	b.work()
	require.Zero(t, b.count(`oxbow.messages where extracted_at is null`))
}

// A message that another job extracts while the answer for it turns out useless is done.
func TestExtractorAnswersNonsenseTooLate(t *testing.T) {
	b := setup(t)
	b.listen().before = func(int, reasoner.Conversation) (*reasoner.Extraction, error) {
		b.exec(`update oxbow.messages set extracted_at = now()`)
		return nil, &reasoner.AnswerError{Problem: "that is prose"}
	}
	b.say("ann", "s1", "fact: Ann plays chess")
	b.work()
	require.Equal(t, 1, b.count(`oxbow.river_job where kind = 'extract' and state = 'completed' and attempt = 1`))
	require.Equal(t, 1, b.count(`oxbow.river_job where kind = 'extract'`))
}

// An update supersedes several memories if they were shown to the extractor and are still current.
func TestUpdateOfSeveral(t *testing.T) {
	b := setup(t)
	l := b.listen()
	b.say("bob", "s1", "fact: Bob's home is Rome")
	b.say("ann", "s1", "fact: Ann's home is Rome", "fact: Ann's home is a flat in Rome", "fact: Ann's home is far away")
	b.work()
	others := get[uuid.UUID](b, `select id from oxbow.memories where user_id = 'bob'`)
	l.before = func(int, reasoner.Conversation) (*reasoner.Extraction, error) {
		l.also = []uuid.UUID{others, uuid.New()}
		for _, content := range []string{"Ann's home is a flat in Rome", "Ann's home is far away"} {
			l.also = append(l.also, get[uuid.UUID](b, `select id from oxbow.memories where content = $1`, content))
		}
		return nil, nil
	}
	b.say("ann", "s2", "fact: Ann's home is now Porto")
	b.work()
	require.Equal(t, "Ann's home is now Porto", get[string](b,
		`select string_agg(content, ' | ') from oxbow.facts_as_of('ann')`))
	require.Equal(t, 3, b.count(`oxbow.memories_fact m join oxbow.memories_fact n on n.id = m.superseded_by
		where m.user_id = 'ann' and m.invalid_at = n.valid_at`))
	require.Equal(t, 3, b.count(`oxbow.memory_history where user_id = 'ann' and event = 'UPDATE'`))
	require.Equal(t, 1, b.count(`oxbow.facts_as_of('bob')`))
}

// If an extractor names memories that do not exist or belong to another user, nothing changes.
func TestExtractorInventsThings(t *testing.T) {
	b := setup(t)
	l := b.listen()
	b.say("bob", "s1", "fact: Bob's home is Rome")
	b.work()
	others := get[uuid.UUID](b, `select id from oxbow.memories where user_id = 'bob'`)
	message := get[uuid.UUID](b, `select id from oxbow.messages where user_id = 'bob'`)
	l.before = func(_ int, c reasoner.Conversation) (*reasoner.Extraction, error) {
		e := &reasoner.Extraction{Used: []uuid.UUID{others, uuid.New()}}
		for i := range 1000 {
			e.Candidates = append(e.Candidates, reasoner.Candidate{Type: "fact",
				Content: fmt.Sprintf("flood %d of it", i), Importance: 7, Sources: []uuid.UUID{c.Messages[0].ID}})
		}
		e.Candidates[0].Sources = []uuid.UUID{message}
		e.Candidates[1].Type = "trait"
		e.Candidates[2].Content = " \n"
		return e, nil
	}
	b.say("ann", "s1", "anything")
	b.work()
	require.Equal(t, 197, b.count(`oxbow.memories where user_id = 'ann' and importance = 1`))
	require.Zero(t, b.count(`oxbow.memories where user_id = 'ann' and memory_type <> 'fact'`))
	require.Equal(t, 1, b.count(`oxbow.memories where user_id = 'bob' and strength = 1 and mention_count = 1`))
}

func TestOptedOutIsNotExtractedFrom(t *testing.T) {
	b := setup(t)
	l := b.listen()
	b.exec(`insert into oxbow.users (user_id, opted_out) values ('ann', true)`)
	b.say("ann", "s1", "fact: Ann plays chess")
	b.work()
	require.Empty(t, l.heard)
	require.Zero(t, b.count(`oxbow.memories`))
	b.exec(`update oxbow.users set opted_out = false`)
	b.say("ann", "s1", "fact: Ann has a cat")
	b.work()
	require.Equal(t, 1, b.count(`oxbow.memories`), "what was said until then stays unheard")
}

// The end of a session extracts its waiting messages and requests a reflection. A later message
// reopens it or is refused.
func TestEndSession(t *testing.T) {
	b := setup(t)
	b.listen()
	b.say("ann", "s1", "fact: Ann plays chess")
	require.True(t, get[bool](b, `select oxbow.end_session('ann', 's1')`))
	require.False(t, get[bool](b, `select oxbow.end_session('ann', 's1')`))
	_, err := b.pool.Exec(t.Context(), `select oxbow.end_session('ann', 's9')`)
	require.ErrorContains(t, err, "session_id must be a session of user 'ann'")
	require.NoError(t, b.drain())
	require.Equal(t, 1, b.count(`oxbow.memories`), "at once, though its quiet time is not over")
	require.Equal(t, 1, b.count(`oxbow.reflection_cycles where trigger_type = 'session_end'`))

	b.say("ann", "s1", "fact: Ann has a cat")
	require.Equal(t, 1, b.count(`oxbow.sessions where ended_at is null`), "reopened")
	b.exec(`select oxbow.end_session('ann', 's1')`)
	b.exec(`update oxbow.settings set value = value || '{"ended_session": "reject"}' where key = 'conversations'`)
	_, err = b.pool.Exec(t.Context(), `insert into oxbow.messages (user_id, session_id, content)
		values ('ann', 's1', 'x')`)
	require.ErrorContains(t, err, "session_id must not be of a session that has ended")
}

// A conversation ends while its last messages, of which nothing is kept, are being extracted. The job enqueued at its
// end leaves the session to that extraction, which then also requests the reflection.
func TestEndSessionDuringItsExtraction(t *testing.T) {
	b := setup(t)
	l := b.listen()
	b.waiting("ann", "Saw a heron")
	l.before = func(int, reasoner.Conversation) (*reasoner.Extraction, error) {
		b.exec(`select oxbow.end_session('ann', 's1'); delete from oxbow.river_job where state = 'available'`)
		return nil, nil
	}
	b.say("ann", "s1", "hello")
	b.work()
	require.Len(t, l.heard, 1)
	require.Equal(t, 1, b.count(`oxbow.reflection_cycles where trigger_type = 'session_end'`))
}

// Many waiting messages are extracted immediately; fewer wait until the session has been quiet for a while.
func TestBurstsAreExtractedTogether(t *testing.T) {
	b := setup(t)
	l := b.listen()
	for i := range 19 {
		b.say("ann", "s1", fmt.Sprintf("event: number %d", i))
	}
	require.Zero(t, b.count(`oxbow.river_job where kind = 'extract' and state = 'available'`))
	b.exec(`update oxbow.river_job set state = 'available', scheduled_at = now() where id = (select min(id)
		from oxbow.river_job where kind = 'extract')`)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- b.worker().Run(ctx) }()
	require.Eventually(t, func() bool {
		return b.count(`oxbow.river_job where kind = 'extract'
		and state = 'completed'`) == 1
	}, 5*time.Minute, 20*time.Millisecond)
	stop()
	require.NoError(t, <-ended)
	require.Empty(t, l.heard, "the first job leaves them to those that are due later")
	b.say("ann", "s1", "event: number 20")
	require.Equal(t, 1, b.count(`oxbow.river_job where kind = 'extract' and state = 'available'`))
	require.NoError(t, b.drain())
	require.Len(t, l.heard, 1)
	require.Equal(t, 20, b.count(`oxbow.memories_episodic`))
	require.Zero(t, b.count(`oxbow.river_job where kind = 'extract' and state <> 'completed'`),
		"the needless ones are gone")
}

// The rules supersede changed facts, in English and Chinese.
func TestRulesKeepFactsTrue(t *testing.T) {
	b := setup(t)
	b.say("mia", "s1", "I live in Bergen, and I play the cello.", "I love coffee.")
	b.say("小雨", "s1", "我住在杭州，在一家设计公司上班。", "我喜欢喝咖啡。")
	b.work()
	for session, texts := range map[string][2]string{"s2": {"I moved, I live in Oslo now.", "我搬家了，现在我住在上海。"},
		"s3": {"I don't play the cello any more.", "我不喝咖啡了。"}} {
		b.say("mia", session, texts[0])
		b.say("小雨", session, texts[1])
	}
	b.work()
	current := func(user string) string {
		return get[string](b, `select string_agg(content, ' | ' order by content collate "C")
			from oxbow.facts_as_of($1)`, user)
	}
	require.Equal(t, "I don't play the cello any more. | I love coffee. | I moved, I live in Oslo now.", current("mia"))
	require.Equal(t, "我不喝咖啡了。 | 我在一家设计公司上班。 | 我搬家了，现在我住在上海。", current("小雨"))
	require.Equal(t, 4, b.count(`oxbow.memory_history where event = 'UPDATE'`))
}

// A fact that one conversation repeats, changes and takes back is one memory, with or without earlier memories.
func TestOneConversationChangesItsMind(t *testing.T) {
	b := setup(t)
	b.say("mia before", "s0", "I live in Bergen.")
	b.say("小雨 before", "s0", "我住在杭州。")
	b.work()
	for _, before := range []string{"", " before"} {
		b.say("mia"+before, "s1", "I live in Bergen.", "I live in Oslo now.", "I love strong coffee.",
			"I live in Bergen.", "I love strong coffee.", "Now I live in Turku.")
		b.say("小雨"+before, "s1", "我住在杭州。", "我现在住在上海。", "我喜欢喝咖啡。", "我又搬家了，我住在杭州。", "现在我住在苏州。", "我不喝咖啡了。")
	}
	b.work()
	require.Zero(t, b.count(`oxbow.messages where extracted_at is null`))
	for _, before := range []string{"", " before"} {
		current := func(user string) string {
			return get[string](b, `select string_agg(content, ' | ' order by content collate "C")
				from oxbow.facts_as_of($1)`, user+before)
		}
		require.Equal(t, "I love strong coffee. | Now I live in Turku.", current("mia"), before)
		require.Equal(t, "我不喝咖啡了。 | 现在我住在苏州。", current("小雨"), before)
		require.Equal(t, 1, b.count(`oxbow.memories_fact where user_id = $1 and content = 'I love strong coffee.'
			and mention_count = 2`, "mia"+before), before)
		require.Equal(t, 6, b.count(`oxbow.messages g where user_id = $1 and session_id = 's1' and exists (select
			from oxbow.memory_sources s where s.message_id = g.id)`, "mia"+before), before)
	}
}

// An older conversation that arrives late ends no later fact, and is extracted whatever it says.
func TestOlderConversationComesLate(t *testing.T) {
	b := setup(t)
	users := map[string]struct{ now, older, want string }{
		"takes back": {"I do not like coffee any more.", "I love coffee.|I do not like coffee any more.",
			"I do not like coffee any more."},
		"repeats": {"I do not like coffee any more.", "I love coffee.|I love coffee.|I like tea.",
			"I do not like coffee any more. | I like tea."},
		"moves":                  {"I live in Oslo.", "I live in Rome.|I live in Bonn.|I live in Rome.", "I live in Oslo."},
		"takes back, in Chinese": {"我不喝咖啡了。", "我喜欢喝咖啡。|我不喝咖啡了。", "我不喝咖啡了。"},
		"moves, in Chinese":      {"我住在上海。", "我住在北京。|我住在杭州。|我住在北京。", "我住在上海。"},
	}
	for user, c := range users {
		b.say(user, "now", c.now)
	}
	b.work()
	for user, c := range users {
		for i, text := range strings.Split(c.older, "|") {
			b.exec(`insert into oxbow.messages (user_id, session_id, content, created_at, seq)
				values ($1, 'old', $2, $3, $4)`,
				user, text, time.Date(2025, 1, 1+i, 0, 0, 0, 0, time.UTC), i)
		}
	}
	b.work()
	require.Zero(t, b.count(`oxbow.messages where extracted_at is null`))
	for user, c := range users {
		require.Equal(t, c.want, get[string](b, `select string_agg(content, ' | ' order by content)
			from oxbow.facts_as_of($1)`, user), user)
	}
	require.Zero(t, b.count(`oxbow.memories_fact where invalid_at < valid_at`))
	require.Zero(t, b.count(`oxbow.river_job where metadata ? 'snoozes' and kind = 'extract'`),
		"nothing was tried in vain")
}

// What a person says later is not placed before what an application stored, though it began earlier.
func TestLaterStatementReplacesAStoredFact(t *testing.T) {
	b := setup(t)
	b.exec(`insert into oxbow.memories (user_id, content, created_at) values
		('mia', 'I live in Utrecht.', now() - interval '10 days'), ('林', '我住在南京。', now() - interval '10 days')`)
	b.work()
	b.say("mia", "s1", "No, that's wrong, I moved to Leipzig a month ago.")
	b.say("林", "s1", "你记错了，我上个月搬到了杭州。")
	b.work()
	require.Equal(t, "I moved to Leipzig a month ago. | 我上个月搬到了杭州。", get[string](b, `
		select string_agg(content, ' | ' order by user_id) from oxbow.memories where memory_type = 'fact' and expired_at is null`))
}
