-- The memories, and what search needs to know of them.
-- vector's types are found wherever its extension was installed.
select set_config('search_path', 'oxbow, ' || quote_ident(n.nspname) || ', public', true)
from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector';

-- reject raises the error of a failed check; its text is in sql/code. It stands here because the checks refer to it.
create function oxbow.reject(field text, value text, rule text) returns boolean
language plpgsql immutable as $$ begin return false; end $$;

create domain oxbow.memory_type as text
  constraint memory_type_known check (value in ('fact', 'episodic', 'trait', 'document')
    or oxbow.reject('memory_type', value, 'must be fact, episodic, trait or document'));

create table oxbow.memories (
  user_id          text not null,
  memory_type      oxbow.memory_type not null default 'fact',
  id               uuid not null default gen_random_uuid(),
  content          text not null,
  content_hash     uuid generated always as (md5(content)::uuid) stored,

  -- when it was true in the world, and when the system believed it
  valid_at         timestamptz,
  invalid_at       timestamptz,
  created_at       timestamptz not null default now(),
  expired_at       timestamptz,
  updated_at       timestamptz,
  forgotten_at     timestamptz,
  superseded_by    uuid,
  version          integer not null default 1,

  -- where it came from; seq orders a user's memories (by default microseconds since 1970, so no row is shared)
  session_id       text,
  seq              bigint not null default (extract(epoch from clock_timestamp()) * 1000000)::bigint,
  speaker          text,
  agent_id         text,
  external_id      text,
  source           text,
  category         text,

  importance       double precision not null default 0.5,
  strength         double precision not null default 1.0,
  mention_count    integer not null default 1,
  access_count     integer not null default 0,
  last_accessed_at timestamptz,
  metadata         jsonb not null default '{}',

  trait_subtype             text,
  trait_stage               text,
  trait_confidence          double precision,
  trait_confidence_at       timestamptz,
  trait_context             text,
  trait_parent_id           uuid,
  trait_reinforcement_count integer,
  trait_contradiction_count integer,
  trait_last_reinforced     timestamptz,
  trait_first_observed      timestamptz,
  trait_window_start        timestamptz,
  trait_window_end          timestamptz,
  trait_derived_from        text,

  primary key (user_id, memory_type, id),
  unique (user_id, memory_type, external_id),
  constraint user_id_length check (octet_length(user_id) between 1 and 255
    or oxbow.reject('user_id', user_id, 'must have 1 to 255 bytes')),
  constraint content_length check (content ~ '\S' and octet_length(content) <= 1048576
    or oxbow.reject('content', content, 'must not be blank, nor longer than 1 MiB')),
  constraint importance_range check (importance between 0 and 1
    or oxbow.reject('importance', importance::text, 'must be between 0 and 1')),
  constraint metadata_object check (jsonb_typeof(metadata) = 'object'
    or oxbow.reject('metadata', metadata::text, 'must be a JSON object')),
  constraint valid_at_range check (valid_at is null or valid_at between '0001-01-01 00:00:00+00' and '9999-12-31 23:59:59.999999+00'
    or oxbow.reject('valid_at', valid_at::text, 'must be in the years 1 to 9999')),
  constraint created_at_range check (created_at between '0001-01-01 00:00:00+00' and '9999-12-31 23:59:59.999999+00'
    or oxbow.reject('created_at', created_at::text, 'must be in the years 1 to 9999')),
  constraint invalid_at_range check (invalid_at is null or invalid_at between '0001-01-01 00:00:00+00' and '9999-12-31 23:59:59.999999+00'
    or oxbow.reject('invalid_at', invalid_at::text, 'must be in the years 1 to 9999; null means that it has not ended')),
  constraint invalid_at_order check (invalid_at is null or valid_at is null or invalid_at >= valid_at
    or oxbow.reject('invalid_at', invalid_at::text, 'must not be before valid_at')),
  constraint external_id_length check (external_id is null or octet_length(external_id) <= 1024
    or oxbow.reject('external_id', external_id, 'must have at most 1024 bytes')),
  constraint strength_range check (strength >= 0 and strength < 'infinity'
    or oxbow.reject('strength', strength::text, 'must be a number from 0')),
  constraint speaker_length check (speaker is null or octet_length(speaker) <= 1024
    or oxbow.reject('speaker', speaker, 'must have at most 1024 bytes')),
  constraint session_id_length check (session_id is null or octet_length(session_id) <= 1024
    or oxbow.reject('session_id', session_id, 'must have at most 1024 bytes'))
) partition by list (memory_type);

create table oxbow.memories_fact     partition of oxbow.memories for values in ('fact')     with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.1);
create table oxbow.memories_episodic partition of oxbow.memories for values in ('episodic') with (fillfactor = 95);
create table oxbow.memories_trait    partition of oxbow.memories for values in ('trait')    with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
create table oxbow.memories_document partition of oxbow.memories for values in ('document');

-- An id alone is unique within its partition, so foreign keys can name a type's rows without the type.
create unique index memories_fact_user_id_id_key     on oxbow.memories_fact (user_id, id);
create unique index memories_episodic_user_id_id_key on oxbow.memories_episodic (user_id, id);
create unique index memories_trait_user_id_id_key    on oxbow.memories_trait (user_id, id);
create unique index memories_document_user_id_id_key on oxbow.memories_document (user_id, id);

