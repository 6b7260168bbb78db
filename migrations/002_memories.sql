-- Memories, partitioned by type, including the columns for traits and sealed text.

create domain oxbow.memory_type as text
  constraint memory_type_known check (value in ('fact', 'episodic', 'trait', 'document')
    or oxbow.reject('memory_type', value, 'must be fact, episodic, trait or document'));

-- Free-text categories and the categories of W that they stand for (docs/weight.md). An operator may add names.
create table oxbow.category_names (
  name     text primary key check (name = lower(btrim(name)) and name <> ''),
  category text not null check (
    category in ('identity', 'stable_preference', 'short_preference', 'fact', 'skill', 'temporary'))
);
insert into oxbow.category_names (name, category)
select n, c.category
  from (values
    ('identity', '{identity,name,birthday,birth,family,relationship,relationships,home,address,location,job,work,
       occupation,profession,career,education,health,medical,allergy,allergies,contact,身份,身份信息,姓名,生日,家庭,
       住址,地址,职业,工作,学历,健康,过敏,联系方式}'::text[]),
    ('stable_preference', '{stable_preference,preference,preferences,hobby,hobbies,value,values,like,likes,taste,
       稳定偏好,偏好,爱好,喜好,价值观}'),
    ('short_preference', '{short_preference,short_term_preference,interest,interests,短期偏好,兴趣}'),
    ('fact', '{fact,facts,general,event,事实}'),
    ('skill', '{skill,skills,ability,abilities,knowledge,技能,能力}'),
    ('temporary', '{temporary,temp,mood,emotion,state,plan,plans,todo,reminder,临时,临时信息,心情,情绪,状态,计划}')
  ) c(category, names), unnest(c.names) n;

create table oxbow.memories (
  user_id          text not null,
  memory_type      oxbow.memory_type not null default 'fact',
  id               uuid not null default gen_random_uuid(),
  content          text not null,
  content_hash     uuid generated always as (oxbow.content_hash(content)) stored,

  -- valid_at to invalid_at: when it was true in the world; created_at to expired_at: when the system
  -- believed it
  valid_at         timestamptz,
  invalid_at       timestamptz,
  created_at       timestamptz not null default now(),
  expired_at       timestamptz,
  updated_at       timestamptz,
  stored_at        timestamptz not null default now(), -- created_at may be earlier, if it was known elsewhere
  forgotten_at     timestamptz,
  forgotten_by     text,                 -- user, auto, merge (W): who forgot it; null: not forgotten, or unknown
  former_ends      timestamptz[], -- each change of invalid_at: when, and the end that was known until then
  superseded_by    uuid,
  version          integer not null default 1,

  -- seq orders a user's memories; the default is microseconds since 1970, so inserts share no row
  session_id       text,
  seq              bigint not null default (extract(epoch from clock_timestamp()) * 1000000)::bigint,
  speaker          text,
  agent_id         text,
  external_id      text,
  source           text,
  category         text,
  topic            text,                 -- preference, personal, memory, promise, or any other text (L)
  verified         boolean not null default false, -- a person confirmed it (L)

  importance       double precision not null default 0.5,
  -- What its weight is computed from (sql/code/061_weight.sql). strength is as of used_at, or created_at.
  strength         double precision not null default 1.0,
  mention_count    integer not null default 1,
  activated_at     timestamptz,          -- last mentioned, used, or said; null: when it was created
  used_at          timestamptz,          -- when a reply last used it, or a review kept it
  negated_at       timestamptz,          -- when a later statement last contradicted it
  mentions         oxbow.mention[],      -- the recent ones, in order
  tier             text not null default 'normal', -- normal, core, system: the strength of core and system stays (L)
  review_at        timestamptz,          -- when a review of a fact becomes due; null: not computed, or none
  reviews          integer not null default 0, -- how many there were
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
  trait_next_transition_at  timestamptz, -- when time alone changes the stage
  trait_key                 text,        -- the reasoner's name for the pattern behind the trait
  trait_contexts            jsonb,       -- of a contextual trait: {"work": {"tendency": …, "confidence": …}, …}
  trait_review_due_at       timestamptz, -- when a contradiction review became due
  trait_edited_at           timestamptz, -- when a person corrected it; reflection keeps that wording

  -- how far the memory is compressed (sql/code/064_levels.sql): full, summary, tag, trace or archive
  level            text not null default 'full',
  weight_next_at   timestamptz,          -- when time alone may change the level next; null: never, or not computed

  expires_at       timestamptz,          -- null: never; recall leaves it out from then on, and settle ends it

  -- 0 not sensitive, 1 slightly, 2 sensitive, 3 secret (W); the client seals secret text, and content is then
  -- '[sealed]'
  sensitivity      smallint not null default 0,
  sealed           bytea,
  sealed_key       text,                 -- the id of the key that opens it

  modality         text not null default 'text', -- text, image, audio, video, code, file; content is its caption
  reference        text,                 -- where the application keeps the image, …: a URI or a path

  -- With these column orders the planner looks up a memory by its key in the first index, even without statistics. With
  -- external_id behind user_id it would prefer the second, which is lower, and read all memories of the user.
  primary key (user_id, id, memory_type),
  unique (external_id, user_id, memory_type),
  constraint valid check (oxbow.valid_memory(user_id, content, valid_at, invalid_at, created_at, expired_at, updated_at,
    forgotten_at, forgotten_by, last_accessed_at, expires_at, activated_at, used_at, negated_at, session_id, speaker,
    external_id, source, importance, strength, tier, topic, metadata, sensitivity, sealed, sealed_key,
    modality, reference, mention_count, mentions, level))
) partition by list (memory_type);

create table oxbow.memories_fact partition of oxbow.memories for values in ('fact')
  with (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.1);
