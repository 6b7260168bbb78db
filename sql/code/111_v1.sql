-- The functions of version 1, for applications that used them.

-- add_memory stores a memory and returns its id. The types of version 1 are mapped: general is fact, and insight is a
-- trend without evidence, which is never recalled and dissolves when its window ends unless reflection finds evidence.
create or replace function oxbow.add_memory(user_id text, content text, memory_type text default 'general',
  metadata jsonb default '{}') returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
declare
  _id constant uuid := gen_random_uuid();
  _origin constant text := coalesce(current_setting('oxbow.origin', true), '');
begin
  perform oxbow.check_access(add_memory.user_id);
  if coalesce(add_memory.memory_type, '') not in ('general', 'fact', 'episodic', 'document', 'insight') then
    perform oxbow.reject('memory_type', add_memory.memory_type, 'must be general, fact, episodic, document or insight');
  elsif add_memory.content is null then
    perform oxbow.reject('content', null, 'must not be blank or longer than 1 MiB');
  elsif add_memory.memory_type <> 'insight' then
    insert into oxbow.memories (user_id, memory_type, id, content, metadata)
    values (add_memory.user_id, case add_memory.memory_type when 'general' then 'fact' else add_memory.memory_type end,
            _id, add_memory.content, coalesce(add_memory.metadata, '{}'));
    return _id;
  end if;
  if exists (select from oxbow.users u where u.user_id = add_memory.user_id and u.opted_out) then
    perform oxbow.reject('memory_type', 'insight', 'must not be insight for a user who opted out of reflection');
  end if;
  perform set_config('oxbow.origin', 'import', true); -- see refuse_trait
  insert into oxbow.memories (user_id, memory_type, id, content, metadata, trait_stage)
  values (add_memory.user_id, 'trait', _id, add_memory.content, coalesce(add_memory.metadata, '{}'), 'trend');
  perform oxbow.adopt_trait(add_memory.user_id, _id, 'app');
  perform set_config('oxbow.origin', _origin, true);
  return _id;
end $$;
call oxbow.grant_app('add_memory');

-- search is recall with the arguments of version 1. The type general stands for fact, and insight for nothing.
create or replace function oxbow.search(user_id text, query text, embedding halfvec default null,
  types text[] default null, max_results integer default 10)
returns table (id uuid, content text, memory_type text, score double precision, created_at timestamptz, metadata jsonb)
language plpgsql stable as $$
#variable_conflict error
begin
  return query
  select r.id, r.content, r.memory_type, r.score, r.created_at, r.metadata
    from oxbow.recall(user_id => search.user_id, query => search.query, embedding => search.embedding,
           types => array_replace(array_remove(search.types, 'insight'), 'general', 'fact'),
           max_results => search.max_results) r
   where search.types is null or search.types <> '{insight}';
end $$;
call oxbow.grant_app('search');
