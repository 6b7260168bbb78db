-- Settings of the database, and the two functions that check constraints call. Their text is in sql/code; they are
-- created here because the tables refer to them.

-- reject raises the error of a failed check.
create function oxbow.reject(field text, value text, rule text) returns boolean
language plpgsql immutable as $$ begin return false; end $$;

create function oxbow.is_timezone(name text) returns boolean
language plpgsql stable as $$ begin return false; end $$;

-- Tells this schema from the unreleased one before it, whose versions were 1 to 17.
comment on table oxbow.schema_version is 'Version of schema oxbow (initial schema)';

-- The database's own facts, such as the embedding model in use. No user data.
create table oxbow.settings (
  key        text primary key,
  value      jsonb not null,
  updated_at timestamptz not null default now(),
  constraint sensory_setting check (key <> 'sensory'
    or jsonb_typeof(value) = 'object'
      and not value @? '$.days ? ((@ >= 1 && @ <= 30 && @.floor() == @) is unknown '
          '|| !(@ >= 1 && @ <= 30 && @.floor() == @))'
      and not value @? '$.times ? ((@ >= 2 && @ <= 1000 && @.floor() == @) is unknown '
          '|| !(@ >= 2 && @ <= 1000 && @.floor() == @))'
    or oxbow.reject('sensory', value::text,
         'must be an object with days, 1 to 30, and times, 2 to 1000, both whole numbers')),
  constraint vector_index_setting check (key <> 'vector_index'
    or jsonb_typeof(value) = 'object' and coalesce(value ->> 'policy' in ('auto', 'always', 'never'), false)
      and value - '{policy,from,most}'::text[] = '{}'
      and not value @? '$.from ? ((@ >= 100 && @ <= 1000000000 && @.floor() == @) is unknown '
          '|| !(@ >= 100 && @ <= 1000000000 && @.floor() == @))'
      and not value @? '$.most ? ((@ >= 1 && @ <= 16 && @.floor() == @) is unknown '
          '|| !(@ >= 1 && @ <= 16 && @.floor() == @))'
    or oxbow.reject('vector_index', value::text,
         'must be an object with policy, auto, always or never, '
         'and for auto from, 100 to 1,000,000,000 memories, and most, 1 to 16 users, both whole numbers'))
);
insert into oxbow.settings (key, value) values
  ('embedding',     '{"model": "local-v1", "dimension": 1024}'),
  ('conversations', '{"quiet_seconds": 10, "messages": 20, "ended_session": "reopen"}'), -- docs/conversations.md
  ('sensory',       '{"days": 3, "times": 3}'),
  ('vector_index',  '{"policy": "auto", "from": 50000, "most": 8}');

---- create above / drop below ----

drop table oxbow.settings;
drop function oxbow.is_timezone, oxbow.reject;
