-- Feedback: what replies used, what people said of them, and what was adjusted because of it.

-- Replies for which an application reported what was recalled and what was used (oxbow.answered).
create table oxbow.answers (
  user_id    text not null,
  id         uuid not null default gen_random_uuid(),
  at         timestamptz not null default now(),
  session_id text,
  query      text not null,              -- the question; empty: unknown
  recalled   uuid[] not null default '{}', -- memories, best first
  used       uuid[] not null default '{}', -- those that the reply used
  skills     uuid[] not null default '{}', -- skills that it used
  constraint query_length check (octet_length(query) <= 50000
    or oxbow.reject('query', query, 'must have at most 50,000 bytes')),
  constraint session_length check (coalesce(octet_length(session_id) between 1 and 1024, true)
    or oxbow.reject('session_id', session_id, 'must have 1 to 1024 bytes')),
  primary key (user_id, id)
);
create index answers_recent_idx on oxbow.answers (user_id, at desc);
create index answers_session_idx on oxbow.answers (user_id, session_id, at desc) where session_id is not null;
create index answers_old_idx on oxbow.answers (at);

-- Signals: what a person thinks of an answer or a memory (U §4). Explicit ones come from oxbow.feedback, the others from
-- the job judge, which reads conversations: one per message.
create table oxbow.feedback_signals (
  user_id       text not null,
  id            uuid not null default gen_random_uuid(),
  at            timestamptz not null default now(),
  source        text not null check (source in ('explicit', 'judge')),
  kind          text not null, -- explicit: what the person said; judge: what the message is
  type          text not null check (type in ('negative', 'positive', 'neutral', 'mixed')),
  confidence    double precision not null,
  targets       text[] not null default '{}',  -- of reasoning, final_answer, style, tool_choice
  action_hint   text[] not null default '{}',  -- of penalty, invalidate, prefer
  parts         jsonb,                         -- mixed: the type for each target
  answer_id     uuid,
  session_id    text,
  message_id    uuid,                          -- judge: the message that was judged
  query         text,                          -- the question that was answered
  reason        text,
  external_id   text,
  actor         text not null default 'app',
  dispatched_at timestamptz,                   -- null: the job dispatch has not yet counted it
  constraint kind_known check (
    case source when 'explicit' then kind in ('helpful', 'wrong', 'outdated', 'not_about_me', 'too_much')
                else kind in ('correction', 'complaint', 'repeated_question', 'rephrasing', 'thanks') end
    or oxbow.reject('kind', kind, 'must be helpful, wrong, outdated, not_about_me or too_much')),
  constraint confidence_range check (confidence between 0 and 1
    or oxbow.reject('confidence', confidence::text, 'must be between 0 and 1')),
  constraint targets_known check (targets <@ '{reasoning,final_answer,style,tool_choice}'
    or oxbow.reject('targets', targets::text, 'must be of reasoning, final_answer, style and tool_choice')),
  constraint action_hint_known check (action_hint <@ '{penalty,invalidate,prefer}'
    or oxbow.reject('action_hint', action_hint::text, 'must be of penalty, invalidate and prefer')),
  constraint reason_length check (coalesce(octet_length(reason) <= 10000, true)
    or oxbow.reject('reason', reason, 'must have at most 10,000 bytes')),
  constraint external_id_length check (coalesce(octet_length(external_id) between 1 and 1024, true)
    or oxbow.reject('external_id', external_id, 'must have 1 to 1024 bytes')),
  primary key (user_id, id),
  unique (user_id, message_id),
  unique (user_id, external_id)
);
create index feedback_signals_recent_idx on oxbow.feedback_signals (user_id, at desc);
create index feedback_signals_waiting_idx on oxbow.feedback_signals (at) where dispatched_at is null;
create index feedback_signals_said_idx on oxbow.feedback_signals (at) where source = 'explicit';

-- The memories that a signal is about.
create table oxbow.feedback_subjects (
  user_id     text not null,
  signal_id   uuid not null,
  memory_type oxbow.memory_type not null,
  memory_id   uuid not null,
  share       double precision not null default 1, -- of the signal, if it is about several
  primary key (user_id, signal_id, memory_type, memory_id),
  foreign key (user_id, signal_id) references oxbow.feedback_signals on delete cascade,
  foreign key (user_id, memory_type, memory_id) references oxbow.memories (user_id, memory_type, id) on delete cascade
);
create index feedback_subjects_memory_idx on oxbow.feedback_subjects (user_id, memory_type, memory_id);

-- Memories that recall leaves out for questions like one that they answered wrongly.
create table oxbow.suppressions (
  user_id     text not null,
  id          uuid not null default gen_random_uuid(),
  memory_type oxbow.memory_type not null,
  memory_id   uuid not null,
  signal_id   uuid not null,
  query       text,              -- null: for all questions
  terms       text[],            -- of the question
  weights     double precision[], -- of the terms: how much each tells of the question
  created_at  timestamptz not null default now(),
  expires_at  timestamptz not null,
  primary key (user_id, id),
  unique (user_id, signal_id, memory_type, memory_id),
  foreign key (user_id, signal_id) references oxbow.feedback_signals on delete cascade,
  foreign key (user_id, memory_type, memory_id) references oxbow.memories (user_id, memory_type, id) on delete cascade
);
create index suppressions_active_idx on oxbow.suppressions (user_id, expires_at);
create index suppressions_memory_idx on oxbow.suppressions (user_id, memory_type, memory_id);
create index suppressions_old_idx on oxbow.suppressions (expires_at);

-- What the job dispatch changed of a user's data because of signals, and what became of it. Each can be undone
-- (oxbow.rollback). Changes of policies are in oxbow.strategies, because they concern everybody.
create table oxbow.adjustments (
  user_id     text not null,
  id          uuid not null default gen_random_uuid(),
  at          timestamptz not null default clock_timestamp(),
  kind        text not null check (kind in ('memory_weight', 'trait_confidence', 'relation_weight', 'skill')),
  memory_type text,                -- the memory, or that from which the relation goes; null: a skill
  memory_id   uuid,                -- the same, or the skill
  target      jsonb not null default '{}', -- the other end of the relation, or what was changed of the skill
  before      double precision not null,
  after       double precision not null,
  cause       text not null,       -- in a sentence
  signals     uuid[] not null,     -- that led to it
  score       double precision not null default 0, -- sum of the signals about it before the change, negative: bad
  expires_at  timestamptz,         -- when it is undone by itself; null: never
  undone_at   timestamptz,
  undone_by   text check (undone_by in ('person', 'expiry', 'worse')),
  primary key (user_id, id),
  foreign key (user_id, memory_type, memory_id) references oxbow.memories (user_id, memory_type, id) on delete cascade
);
create index adjustments_memory_idx on oxbow.adjustments (user_id, memory_id, at);
create index adjustments_due_idx on oxbow.adjustments (expires_at) where undone_at is null;

---- create above / drop below ----

drop table oxbow.adjustments, oxbow.suppressions, oxbow.feedback_subjects, oxbow.feedback_signals, oxbow.answers cascade;
