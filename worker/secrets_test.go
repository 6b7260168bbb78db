package worker

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

const (
	secretText  = "My password is hunter2."
	secretCard  = "我的卡号是4111 1111 1111 1111"
	harmlessOne = "Ann plays chess."
)

// A memory with a secret is marked before it is embedded: neither recall nor context nor the entities show it, and its
// text is not sent to the provider. It is read by id.
func TestSecretMemories(t *testing.T) {
	b := setup(t)
	server := b.remote()
	ids := b.insert("ann", secretText, secretCard, harmlessOne)
	b.work()
	require.Equal(t, "0 2 2", get[string](b,
		`select string_agg(sensitivity::text, ' ' order by sensitivity) from oxbow.memories`))
	terms, vectors := b.embedded(ids)
	require.Equal(t, []int{1, 1}, []int{terms, vectors})
	var sent []string
	for _, r := range server.Requests() {
		sent = append(sent, r.Texts...)
	}
	require.Equal(t, []string{harmlessOne}, sent)
	require.Equal(t, 1, b.count(`oxbow.recall('ann', 'password card 卡号 chess', max_results => 100)`))
	require.NotContains(t, get[string](b, `select oxbow.context('ann')`), "hunter2")
	require.Equal(t, secretText, get[string](b, `select content from oxbow.memories where id = $1`, ids[0]))
	require.Equal(t, "contains a secret: credential", get[string](b,
		`select reason from oxbow.memory_history where event = 'MARK' and memory_id = $1`, ids[0]))
	b.exec(`insert into oxbow.memories (user_id, content, modality, reference)
		values ('ann', 'Ann plays', 'video', 'https://ann:s3cretPw9@example.org/a.mp4')`)
	b.work()
	require.Zero(t, b.count(`oxbow.river_job where kind = 'embed' and state <> 'completed'`))
	require.Equal(t, 2, get[int](b, `select sensitivity from oxbow.memories where modality = 'video'`), "its reference")

	b.exec(`insert into oxbow.memories (user_id, content, speaker, topic, category, metadata) values
		('bob', 'one', 'password hunter2', null, null, default), ('bob', 'two', null, 'password hunter2', null, default),
		('bob', 'three', null, null, 'password hunter2', default),
		('bob', 'four', null, null, null, '{"note": {"list": ["我的密码是 hunter2"]}}'),
		('bob', 'five', null, null, null, '{"door_code": 4711}'),
		('bob', 'six', null, null, null, '{"wifi_password": "correct \"horse"}'),
		('bob', 'eight', null, null, null, '{"number": 6222021234567890128}'),
		('bob', 'seven', 'Bob', 'boats', 'hobby', '{"id": 4111111111111112, "page": "password",
			"cache_key": "9fA83hf02lQpZx71", "publicKey": "9fA83hf02lQpZx71"}'),
		('bob', 'nine', null, null, null, '{"doorCode": 4711}'), ('bob', 'ten', null, null, null, '{"door-code": 4711}')`)
	b.work()
	require.Equal(t, "seven", get[string](b,
		`select string_agg(content, ' ') from oxbow.memories where user_id = 'bob' and sensitivity < 2`))
	require.Equal(t, "seven", get[string](b,
		`select string_agg(content, ' ') from oxbow.recall('bob', 'one two three four five six seven eight nine ten')`))

	// whoever lowers the level has decided
	b.exec(`update oxbow.memories set sensitivity = 0 where id = $1`, ids[0])
	b.work()
	terms, vectors = b.embedded(ids)
	require.Equal(t, []int{2, 2}, []int{terms, vectors})
	require.Zero(t, get[int](b, `select sensitivity from oxbow.memories where id = $1`, ids[0]))
	b.exec(`update oxbow.memories set sensitivity = 2 where id = $1`, ids[0])
	terms, vectors = b.embedded(ids)
	require.Equal(t, []int{1, 1}, []int{terms, vectors})
}

// With the policy store, secrets are memories like others.
func TestSecretsAreStored(t *testing.T) {
	b := setup(t)
	l := b.listen()
	b.exec(`insert into oxbow.settings (key, value) values ('secrets', '{"policy": "store"}')`)
	ids := b.insert("ann", secretText)
	b.say("ann", "s", "fact: my PIN is 4821")
	b.work()
	_, vectors := b.embedded(ids)
	require.Equal(t, 1, vectors)
	require.Len(t, l.heard, 1)
	require.Equal(t, 1, b.count(`oxbow.memories where content = 'my PIN is 4821' and sensitivity = 0`))
}

