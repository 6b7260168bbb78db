package worker

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// An image, recording or file is attached to the text of the same conversation or day that has the words of its
// caption, or to the memory that it names.
func TestUploadsAreAttached(t *testing.T) {
	b := setup(t)
	b.exec(`insert into oxbow.users (user_id, timezone) values ('ann', 'Asia/Tokyo')`)
	b.exec(`insert into oxbow.memories (user_id, memory_type, content, external_id, session_id, speaker, valid_at) values
		('ann', 'episodic', 'Luna slept on the sofa all day', 'm1', 's1', 'Ann', '2025-10-12 10:00Z'),
		('ann', 'episodic', '露娜在沙发上睡了一整天', null, 's2', null, '2025-10-13 10:00Z'),
		('ann', 'episodic', 'Spent 30 euros on lunch with Tom', null, null, null, '2025-10-14 10:00Z'),
		('ann', 'episodic', 'I like walking in the rain', null, 's3', null, '2025-10-15 10:00Z'),
		('ann', 'fact', 'Ann has a cat called Luna', 'cat', null, null, null),
		('bob', 'episodic', 'The red boat lies on the beach', null, 's1', null, '2025-10-12 10:00Z')`)
	b.work()
	for _, c := range []struct {
		caption, modality, session, speaker, at, metadata string
		to                                                string // the memory that it is attached to
	}{
		{"A photo of Luna on the sofa", "image", "s1", "Ann", "2025-11-01", `{}`, "Luna slept on the sofa all day"},
		{"Luna on the sofa, snoring", "audio", "", "", "2025-10-12T15:30Z", `{}`, ""}, // the 13th in Tokyo
		{"the sofa, with Luna", "video", "", "", "2025-10-12T14:30Z", `{}`, "Luna slept on the sofa all day"},
		{"沙发上的露娜的照片", "image", "", "", "2025-10-12T20:00Z", `{}`, "露娜在沙发上睡了一整天"},
		{"露娜在沙发上睡觉", "image", "s9", "", "2025-10-20", `{}`, ""},                             // another day
		{"Luna on the sofa", "image", "s1", "Tom", "2025-10-12", `{}`, ""},                  // said by somebody else
		{"Luna on the sofa", "image", "s1", "Ann", "2025-10-12", `{"context": "work"}`, ""}, // of another context
		{"Luna", "image", "s1", "Ann", "2025-10-12", `{}`, ""},                              // one word
		{"receipt of lunch with Tom, 54 euros", "file", "", "", "2025-10-14", `{}`, ""},     // another number
		{"I do not like rain", "audio", "s3", "", "2025-10-15", `{}`, ""},                   // the opposite
		{"the red boat on the beach", "image", "s1", "", "2025-10-12", `{}`, ""},            // of bob
		{"Purring", "audio", "", "", "2024-01-01", `{"belongs_to": "cat"}`, "Ann has a cat called Luna"},
		{"Luna on the sofa", "image", "s1", "Ann", "2025-10-12", `{"belongs_to": "dog"}`, ""}, // no such memory
	} {
		b.exec(`insert into oxbow.memories (user_id, memory_type, content, modality, reference, session_id, speaker, valid_at,
			metadata) values ('ann', 'episodic', $1, $2, 'a.bin', nullif($3, ''), nullif($4, ''), $5::text::timestamptz,
			$6::text::jsonb)`, c.caption, c.modality, c.session, c.speaker, c.at, c.metadata)
		b.work()
		require.Equal(t, c.to, get[string](b, `
			select coalesce((select k.content from oxbow.memories k where k.user_id = 'ann' and k.id = m.superseded_by), '')
			  from oxbow.memories m where m.user_id = 'ann' order by m.created_at desc limit 1`), c.caption)
	}
	require.Equal(t, 3, get[int](b, `select mention_count from oxbow.memories where external_id = 'm1'`))
	require.Equal(t, 2, b.count(`oxbow.weight_log l join oxbow.memories m on m.id = l.memory_id
		where m.external_id = 'm1' and l.cause = 'mentioned'`))
	require.Equal(t, 1, b.count(`oxbow.memories m, oxbow.history('ann', m.id) h where m.external_id = 'cat'
		and h.event = 'SUPERSEDE' and h.reason = 'belongs to this memory' and h.old_content = 'Purring'`))

	// a fact is attached to a fact; a memory that is named by its id may have a newer version; the switch is that of
	// reconcile
	b.exec(`select oxbow.supersede('ann', id, 'Ann has two cats') from oxbow.memories where external_id = 'cat'`)
	b.exec(`insert into oxbow.memories (user_id, content, modality, reference, metadata)
		select 'ann', 'Ann with them', 'image', 'b.jpg', jsonb_build_object('belongs_to', id)
		  from oxbow.memories where external_id = 'cat'`)
	b.work()
	require.Equal(t, 1, b.count(`oxbow.memories m join oxbow.memories k on k.id = m.superseded_by
		where m.reference = 'b.jpg' and k.content = 'Ann has two cats' and k.memory_type = 'fact'`))
	b.exec(`update oxbow.users set reconcile = false where user_id = 'ann'`)
	b.exec(`insert into oxbow.memories (user_id, content, modality, reference, metadata)
		values ('ann', 'Purring', 'audio', 'c.ogg', '{"belongs_to": "m1"}')`)
	b.work()
	require.Equal(t, 1, b.count(`oxbow.memories where reference = 'c.ogg' and expired_at is null`))
}
