-- Profile values of an application, and how they become memories (S §7.1).

create table oxbow.key_values (
  user_id    text not null,
  namespace  text not null default 'profile',
  key        text not null,
  value      jsonb not null,
  updated_at timestamptz not null default now(),
  constraint user_id_length check (octet_length(user_id) between 1 and 255
    or oxbow.reject('user_id', user_id, 'must have 1 to 255 bytes')),
  constraint namespace_length check (octet_length(namespace) between 1 and 64
    or oxbow.reject('namespace', namespace, 'must have 1 to 64 bytes')),
  constraint key_length check (octet_length(key) between 1 and 255
    or oxbow.reject('key', key, 'must have 1 to 255 bytes')),
  constraint value_length check (octet_length(value::text) <= 65536
    or oxbow.reject('value', value::text, 'must have at most 64 KiB')),
  primary key (user_id, namespace, key)
);

-- The memory of each mapped value.
create table oxbow.profile_memories (
  user_id     text not null,
  namespace   text not null,
  key         text not null,
  item        text not null,     -- the value, or one of the list
  memory_type oxbow.memory_type not null default 'fact' check (memory_type = 'fact'),
  memory_id   uuid not null,
  primary key (user_id, namespace, key, item),
  foreign key (user_id, namespace, key) references oxbow.key_values on delete cascade,
  foreign key (user_id, memory_type, memory_id) references oxbow.memories (user_id, memory_type, id) on delete cascade
);
create index profile_memories_memory_idx on oxbow.profile_memories (user_id, memory_type, memory_id);

-- Which keys become facts, and in which words: %s is the value, %k its key in an object. Traits are made by reflection
-- alone, so interests, personality, values and preferences become statements of the person that reflection counts.
create table oxbow.profile_mapping (
  namespace text not null,
  key       text not null,
  english   text not null,
  chinese   text not null,
  category  text,
  primary key (namespace, key),
  constraint english_place check (english like '%\%s%' or oxbow.reject('english', english, 'must contain %s')),
  constraint chinese_place check (chinese like '%\%s%' or oxbow.reject('chinese', chinese, 'must contain %s'))
);
insert into oxbow.profile_mapping values
  ('profile', 'identity', '%s', '%s', 'identity'),
  ('profile', 'name', 'My name is %s', '我叫%s', 'identity'),
  ('profile', 'occupation', 'I work as %s', '我的职业是%s', 'identity'),
  ('profile', 'location', 'I live in %s', '我住在%s', 'identity'),
  ('profile', 'interests', 'I am interested in %s', '我对%s感兴趣', 'stable_preference'),
  ('profile', 'personality', 'I am %s', '我这个人%s', 'identity'),
  ('profile', 'values', 'I value %s', '我看重%s', 'identity'),
  ('profile', 'preferences', 'I prefer %s', '我喜欢%s', 'stable_preference'),
  ('profile', 'relationships', '%s is my %k', '%s是我的%k', 'identity');

-- Memories with an emotion, for emotion profiles.
create index memories_emotion_idx on oxbow.memories (user_id, (coalesce(valid_at, created_at)) desc)
  where metadata ? 'emotion' and forgotten_at is null;

---- create above / drop below ----

drop index oxbow.memories_emotion_idx;
drop table oxbow.profile_mapping, oxbow.profile_memories, oxbow.key_values cascade;