create table oxbow.memories_episodic partition of oxbow.memories for values in ('episodic')
  with (fillfactor = 95);
create table oxbow.memories_trait partition of oxbow.memories (
  constraint trait_stage_known check (
    trait_stage is null or trait_stage in ('trend', 'candidate', 'emerging', 'established', 'core', 'dissolved')
    or oxbow.reject('trait_stage', trait_stage, 'must be trend, candidate, emerging, established, core or dissolved')),
  constraint trait_subtype_known check (trait_subtype is null or trait_subtype in ('behavior', 'preference', 'core')
    or oxbow.reject('trait_subtype', trait_subtype, 'must be behavior, preference or core')),
  constraint trait_confidence_range check (trait_confidence is null or trait_confidence between 0 and 1
    or oxbow.reject('trait_confidence', trait_confidence::text, 'must be between 0 and 1'))
) for values in ('trait')
  with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
create table oxbow.memories_document partition of oxbow.memories for values in ('document');

-- for foreign keys that refer to traits without naming the type
create unique index memories_trait_user_id_id_key on oxbow.memories_trait (user_id, id);

create index memories_session_idx    on oxbow.memories (user_id, session_id, seq) where session_id is not null;
create index memories_superseded_idx on oxbow.memories (user_id, superseded_by) where superseded_by is not null;
-- memories that sweep will erase, and those that settle will end
create index memories_due_idx        on oxbow.memories (forgotten_at, expires_at)
  where forgotten_at is not null or expires_at is not null and expired_at is null;
-- memories whose level is due to be computed
create index memories_level_idx      on oxbow.memories (weight_next_at) where weight_next_at is not null;
-- A B-tree, because a BRIN range counts as new forever once a new row has reused the space of an old one.
create index memories_created_idx    on oxbow.memories (created_at);
-- memories that recall leaves out though its indexes contain them, and the time from which it does
create index memories_ended_idx      on oxbow.memories (user_id,
    (case when expired_at is null and forgotten_at is null then least(invalid_at, expires_at) else '-infinity' end))
  where case when expired_at is null and forgotten_at is null then least(invalid_at, expires_at) else '-infinity' end
    is not null and level <> 'archive';
-- secret memories, for key rotation and for checks
create index memories_secret_idx     on oxbow.memories (user_id, memory_type, id, sealed_key) where sensitivity >= 2;

-- the current fact that a new one repeats
create index memories_fact_hash_idx  on oxbow.memories_fact (user_id, content_hash) where expired_at is null;

create index memories_trait_due_idx    on oxbow.memories_trait (trait_next_transition_at)
  where trait_next_transition_at is not null;
create index memories_trait_stage_idx  on oxbow.memories_trait (user_id, trait_stage, trait_confidence desc)
  where expired_at is null;
create index memories_trait_key_idx    on oxbow.memories_trait (user_id, trait_key)
  where trait_key is not null and expired_at is null;
create index memories_trait_parent_idx on oxbow.memories_trait (user_id, trait_parent_id)
  where trait_parent_id is not null;
create index memories_trait_review_idx on oxbow.memories_trait (user_id) where trait_review_due_at is not null;

-- facts to review, of all users and of one
create index memories_review_idx       on oxbow.memories_fact (review_at, user_id)
  where review_at is not null and expired_at is null and forgotten_at is null;
create index memories_review_user_idx  on oxbow.memories_fact (user_id, review_at)
  where review_at is not null and expired_at is null and forgotten_at is null;

-- What facts are about: attributes with one value at a time, such as a home, or the subject of a taste. A new fact may
-- replace or repeat those about the same.
create table oxbow.fact_subjects (
  user_id     text not null,
  about       text not null,
  memory_type oxbow.memory_type not null default 'fact' check (memory_type = 'fact'),
  memory_id   uuid not null,
  primary key (user_id, about, memory_id),
  foreign key (user_id, memory_type, memory_id) references oxbow.memories_fact (user_id, memory_type, id)
    on delete cascade
);
create index fact_subjects_memory_idx on oxbow.fact_subjects (user_id, memory_id);

-- Hashes of the statements of facts and episodes: repetitions have the same (sql/code/089_merge.sql). A merged memory
-- has the gists of its originals, which then have none.
create table oxbow.memory_gists (
  user_id     text not null,
  memory_type oxbow.memory_type not null,
  gist        uuid not null,
  memory_id   uuid not null,
  merged      boolean not null default false,
  primary key (memory_id, user_id, memory_type, gist),
  foreign key (user_id, memory_type, memory_id) references oxbow.memories (user_id, memory_type, id) on delete cascade
);
-- This index and the primary key share no leading column: without statistics the planner would choose the wrong one.
create index memory_gists_gist_idx on oxbow.memory_gists (user_id, gist);

-- The restrictions on recall (sql/code/100_recall_filter.sql).
create type oxbow.recall_filter as (
  agent    text,
  contexts text[],
  metadata jsonb,
  valid    timestamptz, -- valid and believed: the moments of an as-of query; null means now
  believed timestamptz,
  now      timestamptz,
  rules    oxbow.trait_rules[], -- the policies that govern trait stages
  stages   jsonb,       -- the stages of traits at believed, by id
  mode     text,        -- normal: only memories with enough weight; debug: also forgotten and ended ones
  rule     oxbow.recall_rules, -- for the mode normal
  history  boolean,     -- versions of all times pass, for timeline and questions about the past
  ids      uuid[],      -- the memories that pass, once listed, and their types
  types    text[]
);

---- create above / drop below ----

drop type oxbow.recall_filter cascade;
drop table oxbow.memory_gists, oxbow.fact_subjects, oxbow.memories cascade;
drop table oxbow.category_names cascade;
drop domain oxbow.memory_type;
