-- A publication of all tables refuses to delete from a table without a key. The one of memory_sources contains
-- message_id, which may be null, so it cannot be the primary key.

alter table oxbow.memory_sources replica identity full;

---- create above / drop below ----

alter table oxbow.memory_sources replica identity default;
