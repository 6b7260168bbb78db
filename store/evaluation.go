package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// HideFromWorkers hides the memories of users from the workers. It must run in the transaction that
// inserted the memories: it deletes their jobs and opts the users out of reflection. The evaluation
// embeds the memories itself and erases the users at the end.
func HideFromWorkers(ctx context.Context, tx pgx.Tx, users []string) error {
	_, err := run(ctx, tx, "opt the users of an evaluation out", `
		insert into oxbow.users (user_id, opted_out) select u, true from unnest($1::text[]) u order by u
		on conflict (user_id) do update set opted_out = true`, users)
	if err != nil {
		return err
	}
	_, err = run(ctx, tx, "delete the jobs of an evaluation", `
		delete from oxbow.river_job j using unnest($1::text[]) u where j.args ->> 'user_id' = u`, users)
	return err
}

// MemoryIDs returns the ids of a user's memories that are not forgotten, in order.
func MemoryIDs(ctx context.Context, db DB, userID string) ([]uuid.UUID, error) {
	return Collect[uuid.UUID](ctx, db,
		`select id from oxbow.memories where user_id = $1 and forgotten_at is null order by seq, id`, userID)
}

// MessagesFromMemories turns the memories of users that HideFromWorkers hid into messages and opts the users in
// again. It returns their sessions and the number of messages. It deletes the extract jobs, so that
// only the caller extracts from the messages.
func MessagesFromMemories(
	ctx context.Context, tx pgx.Tx, users []string,
) (sessions []Session, messages int64, err error) {
	_, err = tx.Exec(ctx, `
		insert into oxbow.messages (user_id, session_id, seq, role, speaker, content, created_at, metadata)
		select user_id, coalesce(session_id, 'none'), seq,
		       case when metadata ->> 'role' in ('assistant', 'system', 'tool') then metadata ->> 'role'
		            else 'user' end,
		       speaker, content, coalesce(valid_at, created_at), jsonb_build_object('external_id', external_id)
		  from oxbow.memories where user_id = any($1) order by seq, id`, users)
	for _, sql := range []string{
		`delete from oxbow.memories where user_id = any($1)`,
		`delete from oxbow.river_job j using unnest($1::text[]) u where j.args ->> 'user_id' = u`,
		`update oxbow.users set opted_out = false where user_id = any($1)`,
	} {
		if err == nil {
			_, err = tx.Exec(ctx, sql, users)
		}
	}
	if err != nil {
		return nil, 0, fmt.Errorf("turn memories into messages: %w", Explain(err))
	}
	found, err := Collect[struct {
		Session
		Messages int64
	}](ctx, tx, `
		select user_id, session_id as id, count(*) as messages from oxbow.messages
		 where user_id = any($1) group by 1, 2 order by 1, 2`, users)
	for _, s := range found {
		sessions, messages = append(sessions, s.Session), messages+s.Messages
	}
	return sessions, messages, err
}

// ExtractedMemory is a memory that was extracted from messages of MessagesFromMemories.
type ExtractedMemory struct {
	MemoryID                   uuid.UUID
	UserID, SessionID, Content string
	Sources                    []string // the external ids of those messages, in order
}

// ExtractedOf returns the memories that were extracted from the messages of users.
func ExtractedOf(ctx context.Context, db DB, users []string) ([]ExtractedMemory, error) {
	return Collect[ExtractedMemory](ctx, db, `
		select s.memory_id, s.user_id, min(m.session_id) as session_id, y.content,
		       array_agg(m.metadata ->> 'external_id' order by m.seq) as sources
		  from oxbow.memory_sources s
		  join oxbow.messages m on m.user_id = s.user_id and m.id = s.message_id
		  join oxbow.memories y on y.user_id = s.user_id and y.id = s.memory_id
		 where s.user_id = any($1) group by s.memory_id, s.user_id, y.content`, users)
}
