-- Erasures that are still open: transactions that began before one committed may store rows of the user afterwards. They
-- are deleted too (sql/code/085_erase_open.sql), by the time at which the transaction that stored them began.

create table oxbow.open_erasures (
  user_id    text not null,
  id         uuid not null default gen_random_uuid(), -- of the receipt, if there is one
  kind       text not null check (kind in ('user', 'memory', 'file', 'messages')),
  memory_id  uuid,
  path       text,                -- of the file
  session_id text,                -- of the conversation
  ids        uuid[],              -- of the messages; null: all
  digest     bytea,               -- for the receipt of a memory that is not stored yet
  began      timestamptz not null default now(), -- the erasing transaction, whose own later rows stay
  at         timestamptz not null default clock_timestamp(), -- when its commit began
  awaited    text[],              -- older transactions that have not ended; null: not looked up yet
  primary key (user_id, id)
);

-- Users erased in the last hour, for entries of the log that another server still has to write.
create table oxbow.erased_users (
  hash bytea not null,
  at   timestamptz not null,
  primary key (hash, at)
);

alter table oxbow.erasures add column completed_at timestamptz; -- null: the erasure is open
update oxbow.erasures set completed_at = at;

-- When the transaction began that stored a row. Tables whose rows are deleted with those of another table do without.
do $$
declare t text;
begin
  foreach t in array '{activity, adjustments, answers, api_answers, api_keys, api_log, communities, document_files,
    entities, extractions, feedback_signals, instructions, intentions, key_values, llm_calls, messages, night_questions,
    nights, page_sessions, reflection_cycles, sensory, sensory_candidates, sessions, skills, topics, trait_refusals,
    users, vector_slots}'::text[]
  loop
    execute format('alter table oxbow.%I add column stored_at timestamptz not null default now()', t);
  end loop;
end $$;

---- create above / drop below ----

do $$
declare t text;
begin
  foreach t in array '{activity, adjustments, answers, api_answers, api_keys, api_log, communities, document_files,
    entities, extractions, feedback_signals, instructions, intentions, key_values, llm_calls, messages, night_questions,
    nights, page_sessions, reflection_cycles, sensory, sensory_candidates, sessions, skills, topics, trait_refusals,
    users, vector_slots}'::text[]
  loop
    execute format('alter table oxbow.%I drop column stored_at', t);
  end loop;
end $$;
alter table oxbow.erasures drop column completed_at;
drop table oxbow.erased_users, oxbow.open_erasures cascade; -- with the functions that name them