// With the policy refuse, the worker forgets memories and removes texts of messages that an INSERT stored.
func TestSecretsAreRefused(t *testing.T) {
	b := setup(t)
	l := b.listen()
	b.exec(`insert into oxbow.settings (key, value) values ('secrets', '{"policy": "refuse"}')`)
	ids := b.insert("ann", secretText, harmlessOne)
	b.say("ann", "s", secretText, "fact: Ann has a cat")
	b.exec(`insert into oxbow.messages (user_id, session_id, content, speaker, metadata)
		values ('ann', 's', 'fact: Ann has a dog', 'password hunter2', '{"pin": 4711}')`)
	b.work()
	require.Equal(t, 1, b.count(`oxbow.memories where forgotten_by = 'auto' and sensitivity = 2 and id = $1`, ids[0]))
	require.Equal(t, "refused, because it contains a secret: credential", get[string](b,
		`select reason from oxbow.memory_history where event = 'DELETE' and memory_id = $1`, ids[0]))
	require.Equal(t, 2, b.count(`oxbow.messages
		where content = '[refused]' and sensitivity = 2 and speaker is null and metadata = '{}'`))
	require.Zero(t, b.count(`oxbow.messages where content like '%hunter2%'`))
	require.Len(t, l.heard, 1)
	_, vectors := b.embedded(ids)
	require.Equal(t, 1, vectors)

	// whoever restores it has decided
	b.exec(`select oxbow.restore('ann', $1)`, ids[0])
	b.exec(`update oxbow.memories set sensitivity = 0 where id = $1`, ids[0])
	b.work()
	_, vectors = b.embedded(ids)
	require.Equal(t, 2, vectors)
}

// An extractor sees neither messages nor memories with a secret, and a secret that it puts together is dropped.
func TestSecretMessages(t *testing.T) {
	b := setup(t)
	l := b.listen()
	b.exec(`update oxbow.settings set value = value || '{"summary_after": 1}' where key = 'conversations'`)
	recalled := uuid.New()
	b.exec(`insert into oxbow.memories (user_id, memory_type, id, content)
		select 'ann', 'fact', $1, $2 from (select set_config('oxbow.embed', 'off', true) offset 0) s(off)
		 where s.off = 'off'`, recalled, secretText) // no job embeds it first
	l.before = func(_ int, c reasoner.Conversation) (*reasoner.Extraction, error) {
		for _, m := range c.Messages {
			require.NotContains(t, m.Content, "hunter2")
		}
		require.Empty(t, c.Recalled)
		return &reasoner.Extraction{Candidates: []reasoner.Candidate{{Type: "fact", Content: "Ann's password is hunter2.",
			Sources: []uuid.UUID{c.Messages[0].ID}}}}, nil
	}
	b.say("ann", "s", "fact: "+secretText, "fact: Ann has a cat")
	b.exec(`insert into oxbow.messages (user_id, session_id, content, metadata)
		values ('ann', 's', 'And now?', jsonb_build_object('recalled', jsonb_build_array($1::text)))`, recalled.String())
	b.exec(`select oxbow.end_session('ann', 's')`)
	b.work()
	require.Len(t, l.heard, 1)
	require.Len(t, l.heard[0].Messages, 2)
	require.Equal(t, 1, b.count(`oxbow.messages where sensitivity = 2`))
	require.Zero(t, b.count(`oxbow.messages where extracted_at is null`))
	require.Equal(t, 1, b.count(`oxbow.memories where content like '%hunter2%'`))
	require.Equal(t, 2, get[int](b, `select sensitivity from oxbow.memories where id = $1`, recalled))
}

// A session that contains only secrets is not extracted, and does not wait.
func TestOnlySecretMessages(t *testing.T) {
	b := setup(t)
	l := b.listen()
	for range 50 {
		b.say("ann", "s", secretText)
	}
	b.exec(`select oxbow.end_session('ann', 's')`)
	b.work()
	require.Empty(t, l.heard)
	require.Zero(t, b.count(`oxbow.messages where extracted_at is null or sensitivity < 2`))
}
