-- Entities: who and what the memories name, and how these belong together. All of it follows from the memories: what each
-- names stands in its metadata.

create table oxbow.entities (
  user_id    text not null,
  id         uuid not null default gen_random_uuid(),
  kind       text not null,             -- person, place, organization, animal, work, self (the user), other, or an application's own
  name       text not null,             -- as it was first written
  key        text not null,             -- the name without what may differ: see oxbow.entity_key
  head       text not null,             -- the first word of the key, or its first two characters: see oxbow.entity_head
  created_at timestamptz not null default now(),
  constraint user_id_length check (octet_length(user_id) between 1 and 255
    or oxbow.reject('user_id', user_id, 'must have 1 to 255 bytes')),
  primary key (user_id, id),
  unique (user_id, key, kind)
);
create index entities_head_idx on oxbow.entities (user_id, head);

-- which memory names what
create table oxbow.entity_mentions (
  user_id     text not null,
  entity_id   uuid not null,
  memory_type oxbow.memory_type not null,
  memory_id   uuid not null,
  primary key (user_id, entity_id, memory_type, memory_id),
  foreign key (user_id, entity_id) references oxbow.entities on delete cascade,
  foreign key (user_id, memory_type, memory_id) references oxbow.memories on delete cascade
);
create index entity_mentions_memory_idx on oxbow.entity_mentions (user_id, memory_type, memory_id);

-- An edge says what one memory says of two entities: user –sister→ Anna. Its times are the memory's.
create table oxbow.entity_edges (
  user_id     text not null,
  from_id     uuid not null,
  relation    text not null,
  to_id       uuid not null,
  memory_type oxbow.memory_type not null,
  memory_id   uuid not null,
  valid_at    timestamptz not null,     -- when it was true in the world
  invalid_at  timestamptz,
  created_at  timestamptz not null,     -- when the system believed it
  expired_at  timestamptz,
  constraint relation_length check (octet_length(relation) between 1 and 64
    or oxbow.reject('relation', relation, 'must have 1 to 64 bytes')),
  primary key (user_id, from_id, to_id, relation, memory_type, memory_id),
  foreign key (user_id, from_id) references oxbow.entities on delete cascade,
  foreign key (user_id, to_id) references oxbow.entities on delete cascade,
  foreign key (user_id, memory_type, memory_id) references oxbow.memories on delete cascade
);
create index entity_edges_to_idx on oxbow.entity_edges (user_id, to_id);
create index entity_edges_memory_idx on oxbow.entity_edges (user_id, memory_type, memory_id);

-- What memories that are there already name is noted by the job sweep, some users at a time.
insert into oxbow.settings (key, value) select 'sweep.entities', '""' where exists (select from oxbow.memories);

---- create above / drop below ----

delete from oxbow.settings where key = 'sweep.entities';
drop trigger if exists end_edges on oxbow.memories;
drop trigger if exists note_again on oxbow.memories;
drop table oxbow.entity_edges, oxbow.entity_mentions, oxbow.entities;
