-- Vectors of memories, and the approximate index for the largest users.

-- Vectors are stored apart from the memories: insert-only, uncompressed and in line. An exact scan of one
-- user reads them sequentially, and updating a counter in memories never rewrites a vector.
create table oxbow.memory_vectors (
  user_id     text not null,
  memory_type oxbow.memory_type not null,
  memory_id   uuid not null,
  embedding   halfvec(1024) not null,
  primary key (user_id, memory_type, memory_id)
) partition by list (memory_type);
alter table oxbow.memory_vectors -- before the partitions, which inherit the storage
  alter user_id set storage plain, alter memory_type set storage plain, alter embedding set storage plain;
-- Each partition references the matching partition: the check is a lookup in one index, six times faster
-- than against the parent.
create table oxbow.memory_vectors_fact partition of oxbow.memory_vectors (
  foreign key (user_id, memory_type, memory_id)
    references oxbow.memories_fact (user_id, memory_type, id) on delete cascade
) for values in ('fact');
create table oxbow.memory_vectors_episodic partition of oxbow.memory_vectors (
  foreign key (user_id, memory_type, memory_id)
    references oxbow.memories_episodic (user_id, memory_type, id) on delete cascade
) for values in ('episodic');
create table oxbow.memory_vectors_trait partition of oxbow.memory_vectors (
  foreign key (user_id, memory_type, memory_id)
    references oxbow.memories_trait (user_id, memory_type, id) on delete cascade
) for values in ('trait');
create table oxbow.memory_vectors_document partition of oxbow.memory_vectors (
  foreign key (user_id, memory_type, memory_id)
    references oxbow.memories_document (user_id, memory_type, id) on delete cascade
) for values in ('document');

-- Memories whose text an embedding provider refuses. Full text still finds them, and the model is not asked
-- again.
create table oxbow.embedding_refusals (
  user_id     text not null,
  memory_type oxbow.memory_type not null,
  memory_id   uuid not null,
  model       text not null,
  reason      text not null,
  refused_at  timestamptz not null default now(),
  primary key (user_id, memory_type, memory_id, model),
  foreign key (user_id, memory_type, memory_id) references oxbow.memories (user_id, memory_type, id) on delete cascade
);

-- Users whose vectors of a type are too many for the exact scan. Each has one of 20 slots. Each slot has an
-- HNSW index, created here once: no index definition names a user, and no index is created or dropped at
-- runtime. Slots 17 to 20 are for traits, whose index is more exact (S §2.5).
create table oxbow.vector_slots (
  user_id     text not null,
  memory_type oxbow.memory_type not null,
  slot        smallint not null check (slot between 1 and 20),
  since       timestamptz not null default now(),
  born        xid8,           -- transactions that began before it may not see the slot
  place       uuid,           -- the last vector that the walk has reached
  walked_at   timestamptz,    -- when the last walk ended
  ready_at    timestamptz,    -- when recall began to use the index
  ending      boolean not null default false,
  primary key (user_id, memory_type)
);

-- Copies of those users' vectors. A row without a slot waits for the index, and its vector is read from
-- memory_vectors. The vectors are stored out of line, because most reads only check whether a row exists.
create table oxbow.indexed_vectors (
  user_id     text not null,
  memory_type oxbow.memory_type not null,
  memory_id   uuid not null,
  slot        smallint,
  embedding   halfvec(1024),
  primary key (user_id, memory_type, memory_id),
  foreign key (user_id, memory_type, memory_id) references oxbow.memories (user_id, memory_type, id) on delete cascade,
  check ((slot is null) = (embedding is null))
);
alter table oxbow.indexed_vectors alter embedding set storage external;
create index indexed_vectors_waiting_idx on oxbow.indexed_vectors (user_id, memory_type) where slot is null;
do $$
begin
  for _slot in 1 .. 20 loop
    execute format('create index indexed_vectors_%1$s_idx on oxbow.indexed_vectors
                    using hnsw (embedding halfvec_cosine_ops) with (%2$s) where slot = %1$s',
      _slot, case when _slot <= 16 then 'm = 16, ef_construction = 64' else 'm = 24, ef_construction = 128' end);
  end loop;
end $$;

---- create above / drop below ----

drop table oxbow.indexed_vectors, oxbow.vector_slots, oxbow.embedding_refusals, oxbow.memory_vectors cascade;
