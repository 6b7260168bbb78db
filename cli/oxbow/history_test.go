package main

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
)

// say stores the user's messages, ends the session, and runs its jobs.
func (d on) say(user, session, at string, messages ...string) {
	d.t.Helper()
	for i, text := range messages {
		d.exec(`insert into oxbow.messages (user_id, session_id, speaker, content, created_at, seq)
			values ($1, $2, $3, $4, $5::text::timestamptz, extract(epoch from $5::text::timestamptz) * 1000000 `+
			`+ $6)`, user, session, "Mia", text, at, i)
	}
	require.Contains(d.t, d.ok("end-session", user, session), "The session has ended.")
	d.work()
}

// idOf returns the id of the memory with the given text.
func (d on) idOf(user, content string) string {
	d.t.Helper()
	for _, e := range decoded[[]oxbow.TimelineEntry](d.t, d.ok("timeline", user, content, "--json")) {
		if e.Content == content {
			return e.ID.String()
		}
	}
	require.FailNow(d.t, "there is no memory "+content)
	return ""
}

func TestHistory(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	d.exec(`insert into oxbow.users (user_id, timezone) values ('小明', 'Asia/Shanghai')`)
	d.say("小明", "s1", "2024-03-01T10:00:00Z", "我住在北京。")
	d.say("小明", "s2", "2024-05-01T10:00:00Z", "我住在北京。")
	d.say("小明", "s3", "2025-06-10T10:00:00Z", "我现在住在上海。")
	old, current := d.idOf("小明", "我住在北京。"), d.idOf("小明", "我现在住在上海。")
	for _, id := range []string{old, current} {
		out := d.ok("history", id)
		require.Regexp(t, `1 +2024-03-01 18:00 +2025-06-10 18:00 +\S+ \S+ +\S+ \S+ +我住在北京。 +superseded +`+old, out)
		require.Regexp(t, `2 +2025-06-10 18:00 +\S+ \S+ +我现在住在上海。 +current +`+current, out)
		require.Regexp(t, `→ \d .*`+id, out, "the one that was asked for is marked")
		require.Regexp(t, `(?s)stored +1 +rules-v1 +我住在北京。.*2024-03-01 18:00 +said +Mia +我住在北京。 +in s1.*`+
			`mentioned +1 +rules-v1 .*2024-05-01 18:00 +said +Mia +我住在北京。 +in s2.*`+
			`stored +2 +rules-v1 +我现在住在上海。.*2025-06-10 18:00 +said .* in s3.*`+
			`changed to +1 +rules-v1 +我现在住在上海。 +another value of home`, out)
	}
	s := decoded[story](t, d.ok("history", current, "--user", "小明", "--json"))
	require.Len(t, s.Versions, 2)
	require.Equal(t, current, s.Versions[0].SupersededBy.String())
	require.Equal(t, []string{"ADD", "NOOP", "ADD", "UPDATE"}, events(s.History))
	require.Equal(t, "我现在住在上海。", s.History[3].Messages[0].Content)

	d.ok("forget", "小明", current, "--reason", "不对")
	require.Regexp(t, `forgotten +2 +app +不对`, d.ok("history", old))
	d.ok("erase", "--memory", current, "--user", "小明", "--yes")
	require.NotContains(t, d.ok("show", old), "上海")
	left := decoded[story](t, d.ok("history", old, "--json"))
	require.Len(t, left.Versions, 1)
	for _, c := range left.History {
		require.NotContains(t, c.NewContent+c.Reason, "上海", "what is erased leaves nothing")
	}
	for _, args := range [][]string{{"history", current}, {"history", current, "--user", "小明"}} {
		r := d.run(args...)
		require.Equal(t, exitFailed, r.code)
		require.Contains(t, r.err, "no such memory: "+current)
	}
	require.Contains(t, d.run("history", old, "--user", "bob").err, `no such memory: `+old+` of user "bob"`)
	require.Equal(t, exitUsage, d.run("history", "7").code)
	require.Contains(t, d.run("history", uuid.NewString()).err, "no such memory")
}

// History names the memory that the originals of a merged memory and attachments became part of.
func TestHistoryOfParts(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	one, two := d.ok("remember", "ada", "Ada had soup."), d.ok("remember", "ada", "Ada had lentil soup.")
	require.Regexp(t, "^Merged 2 memories into ", d.ok("merge", "ada", one, two))
	out := d.ok("history", one)
	require.Regexp(t, `Ada had soup\. +merged into 2 +`+one, out)
	require.Regexp(t, `2 .*Ada had lentil soup\. +current +`, out)
	require.Regexp(t, `merged into +1 +app +Ada had lentil soup\.`, out)
	require.NotContains(t, out, "never true")
	versions := []oxbow.Memory{{ID: uuid.New(), Reference: "a.png"}, {ID: uuid.New()}}
	versions[0].SupersededBy = versions[1].ID
	require.Equal(t, "attached to 2", versionState(versions, versions[0]))
	versions[1].Reference = "a.png" // a new version keeps the reference
	require.Equal(t, "superseded", versionState(versions, versions[0]))
}

