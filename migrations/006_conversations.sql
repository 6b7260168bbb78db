-- Conversations: messages that memories are extracted from.

alter table oxbow.messages add column speaker text;
-- how often extraction failed on it, and why the last time
alter table oxbow.messages
  add column extract_failures integer not null default 0,
  add column extract_error text;
create index messages_unextracted_idx on oxbow.messages (user_id, session_id, seq) where extracted_at is null;

-- what messages an operation rests on
alter table oxbow.memory_history
  add column message_ids uuid[] not null default '{}',
  drop constraint memory_history_event_check,
  add constraint memory_history_event_check
    check (event in ('ADD', 'UPDATE', 'DELETE', 'SUPERSEDE', 'STAGE_CHANGE', 'RESTORE', 'NOOP', 'BOOST')) not valid;
alter table oxbow.memory_history validate constraint memory_history_event_check;

-- how many extractions wrote something of a user: whoever decides before it waits for its turn sees whether others came first
create table oxbow.extractions (
  user_id text not null primary key,
  number  bigint not null
);

-- how conversations are extracted from: see docs/conversations.md
insert into oxbow.settings (key, value) values ('conversations', '{"quiet_seconds": 10, "messages": 20, "ended_session": "reopen"}');

-- What was there before has nobody waiting for it: only what comes from now on is extracted.
update oxbow.messages set extracted_at = created_at where extracted_at is null;

---- create above / drop below ----

drop table oxbow.extractions;
drop trigger if exists take_messages on oxbow.messages;
delete from oxbow.settings where key = 'conversations';
delete from oxbow.memory_history where event in ('NOOP', 'BOOST');
alter table oxbow.memory_history
  drop column message_ids,
  drop constraint memory_history_event_check,
  add constraint memory_history_event_check
    check (event in ('ADD', 'UPDATE', 'DELETE', 'SUPERSEDE', 'STAGE_CHANGE', 'RESTORE'));
drop index oxbow.messages_unextracted_idx;
alter table oxbow.messages drop column speaker, drop column extract_failures, drop column extract_error;
