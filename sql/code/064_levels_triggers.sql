-- The triggers that raise memories to the level full, and make them due when a change may lower their level.

-- follow_activation restores the level full, the text and the metadata of a memory that became active again or was
-- raised. It makes other memories due if a change may lower their level earlier than weight_next_at.
create or replace function oxbow.follow_activation() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  _archived oxbow.memory_archive;
begin
  if old.level <> 'full' and (new.level = 'full' or new.activated_at > coalesce(old.activated_at, old.created_at)) then
    select * into _archived from oxbow.memory_archive a
     where a.user_id = old.user_id and a.memory_type = old.memory_type and a.memory_id = old.id;
    new.level := 'full';
    new.content := coalesce(_archived.content, old.content);
    new.metadata := coalesce(_archived.metadata, '{}') || new.metadata;
    new.weight_next_at := now();
  elsif new.created_at <> old.created_at or oxbow.has_levels(new, now()) and not oxbow.has_levels(old, now())
    or old.weight_next_at is not null and (
      (old.negated_at, old.category, old.tier, old.sensitivity)
        is distinct from (new.negated_at, new.category, new.tier, new.sensitivity)
      or new.strength < old.strength and new.used_at is not distinct from old.used_at
      or coalesce(new.activated_at, new.created_at) < coalesce(old.activated_at, old.created_at)) then
    new.weight_next_at := now();
  end if;
  return new;
end $$;
create or replace trigger follow_activation
  before update of level, activated_at, negated_at, category, strength, tier, sensitivity, created_at, forgotten_at,
    expired_at, invalid_at on oxbow.memories
  for each row when (new.level in (old.level, 'full') -- compress_memories needs nothing more
    and (old.weight_next_at is not null or old.level <> 'full' or new.created_at < now() - interval '1 day'))
  execute function oxbow.follow_activation();

-- return_memory restores the search terms of a memory that became full again, and enqueues embed for the rest.
create or replace function oxbow.return_memory() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
  set enable_seqscan = off as $$
declare
  _archived oxbow.memory_archive;
  _len integer;
begin
  delete from oxbow.memory_archive a
   where a.user_id = new.user_id and a.memory_type = new.memory_type and a.memory_id = new.id
  returning * into _archived;
  if old.content <> new.content then
    insert into oxbow.memory_history (user_id, memory_type, memory_id, event, old_metadata, new_metadata, reason)
    values (new.user_id, new.memory_type, new.id, 'RESTORE', jsonb_build_object('level', old.level),
            jsonb_build_object('level', new.level), 'all of it is kept again');
  end if;
  if old.level in ('tag', 'trace') and _archived.len is not null then
    select t.len into _len from oxbow.memory_terms t
     where t.user_id = new.user_id and t.memory_type = new.memory_type and t.memory_id = new.id for update;
    update oxbow.memory_terms t set len = _archived.len, tsv = _archived.tsv
     where t.user_id = new.user_id and t.memory_type = new.memory_type and t.memory_id = new.id;
    update oxbow.memory_term_stats s set terms = s.terms + _archived.len - _len
     where _len is not null and s.user_id = new.user_id and s.memory_type = new.memory_type;
  end if;
  if old.level in ('tag', 'trace', 'archive') and new.forgotten_at is null then
    insert into oxbow.river_job (kind, queue, max_attempts, args)
    values ('embed', 'embed', 25, jsonb_build_object('user_id', new.user_id, 'ids', new.id));
    perform oxbow.ring_doorbell();
  end if;
  return null;
end $$;
create or replace trigger return_memory after update on oxbow.memories
  for each row when (old.level <> 'full' and new.level = 'full') execute function oxbow.return_memory();

-- follow_forgetting makes the memories of a user due when the forgetting factor of the user changes.
create or replace function oxbow.follow_forgetting() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  update oxbow.memories m set weight_next_at = now()
   where m.user_id = coalesce(new.user_id, old.user_id) and m.weight_next_at is not null;
  return null;
end $$;
create or replace trigger follow_forgetting after update of forgetting_factor on oxbow.users
  for each row when (old.forgetting_factor is distinct from new.forgetting_factor)
  execute function oxbow.follow_forgetting();
create or replace trigger follow_first_forgetting after insert on oxbow.users
  for each row when (new.forgetting_factor <> 1) execute function oxbow.follow_forgetting();
create or replace trigger follow_last_forgetting after delete on oxbow.users
  for each row when (old.forgetting_factor <> 1) execute function oxbow.follow_forgetting();
