-- A publication of all tables refuses to delete from a table without a primary key. message_id may be null, so the
-- columns of memory_sources cannot be one.

alter table oxbow.memory_sources add column id uuid default gen_random_uuid() primary key;

---- create above / drop below ----

alter table oxbow.memory_sources drop column id;
