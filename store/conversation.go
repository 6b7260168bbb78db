package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// Session is a conversation of a user and the state of its extraction.
type Session struct {
	UserID string
	ID     string
	Due    bool    // enough messages wait, or no more are expected
	Jobs   []int64 // other waiting extract jobs of the session; the messages they were enqueued for are visible
	Number int64   // the user's counter of extractions that wrote something
}

// ReadSession reads the state of a session. Call it before SessionMessages, which then includes the
// messages of the jobs that it found. present is the id of the calling job. Jobs that retry failed
// messages are ignored.
func ReadSession(ctx context.Context, db DB, userID, id string, present int64) (Session, error) {
	return one[Session](ctx, db, "read the session", `
		select $1::text as user_id, $2::text as id, w.jobs, x.number,
		       s.ended_at is not null or w.later = 0 or (
		         select count(*) from (select from oxbow.messages m where m.user_id = $1 and m.session_id = $2
		           and m.extracted_at is null and m.extract_failures = 0 limit 1000) m)
		       >= coalesce((select (value ->> 'messages')::numeric::integer from oxbow.settings
		                    where key = 'conversations'), 20) as due
		  from oxbow.waiting_extractions($1, $2, $3) w
		  left join oxbow.extractions x on x.user_id = $1
		  left join oxbow.sessions s on s.user_id = $1 and s.id = $2`, userID, id, present)
}

// SessionEnded reports whether a conversation has ended.
func SessionEnded(ctx context.Context, db DB, userID, id string) (bool, error) {
	return one[bool](ctx, db, "look whether the session has ended", `
		select exists (select from oxbow.sessions s where s.user_id = $1 and s.id = $2 and s.ended_at is not null)`,
		userID, id)
}

// SessionMessages returns at most limit messages of a session to extract from, preceded by up to
// before earlier messages for context, in order. If failed is true, it returns a single message:
// among those on which extraction failed, the one with the fewest failures.
func SessionMessages(ctx context.Context, db DB, s Session, p reasoner.Person, failed bool, limit,
	before int) ([]reasoner.Message, error) {
	if failed {
		limit = 1
	}
	messages, err := list[reasoner.Message](ctx, db, "load the messages", `
		with fresh as (
		  select m.id, m.seq from oxbow.messages m
		   where m.user_id = $1 and m.session_id = $2 and m.extracted_at is null and (m.extract_failures > 0) = $5
		   order by m.extract_failures, m.seq, m.id limit $3
		), earlier as (
		  select m.id from oxbow.messages m
		   where m.user_id = $1 and m.session_id = $2 and m.seq < (select min(seq) from fresh)
		     and m.extracted_at is not null and m.sensitivity < 2
		   order by m.seq desc, m.id desc limit $4
		)
		select m.id, m.role, m.speaker, left(m.content, 6000) as content, m.created_at as time,
		       m.extracted_at is null as new
		  from oxbow.messages m
		 where m.user_id = $1 and m.id in (select id from fresh union all select id from earlier)
		 order by m.seq, m.id`, s.UserID, s.ID, limit, before, failed)
	for i := range messages {
		messages[i].Time = messages[i].Time.In(p.Zone)
	}
	return messages, err
}

// SessionIsWorked reports whether an older job is extracting from a session. It locks that job's
// row until the transaction ends and waits for a job that is completing.
func SessionIsWorked(ctx context.Context, db DB, userID, session string, present int64) (bool, error) {
	return one[bool](ctx, db, "look for other extractions", `select oxbow.session_is_worked($1, $2, $3)`, userID,
		session, present)
}

// MessagesLeft reports whether a session has waiting messages without a job. If failed is true, it
// considers the messages on which extraction failed instead.
func MessagesLeft(ctx context.Context, db DB, userID, session string, failed bool, present int64) (bool, error) {
	return one[bool](ctx, db, "look for waiting messages",
		`select oxbow.messages_left($1, $2, $3, $4)`, userID, session, failed, present)
}

// EndSession ends a conversation and reports whether it was open.
func EndSession(ctx context.Context, db DB, userID, sessionID string) (open bool, err error) {
	return CollectOne[bool](ctx, db, `select oxbow.end_session($1, $2)`, userID, sessionID)
}