create index memories_session_idx   on oxbow.memories (user_id, session_id, seq) where session_id is not null;
create index memories_superseded_idx on oxbow.memories (user_id, superseded_by) where superseded_by is not null;
create index memories_forgotten_idx on oxbow.memories (forgotten_at) where forgotten_at is not null;
create index memories_created_idx   on oxbow.memories using brin (created_at) with (pages_per_range = 32, autosummarize = on);
-- what recall must leave out
create index memories_ended_idx     on oxbow.memories (user_id) where expired_at is not null or forgotten_at is not null or invalid_at is not null;
-- finds the current fact that a new one repeats
create index memories_fact_hash_idx on oxbow.memories_fact (user_id, content_hash) where expired_at is null;

-- Vectors stand apart from the rows, insert-only, uncompressed and in line: an exact scan of one user reads them in
-- sequence, and a counter in memories never rewrites one.
create table oxbow.memory_vectors (
  user_id     text not null,
  memory_type oxbow.memory_type not null,
  memory_id   uuid not null,
  embedding   halfvec(1024) not null,
  primary key (user_id, memory_type, memory_id)
) partition by list (memory_type);
alter table oxbow.memory_vectors
  alter user_id set storage plain, alter memory_type set storage plain, alter embedding set storage plain;
create table oxbow.memory_vectors_fact     partition of oxbow.memory_vectors for values in ('fact');
create table oxbow.memory_vectors_episodic partition of oxbow.memory_vectors for values in ('episodic');
create table oxbow.memory_vectors_trait    partition of oxbow.memory_vectors for values in ('trait');
create table oxbow.memory_vectors_document partition of oxbow.memory_vectors for values in ('document');
-- Each partition refers to its like: a check then is one look into one index, where one against the parent takes six times
-- as long, and there is one for every memory that is embedded.
alter table oxbow.memory_vectors_fact add foreign key (user_id, memory_type, memory_id) references oxbow.memories_fact on delete cascade;
alter table oxbow.memory_vectors_episodic add foreign key (user_id, memory_type, memory_id) references oxbow.memories_episodic on delete cascade;
alter table oxbow.memory_vectors_trait add foreign key (user_id, memory_type, memory_id) references oxbow.memories_trait on delete cascade;
alter table oxbow.memory_vectors_document add foreign key (user_id, memory_type, memory_id) references oxbow.memories_document on delete cascade;

-- Full text. A row here says that embed has seen the memory.
create table oxbow.memory_terms (
  user_id     text not null,
  memory_type oxbow.memory_type not null,
  memory_id   uuid not null,
  len         integer not null,
  tsv         tsvector not null,
  primary key (user_id, memory_type, memory_id)
) partition by list (memory_type);
create table oxbow.memory_terms_fact     partition of oxbow.memory_terms for values in ('fact');
create table oxbow.memory_terms_episodic partition of oxbow.memory_terms for values in ('episodic');
create table oxbow.memory_terms_trait    partition of oxbow.memory_terms for values in ('trait');
create table oxbow.memory_terms_document partition of oxbow.memory_terms for values in ('document');
alter table oxbow.memory_terms_fact add foreign key (user_id, memory_type, memory_id) references oxbow.memories_fact on delete cascade;
alter table oxbow.memory_terms_episodic add foreign key (user_id, memory_type, memory_id) references oxbow.memories_episodic on delete cascade;
alter table oxbow.memory_terms_trait add foreign key (user_id, memory_type, memory_id) references oxbow.memories_trait on delete cascade;
alter table oxbow.memory_terms_document add foreign key (user_id, memory_type, memory_id) references oxbow.memories_document on delete cascade;
-- a long pending list makes bulk loads cheaper; embed and sweep clear it (clean_terms), because every search reads all of it
create index memory_terms_fact_tsv_idx     on oxbow.memory_terms_fact     using gin (user_id, tsv) with (gin_pending_list_limit = 1024);
create index memory_terms_episodic_tsv_idx on oxbow.memory_terms_episodic using gin (user_id, tsv) with (gin_pending_list_limit = 1024);
create index memory_terms_trait_tsv_idx    on oxbow.memory_terms_trait    using gin (user_id, tsv) with (gin_pending_list_limit = 1024);
create index memory_terms_document_tsv_idx on oxbow.memory_terms_document using gin (user_id, tsv) with (gin_pending_list_limit = 1024);

-- What BM25 needs of a user's collection: how many documents of a type, how many terms in all.
create table oxbow.memory_term_stats (
  user_id     text not null,
  memory_type oxbow.memory_type not null,
  documents   bigint not null default 0,
  terms       bigint not null default 0,
  primary key (user_id, memory_type)
) with (fillfactor = 50);

---- create above / drop below ----

drop table oxbow.memory_term_stats, oxbow.memory_terms, oxbow.memory_vectors, oxbow.memories cascade;
drop domain oxbow.memory_type;
drop function oxbow.reject;
