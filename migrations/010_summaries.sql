-- Summaries of conversations: see docs/summaries.md.

-- when a memory is to expire; null: never. Summaries do, unless they are promoted.
alter table oxbow.memories add column expires_at timestamptz;
create index memories_expires_idx on oxbow.memories_episodic (expires_at) where expires_at is not null and expired_at is null;

-- the current summary of a conversation, and up to which message it was summarised; later ones are not in it yet
alter table oxbow.sessions
  add column summary_id uuid,
  add column summarized_seq bigint;

-- what status tells of messages that nothing can be made of
create index messages_failed_idx on oxbow.messages (extract_failures) where extracted_at is null and extract_failures > 0;

alter table oxbow.memory_history
  drop constraint memory_history_event_check,
  add constraint memory_history_event_check
    check (event in ('ADD', 'UPDATE', 'DELETE', 'SUPERSEDE', 'STAGE_CHANGE', 'RESTORE', 'NOOP', 'BOOST', 'EXPIRE', 'PROMOTE')) not valid;
alter table oxbow.memory_history validate constraint memory_history_event_check;

-- What was there before was never waiting to be summarised: only what comes from now on is.
update oxbow.sessions s set summarized_seq = m.seq
  from (select user_id, session_id, max(seq) as seq from oxbow.messages group by user_id, session_id) m
 where s.user_id = m.user_id and s.id = m.session_id;

---- create above / drop below ----

drop trigger if exists withdraw_deleted on oxbow.messages;
delete from oxbow.memory_history where event in ('EXPIRE', 'PROMOTE');
alter table oxbow.memory_history
  drop constraint memory_history_event_check,
  add constraint memory_history_event_check
    check (event in ('ADD', 'UPDATE', 'DELETE', 'SUPERSEDE', 'STAGE_CHANGE', 'RESTORE', 'NOOP', 'BOOST'));
alter table oxbow.sessions drop column summary_id, drop column summarized_seq;
drop index oxbow.memories_expires_idx, oxbow.messages_failed_idx;
alter table oxbow.memories drop column expires_at;
