-- A publication of all tables refuses to delete from a table without a primary key or another replica identity. In
-- memory_sources message_id may be null, so a column without nulls takes its place in the key.

alter table oxbow.memory_sources
  add column message_key uuid not null
    generated always as (coalesce(message_id, '00000000-0000-0000-0000-000000000000')) stored,
  drop constraint memory_sources_user_id_memory_type_memory_id_session_id_mes_key,
  add primary key (user_id, memory_type, memory_id, session_id, message_key);

---- create above / drop below ----

alter table oxbow.memory_sources
  drop column message_key,
  add constraint memory_sources_user_id_memory_type_memory_id_session_id_mes_key
    unique nulls not distinct (user_id, memory_type, memory_id, session_id, message_id);
