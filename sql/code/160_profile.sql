-- The profile: values that an application keeps about a user. Keys with a row in profile_mapping become facts.

-- set_value stores a value; null deletes it. A value of a mapped key becomes facts: one for a string, or one for each
-- string of a list or an object. A new string replaces the fact of the old one; in a list, facts of removed strings end
-- and those of new strings are stored. It returns the number of facts that it stored, replaced or ended.
create or replace function oxbow.set_value(user_id text, key text, value jsonb, namespace text default 'profile')
returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
declare
  _map oxbow.profile_mapping;
  _namespace constant text := coalesce(set_value.namespace, 'profile');
  _chinese constant boolean := coalesce((select lower(u.language) like 'zh%' from oxbow.users u
                                          where u.user_id = set_value.user_id), false);
  _new text[];
  _texts text[];
  _gone record;
  _changed integer := 0;
  _id uuid;
begin
  perform oxbow.check_access(set_value.user_id);
  perform pg_advisory_xact_lock(hashtextextended('oxbow.profile ' || set_value.user_id, 0));
  select array_agg(i.item), array_agg(i.text) into _new, _texts
    from oxbow.profile_items(_namespace, set_value.key, set_value.value, _chinese) i;
  if set_value.value is not null and jsonb_typeof(set_value.value) <> 'null' then
    insert into oxbow.key_values as k (user_id, namespace, key, value)
    values (set_value.user_id, _namespace, set_value.key, set_value.value)
    on conflict on constraint key_values_pkey do update set value = excluded.value, updated_at = now(), stored_at = now();
  end if;
  for _gone in
    select p.item, p.memory_id, count(*) over () as n from oxbow.profile_memories p
     where p.user_id = set_value.user_id and p.namespace = _namespace and p.key = set_value.key
       and p.item <> all(coalesce(_new, '{}'))
  loop
    delete from oxbow.profile_memories p
     where p.user_id = set_value.user_id and p.namespace = _namespace and p.key = set_value.key and p.item = _gone.item;
    continue when not exists (select from oxbow.memories m where m.user_id = set_value.user_id and m.id = _gone.memory_id
                                 and m.expired_at is null and m.forgotten_at is null);
    _changed := _changed + 1;
    if _gone.n = 1 and cardinality(_new) = 1 then -- one value took the place of another
      _id := oxbow.supersede(set_value.user_id, _gone.memory_id, _texts[1], reason => 'the profile changed');
      insert into oxbow.profile_memories (user_id, namespace, key, item, memory_id)
      values (set_value.user_id, _namespace, set_value.key, _new[1], _id);
    else
      perform oxbow.end_named(set_value.user_id, _gone.memory_id, 'outdated', 'app', 'the profile changed');
    end if;
  end loop;
  if set_value.value is null or jsonb_typeof(set_value.value) = 'null' then
    delete from oxbow.key_values k
     where k.user_id = set_value.user_id and k.namespace = _namespace and k.key = set_value.key;
    return _changed;
  end if;
  select m.* into _map from oxbow.profile_mapping m where m.namespace = _namespace and m.key = set_value.key;
  for _gone in
    select i.item, i.text from unnest(_new, _texts) i(item, text)
     where not exists (select from oxbow.profile_memories p
                        where p.user_id = set_value.user_id and p.namespace = _namespace and p.key = set_value.key
                          and p.item = i.item)
  loop
    _id := gen_random_uuid();
    insert into oxbow.memories (user_id, memory_type, id, content, category, source, metadata)
    values (set_value.user_id, 'fact', _id, _gone.text, _map.category, 'profile', '{}');
    insert into oxbow.profile_memories (user_id, namespace, key, item, memory_id)
    values (set_value.user_id, _namespace, set_value.key, _gone.item, _id);
    _changed := _changed + 1;
  end loop;
  return _changed;
end $$;
call oxbow.grant_app('set_value');

-- profile_items returns the texts of the facts that a value becomes, at most 100.
create or replace function oxbow.profile_items(_namespace text, _key text, _value jsonb, _chinese boolean)
returns table (item text, text text)
language sql stable set search_path = pg_catalog, pg_temp as $$
  select distinct on (v.item) left(v.item, 1000),
         replace(replace(case when _chinese then m.chinese else m.english end, '%k', v.name), '%s', left(v.item, 1000))
    from oxbow.profile_mapping m, lateral (
      select btrim(_value #>> '{}') as item, '' as name where jsonb_typeof(_value) = 'string'
      union all
      select btrim(e #>> '{}'), ''
        from jsonb_array_elements(case jsonb_typeof(_value) when 'array' then _value else '[]' end) e
       where jsonb_typeof(e) = 'string'
      union all
      select btrim(o.value #>> '{}'), o.key
        from jsonb_each(case jsonb_typeof(_value) when 'object' then _value else '{}' end) o
       where jsonb_typeof(o.value) = 'string') v
   where m.namespace = _namespace and m.key = _key and v.item ~ '\S'
   order by v.item limit 100;
$$;

-- get_value returns a value, or null if there is none.
create or replace function oxbow.get_value(user_id text, key text, namespace text default 'profile') returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
begin
  perform oxbow.check_access(get_value.user_id);
  return (select k.value from oxbow.key_values k
           where k.user_id = get_value.user_id and k.namespace = coalesce(get_value.namespace, 'profile')
             and k.key = get_value.key);
end $$;
call oxbow.grant_app('get_value');

-- profile returns the values of a user in a namespace, or in all if it is null.
create or replace function oxbow.profile(user_id text, namespace text default 'profile')
returns table ("group" text, name text, value jsonb, updated_at timestamptz, facts integer)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
begin
  perform oxbow.check_access(profile.user_id);
  return query
  select k.namespace, k.key, k.value, k.updated_at, (
           select count(*)::integer from oxbow.profile_memories p
            where p.user_id = k.user_id and p.namespace = k.namespace and p.key = k.key)
    from oxbow.key_values k
   where k.user_id = profile.user_id and (profile.namespace is null or k.namespace = profile.namespace)
   order by k.namespace, k.key;
end $$;
call oxbow.grant_app('profile');