// History lists facts in the order in which they were true, in whatever order the conversations
// were extracted.
func TestHistoryOfConversationsOutOfOrder(t *testing.T) {
	t.Parallel()
	said := []string{"I live in Bergen.", "I live in Oslo.", "I live in Trondheim."}
	days := []string{"2024-03-01T10:00:00Z", "2024-09-10T10:00:00Z", "2025-01-10T10:00:00Z"}
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			t.Parallel()
			d := onDatabase(t)
			for _, i := range order {
				d.say("mia", fmt.Sprint("s", i), days[i], said[i])
			}
			s := decoded[story](t, d.ok("history", d.idOf("mia", said[0]), "--json"))
			require.Len(t, s.Versions, 3)
			for i, v := range s.Versions {
				require.Equal(t, said[i], v.Content)
				if i == 2 {
					require.Zero(t, v.InvalidAt)
					require.Zero(t, v.SupersededBy)
					break
				}
				require.Equal(t, s.Versions[i+1].ValidAt, v.InvalidAt, v.Content)
				require.Equal(t, s.Versions[i+1].ID, v.SupersededBy, v.Content)
			}
			for _, c := range s.History {
				switch c.Event {
				case "ADD":
					require.Len(t, c.Messages, 1)
					require.Equal(t, c.NewContent, c.Messages[0].Content)
				case "UPDATE":
					require.Less(t, slices.Index(said, c.OldContent), slices.Index(said, c.NewContent), "%s → %s",
						c.OldContent, c.NewContent)
				default:
					require.Fail(t, c.Event)
				}
			}
			require.Zero(t, d.number(`select count(*) from oxbow.memory_links l
				join oxbow.memories n on n.id = l.from_id
				join oxbow.memories o on o.id = l.to_id where l.relation = 'supersedes' and n.valid_at < o.valid_at`))
		})
	}
}

// A repeat that was said earlier but extracted later begins the fact, unless the fact replaced another.
func TestRepeatsOutOfOrder(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	d.say("mia", "s2", "2024-09-10T10:00:00Z", "我还是喜欢喝龙井茶。")
	d.say("mia", "s1", "2024-09-02T10:00:00Z", "我喜欢喝龙井茶。")
	require.Equal(t, 1, d.number(`select count(*) from oxbow.facts_as_of('mia', '2024-09-03')`))
	require.Equal(t, 2, d.number(`select sum(mention_count) from oxbow.memories where expired_at is null`))

	d.say("ada", "s3", "2025-01-10T10:00:00Z", "I live in Oslo.")
	d.say("ada", "s2", "2024-09-10T10:00:00Z", "I live in Bergen.")
	d.say("ada", "s1", "2024-03-01T10:00:00Z", "I live in Oslo.")
	require.Equal(t, 1, d.number(`select count(*) from oxbow.facts_as_of('ada', '2024-10-01')`))

	d.say("bob", "s3", "2024-11-05T10:00:00Z", "我不喜欢喝咖啡了")
	d.say("bob", "s2", "2024-11-02T10:00:00Z", "我还是喜欢喝咖啡。")
	d.say("bob", "s1", "2024-11-01T10:00:00Z", "我喜欢喝咖啡。")
	require.Zero(t, d.number(`select count(*) from oxbow.memory_history
		where user_id = 'bob' and reason = 'it says the opposite' and new_content not like '%不喜欢%'`))
}

// A memory learned late is superseded by the one already known. A memory that coexists with another
// is shown as contradicting it.
func TestHistoryOfOtherOrders(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	d.say("mia", "s2", "2024-09-10T10:00:00Z", "I live in Oslo.")
	d.say("mia", "s1", "2024-03-01T10:00:00Z", "I live in Bergen.")
	oslo := d.idOf("mia", "I live in Oslo.")
	out := d.ok("history", oslo)
	require.Regexp(t, `1 +2024-03-01 10:00 +2024-09-10 10:00 .* I live in Bergen\. +superseded`, out)
	require.Regexp(t, `changed to +1 +rules-v1 +I live in Oslo\.`, out)

	d.exec(`update oxbow.settings
		set value = value || '{"policies": {"identity": "weight_balance", "fact": "version_keep"}}'
		where key = 'conversations'`)
	d.say("mia", "s3", "2025-01-10T10:00:00Z", "I live in Trondheim.")
	require.Regexp(t, `contradicted by +2 +rules-v1 +I live in Trondheim\.`, d.ok("history", oslo))
	require.Len(t, decoded[story](t, d.ok("history", oslo, "--json")).Versions, 3)
	require.Regexp(t, `2 +2024-09-10 .*● .*I live in Oslo\. +contradicted by 3`, d.ok("timeline", "mia", "live"))
}

func TestHistoryOfATrait(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	d.say("ann", "s1", "2025-06-10T10:00:00Z", "I live in Oslo.")
	d.exec(`do $$ begin perform set_config('oxbow.origin', 'import', true);
		insert into oxbow.memories (user_id, memory_type, id, content, trait_subtype, trait_stage, trait_confidence,
			trait_confidence_at)
		values ('ann', 'trait', '0198c2f6-7f0e-7bb2-9a52-0d7a51e9f5c1', 'Rows at dawn', 'behavior', 'emerging', 0.4,
		now()); end $$`)
	require.Regexp(t, `(?s)Rows at dawn.*oxbow trait 0198c2f6-7f0e-7bb2-9a52-0d7a51e9f5c1 --user ann`,
		d.ok("history", "0198c2f6-7f0e-7bb2-9a52-0d7a51e9f5c1"))
}

func events(changes []oxbow.Change) []string {
	var names []string
	for _, c := range changes {
		names = append(names, c.Event)
	}
	return names
}