// NewMessage is a message to add to a conversation.
type NewMessage struct {
	ID        uuid.UUID // zero: generated; a message whose id exists is not stored again
	UserID    string    // the user whose memory it belongs to
	SessionID string
	Role      string // user, assistant, system, tool; empty: user
	Speaker   string // the speaker's name; empty: implied by the role
	Content   string
	At        time.Time      // zero: now
	Metadata  map[string]any // {"recalled": [ids]} lists the memories recalled for this message
	// Sensitivity is between 0 (default) and 3. A memory extracted from the message has at least
	// this level. Nothing is extracted from a message of sensitivity 2 or 3. The content of one of
	// sensitivity 3 is sealed with the client's keys. Such a message cannot have a Speaker or Metadata, because those
	// are not sealed.
	Sensitivity int
}

// AddMessages inserts messages in one statement and returns their ids. It returns an *InvalidError with the Index of
// the first invalid message. sealer may be nil if no message is secret.
func AddMessages(ctx context.Context, db DB, messages []NewMessage, sealer Sealer) ([]uuid.UUID, error) {
	type row struct {
		ID        uuid.UUID       `json:"id"`
		UserID    string          `json:"user_id"`
		SessionID string          `json:"session_id"`
		Role      string          `json:"role"`
		Speaker   string          `json:"speaker,omitzero"`
		Content   string          `json:"content"`
		At        time.Time       `json:"at,omitzero"`
		Metadata  json.RawMessage `json:"metadata"`
		Nth       int             `json:"nth"`
		Level     int             `json:"sensitivity"`
		Sealed    string          `json:"sealed,omitzero"` // in PostgreSQL's text format of bytea
		SealedKey string          `json:"sealed_key,omitzero"`
	}
	rows, ids := make([]row, len(messages)), make([]uuid.UUID, len(messages))
	for i, m := range messages {
		ids[i] = m.ID
		if m.ID == uuid.Nil {
			ids[i] = uuid.New()
		}
		metadata, err := m.validate()
		rows[i] = row{ids[i], m.UserID, m.SessionID, cmp.Or(m.Role, "user"), m.Speaker, m.Content, m.At.UTC(),
			metadata, i, m.Sensitivity, "", ""}
		if err == nil && m.Sensitivity == Secret {
			rows[i].Content, rows[i].Sealed, rows[i].SealedKey, err = seal(sealer, m.Content,
				messagePlace(m.UserID, ids[i]))
		}
		if bad, ok := errors.AsType[*InvalidError](err); ok {
			bad.Index = i
		}
		if err != nil {
			return nil, err
		}
	}
	given, err := json.Marshal(rows)
	if err != nil {
		return nil, fmt.Errorf("encode the messages as JSON: %w", err)
	}
	_, err = Exec(ctx, db, `
		insert into oxbow.messages (user_id, id, session_id, role, speaker, content, created_at, metadata, sensitivity,
		  sealed, sealed_key, seq)
		select m.user_id, m.id, m.session_id, m.role, m.speaker, m.content, coalesce(m.at, now()),
		  coalesce(m.metadata, '{}'), m.sensitivity, m.sealed, m.sealed_key,
		       (extract(epoch from coalesce(m.at, clock_timestamp())) * 1000000)::bigint + m.nth
		  from json_to_recordset($1::json) m (user_id text, id uuid, session_id text, role text, speaker text,
		    content text, at timestamptz,
		       metadata jsonb, nth integer, sensitivity smallint, sealed bytea, sealed_key text)
		 order by m.nth
		on conflict do nothing`, string(given))
	if err != nil {
		return nil, err
	}
	return ids, nil
}

// Messages returns the messages of a conversation in order. Secret messages are still sealed.
func Messages(ctx context.Context, db DB, userID, sessionID string) ([]Message, error) {
	rows, err := Collect[messageRow](ctx, db, `
		select id, session_id, role, speaker, content, created_at as at, metadata, extracted_at, sensitivity, sealed_key,
		       sealed
		  from oxbow.messages where user_id = $1 and session_id = $2 order by seq, id`, userID, sessionID)
	return messagesOf(rows), err
}

