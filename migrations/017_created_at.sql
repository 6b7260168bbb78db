-- What was made lately is found by a B-tree. A range of 32 pages counts as new for ever once a new row came into the place of an
-- old one, and so what sweep had to read grew with the table.
drop index oxbow.memories_created_idx;
create index memories_created_idx on oxbow.memories (created_at);

---- create above / drop below ----

drop index oxbow.memories_created_idx;
create index memories_created_idx on oxbow.memories using brin (created_at) with (pages_per_range = 32, autosummarize = on);
