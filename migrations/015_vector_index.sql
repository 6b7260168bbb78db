-- The users whose vectors of a type have outgrown the exact scan. Each has one of 16 slots, and each slot an index (HNSW) of its
-- own, made here once and for all: no user is named in the definition of an index, and none is made or dropped at runtime.
create table oxbow.vector_slots (
  user_id     text not null,
  memory_type oxbow.memory_type not null,
  slot        smallint not null check (slot between 1 and 16),
  since       timestamptz not null default now(),
  born        xid8,           -- transactions that began before it may not know of the slot
  place       uuid,           -- how far the walk through the vectors has got
  walked_at   timestamptz,    -- when the last walk came to its end
  ready_at    timestamptz,    -- since when recall uses the index
  ending      boolean not null default false,
  primary key (user_id, memory_type)
);

-- Copies of their vectors. A row without a slot waits for the index: its vector is read where it is. The vectors are left out
-- of line, because of most rows no more is read than whether they are there.
create table oxbow.indexed_vectors (
  user_id     text not null,
  memory_type oxbow.memory_type not null,
  memory_id   uuid not null,
  slot        smallint,
  embedding   halfvec(1024),
  primary key (user_id, memory_type, memory_id),
  foreign key (user_id, memory_type, memory_id) references oxbow.memories on delete cascade,
  check ((slot is null) = (embedding is null))
);
alter table oxbow.indexed_vectors alter embedding set storage external;
create index indexed_vectors_waiting_idx on oxbow.indexed_vectors (user_id, memory_type) where slot is null;
-- a database whose model has another dimension already
do $$
declare
  _type text := (select format_type(atttypid, atttypmod) from pg_attribute where attrelid = 'oxbow.memory_vectors'::regclass and attname = 'embedding');
begin
  if _type not like '%halfvec(1024)' then
    execute format('alter table oxbow.indexed_vectors alter embedding type %s, alter embedding set storage external', _type);
  end if;
  for _slot in 1 .. 16 loop
    execute format('create index indexed_vectors_%s_idx on oxbow.indexed_vectors using hnsw (embedding halfvec_cosine_ops)
                    with (m = 16, ef_construction = 64) where slot = %s', _slot, _slot);
  end loop;
end $$;

alter table oxbow.settings add constraint vector_index_setting check (key <> 'vector_index'
  or jsonb_typeof(value) = 'object' and coalesce(value ->> 'policy' in ('auto', 'always', 'never'), false)
    and value - '{policy,from,most}'::text[] = '{}'
    and not value @? '$.from ? ((@ >= 100 && @ <= 1000000000 && @.floor() == @) is unknown || !(@ >= 100 && @ <= 1000000000 && @.floor() == @))'
    and not value @? '$.most ? ((@ >= 1 && @ <= 16 && @.floor() == @) is unknown || !(@ >= 1 && @ <= 16 && @.floor() == @))'
  or oxbow.reject('vector_index', value::text,
       'must be an object with policy, auto, always or never, and for auto from, 100 to 1,000,000,000 memories, and most, 1 to 16 users, both whole numbers'));
insert into oxbow.settings (key, value) values ('vector_index', '{"policy": "auto", "from": 50000, "most": 8}');

---- create above / drop below ----

do $$
declare t regclass;
begin
  for t in select 'oxbow.memory_vectors'::regclass union all select inhrelid::regclass from pg_inherits where inhparent = 'oxbow.memory_vectors'::regclass
  loop
    execute format('drop trigger if exists await_index on %s', t);
  end loop;
end $$;
delete from oxbow.settings where key in ('vector_index', 'vector_index.looked');
alter table oxbow.settings drop constraint vector_index_setting;
drop function if exists oxbow.assign_slots, oxbow.walk_vectors, oxbow.index_vectors, oxbow.end_slots, oxbow.recall_near, oxbow.vector_index_setting,
  oxbow.await_index cascade;
drop procedure if exists oxbow.watch_vectors;
drop table oxbow.indexed_vectors, oxbow.vector_slots;
