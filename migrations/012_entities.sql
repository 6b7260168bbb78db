-- Entities: the people and things that memories name, and their relations. All of it is derived from
-- memories' metadata.

create table oxbow.entities (
  user_id    text not null,
  id         uuid not null default gen_random_uuid(),
  kind       text not null,             -- person, place, organization, animal, work, self, other, or any other text
  name       text not null,             -- as first written
  key        text not null,             -- the name without spelling differences: see oxbow.entity_key
  head       text not null,             -- the key's first word or two characters: see oxbow.entity_head
  created_at timestamptz not null default now(),
  constraint user_id_length check (octet_length(user_id) between 1 and 255
    or oxbow.reject('user_id', user_id, 'must have 1 to 255 bytes')),
  primary key (user_id, id),
  unique (user_id, key, kind)
);
create index entities_head_idx on oxbow.entities (user_id, head);

-- Mentions of entities in memories.
create table oxbow.entity_mentions (
  user_id     text not null,
  entity_id   uuid not null,
  memory_type oxbow.memory_type not null,
  memory_id   uuid not null,
  primary key (user_id, entity_id, memory_type, memory_id),
  foreign key (user_id, entity_id) references oxbow.entities on delete cascade,
  foreign key (user_id, memory_type, memory_id) references oxbow.memories (user_id, memory_type, id) on delete cascade
);
create index entity_mentions_memory_idx on oxbow.entity_mentions (user_id, memory_type, memory_id);

-- A relation between two entities that a memory states, such as user –sister→ Anna. Its times are those of the memory.
create table oxbow.entity_edges (
  user_id     text not null,
  from_id     uuid not null,
  relation    text not null,
  to_id       uuid not null,
  memory_type oxbow.memory_type not null,
  memory_id   uuid not null,
  valid_at    timestamptz not null,     -- valid_at to invalid_at: when it was true in the world
  invalid_at  timestamptz,
  created_at  timestamptz not null,     -- created_at to expired_at: when the system believed it
  expired_at  timestamptz,
  constraint relation_length check (octet_length(relation) between 1 and 64
    or oxbow.reject('relation', relation, 'must have 1 to 64 bytes')),
  primary key (user_id, from_id, to_id, relation, memory_type, memory_id),
  foreign key (user_id, from_id) references oxbow.entities on delete cascade,
  foreign key (user_id, to_id) references oxbow.entities on delete cascade,
  foreign key (user_id, memory_type, memory_id) references oxbow.memories (user_id, memory_type, id) on delete cascade
);
create index entity_edges_to_idx on oxbow.entity_edges (user_id, to_id);
create index entity_edges_memory_idx on oxbow.entity_edges (user_id, memory_type, memory_id);

---- create above / drop below ----

drop table oxbow.entity_edges, oxbow.entity_mentions, oxbow.entities cascade;
