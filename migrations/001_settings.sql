-- Settings of the database, and the functions that tables refer to. The text of the two that check constraints call is in
-- sql/code.

-- reject raises the error of a failed check.
create function oxbow.reject(field text, value text, rule text) returns boolean
language plpgsql immutable as $$ begin return false; end $$;

create function oxbow.is_timezone(name text) returns boolean
language plpgsql stable as $$ begin return false; end $$;

-- content_hash identifies what a text says: the same for texts that differ in nothing but a capital first letter, spaces and full
-- stops at the end, repeated spaces, and full-width punctuation. Case elsewhere, ?, ! and … may change the meaning. A text longer
-- than 4 kB is taken as it is. Its one text is here, not in sql/code, because stored columns hold its values.
create function oxbow.content_hash(content text) returns uuid
language sql immutable parallel safe
return md5(case when octet_length(content) > 4096 then content
  else upper(left(ltrim(content), 1) collate "C") || rtrim(substr(ltrim(replace(
    case when octet_length(content) = length(content) then content else translate(content, '，；：（）！？　', ',;:()!? ') end,
    '  ', ' ')), 2), E' \t\r\n.。｡') end)::uuid;

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
drop function oxbow.content_hash, oxbow.is_timezone, oxbow.reject;