// DeleteMessages deletes messages of a conversation, all without ids, and returns their number.
func DeleteMessages(ctx context.Context, db DB, userID, sessionID string, ids []uuid.UUID) (int64, error) {
	var only []string // as text, which works without RegisterTypes
	for _, id := range ids {
		only = append(only, id.String())
	}
	return CollectOne[int64](ctx, db,
		`select oxbow.delete_messages(user_id => $1, session_id => $2, ids => $3::text[]::uuid[])`, userID, sessionID, only)
}

// messageRow adds the sealed text to a message.
type messageRow struct {
	Message
	Sealed []byte
}

func messagesOf(rows []messageRow) []Message {
	messages := make([]Message, len(rows))
	for i, r := range rows {
		messages[i] = r.Message
		messages[i].sealed = r.Sealed
	}
	return messages
}

// KnownFact is a fact as it was known at a given time.
type KnownFact struct {
	ID        uuid.UUID `json:"id"`
	Content   string    `json:"content"`
	Category  string    `json:"category,omitzero"`
	ValidAt   time.Time `json:"valid_at"`            // when it became true
	InvalidAt time.Time `json:"invalid_at,omitzero"` // when it ceased to be true; absent: not known to have ended
}

// FactsAsOf calls oxbow.facts_as_of. The zero time means now.
func FactsAsOf(ctx context.Context, db DB, userID string, valid, believed time.Time) ([]KnownFact, error) {
	return Collect[KnownFact](ctx, db, `
		select id, content, category, valid_at, invalid_at
		  from oxbow.facts_as_of($1, coalesce($2, now()), coalesce($3, now()))`,
		userID, pointer(valid), pointer(believed))
}

// LostSession is a conversation with waiting messages that have no job. If Failed is true,
// extraction has failed on those messages before.
type LostSession struct {
	UserID, SessionID string
	Failed            bool
}

// sessionKey is a position in the order of all conversations.
type sessionKey struct {
	UserID    string `json:"user_id"`
	SessionID string `json:"session_id"`
}

// LostMessages checks the next conversations with waiting messages, at most limit. It returns those
// that have waiting messages created before the given time and no job for them. The next call
// continues after the last conversation checked, and starts over at the end, so that conversations
// that wait for a job do not block the others.
func LostMessages(ctx context.Context, tx DB, before time.Time, limit int) ([]LostSession, error) {
	type session struct {
		LostSession
		Lost bool
	}
	// Skip from one conversation to the next, however many messages wait in each.
	find := func(from sessionKey) ([]session, error) {
		return list[session](ctx, tx, "look for lost messages", `
			with recursive page as (
			  (select m.user_id, m.session_id, 1 as n from oxbow.messages m
			    where m.extracted_at is null and (m.user_id, m.session_id) > ($1, $2)
			    order by m.user_id, m.session_id limit 1)
			  union all
			  select s.user_id, s.session_id, p.n + 1
			    from page p cross join lateral (
			         select m.user_id, m.session_id from oxbow.messages m
			          where m.extracted_at is null and (m.user_id, m.session_id) > (p.user_id, p.session_id)
			            order by m.user_id, m.session_id limit 1) s
			   where p.n < $4
			)
			select p.user_id, p.session_id, failed,
			       exists (select from oxbow.messages m
			                where m.user_id = p.user_id and m.session_id = p.session_id and m.extracted_at is null
			                  and m.created_at < $3
			                  and (m.extract_failures > 0) = failed)
			       and not exists (select from oxbow.river_job j
			                        where j.kind = 'extract'
			                          and j.state in ('available', 'scheduled', 'retryable', 'running', 'pending')
			                          and (j.args ? 'retry') = failed
			                          and j.args ->> 'user_id' = p.user_id
			                          and j.args ->> 'session_id' = p.session_id) as lost
			  from page p cross join (values (false), (true)) f(failed) order by p.n, failed`,
			from.UserID, from.SessionID, before, limit)
	}
	seen, err := nextPage(ctx, tx, sweepMessagesKey, 2*limit, // two rows per conversation
		func(s session) sessionKey { return sessionKey{s.UserID, s.SessionID} }, find)
	var found []LostSession
	for _, s := range seen {
		if s.Lost {
			found = append(found, s.LostSession)
		}
	}
	return found, err
}
