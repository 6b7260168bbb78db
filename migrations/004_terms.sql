-- Full-text search of memories.

-- A row here also records that embed has processed the memory.
create table oxbow.memory_terms (
  user_id     text not null,
  memory_type oxbow.memory_type not null,
  memory_id   uuid not null,
  len         integer not null,
  tsv         tsvector not null,
  primary key (user_id, memory_type, memory_id)
) partition by list (memory_type);
create table oxbow.memory_terms_fact partition of oxbow.memory_terms (
  foreign key (user_id, memory_type, memory_id)
    references oxbow.memories_fact (user_id, memory_type, id) on delete cascade
) for values in ('fact');
create table oxbow.memory_terms_episodic partition of oxbow.memory_terms (
  foreign key (user_id, memory_type, memory_id)
    references oxbow.memories_episodic (user_id, memory_type, id) on delete cascade
) for values in ('episodic');
create table oxbow.memory_terms_trait partition of oxbow.memory_terms (
  foreign key (user_id, memory_type, memory_id)
    references oxbow.memories_trait (user_id, memory_type, id) on delete cascade
) for values in ('trait');
create table oxbow.memory_terms_document partition of oxbow.memory_terms (
  foreign key (user_id, memory_type, memory_id)
    references oxbow.memories_document (user_id, memory_type, id) on delete cascade
) for values in ('document');

-- A long pending list makes bulk loads cheaper, but every search reads all of it. embed and sweep empty it
-- (clean_terms).
create index memory_terms_fact_tsv_idx     on oxbow.memory_terms_fact
  using gin (user_id, tsv) with (gin_pending_list_limit = 128);
create index memory_terms_episodic_tsv_idx on oxbow.memory_terms_episodic
  using gin (user_id, tsv) with (gin_pending_list_limit = 128);
create index memory_terms_trait_tsv_idx    on oxbow.memory_terms_trait
  using gin (user_id, tsv) with (gin_pending_list_limit = 128);
create index memory_terms_document_tsv_idx on oxbow.memory_terms_document
  using gin (user_id, tsv) with (gin_pending_list_limit = 128);

-- The size of a user's collection, for BM25: the number of documents of a type and of their terms.
create table oxbow.memory_term_stats (
  user_id     text not null,
  memory_type oxbow.memory_type not null,
  documents   bigint not null default 0,
  terms       bigint not null default 0,
  primary key (user_id, memory_type)
) with (fillfactor = 50);

-- The originals of compressed memories (sql/code/064_levels.sql), with their search terms. content_hash is that of the
-- original. since is when the memory was archived or, before that, when it was first compressed.
create table oxbow.memory_archive (
  user_id      text not null,
  memory_type  oxbow.memory_type not null,
  memory_id    uuid not null,
  content      text not null,
  metadata     jsonb not null,
  content_hash uuid not null,
  len          integer not null,
  tsv          tsvector not null,
  since        timestamptz not null default now(),
  primary key (user_id, memory_type, memory_id),
  foreign key (user_id, memory_type, memory_id) references oxbow.memories (user_id, memory_type, id) on delete cascade
);
create index memory_archive_hash_idx on oxbow.memory_archive (user_id, content_hash);
create index memory_archive_tsv_idx  on oxbow.memory_archive using gin (user_id, tsv);

---- create above / drop below ----

drop table oxbow.memory_archive, oxbow.memory_term_stats, oxbow.memory_terms cascade;
