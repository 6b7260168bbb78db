-- Review: what people say about a memory, its tier and whether it is verified (L).

-- verify notes that a person confirmed a memory, or takes that back. Oxbow forgets no verified memory by itself.
create or replace function oxbow.verify(user_id text, id uuid, verified boolean default true, reason text default null)
returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  old oxbow.memories;
begin
  perform oxbow.check_access(verify.user_id);
  if verify.verified is null then
    perform oxbow.reject('verified', null, 'must be true or false');
  end if;
  old := oxbow.lock_kept(verify.user_id, verify.id);
  if old.verified = verify.verified then
    return;
  end if;
  update oxbow.memories m set verified = verify.verified, updated_at = now()
   where m.user_id = old.user_id and m.memory_type = old.memory_type and m.id = old.id;
  insert into oxbow.memory_history (user_id, memory_type, memory_id, event, old_metadata, new_metadata, actor, reason)
  values (old.user_id, old.memory_type, old.id, 'VERIFY', jsonb_build_object('verified', old.verified),
          jsonb_build_object('verified', verify.verified), 'app', verify.reason);
end $$;
call oxbow.grant_app('verify');

-- write_tier changes the tier of a memory that is locked. In the tiers core and system strength does not fall.
create or replace function oxbow.write_tier(_old oxbow.memories, _tier text, _actor text, _reason text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  _rules constant oxbow.recall_rules := oxbow.recall_rules(_old.user_id, 'infinity');
  _now constant timestamptz := clock_timestamp();
  _after double precision;
begin
  update oxbow.memories m set tier = _tier, updated_at = now()
   where m.user_id = _old.user_id and m.memory_type = _old.memory_type and m.id = _old.id
  returning oxbow.weight_of(m, _now, _rules) into _after;
  insert into oxbow.memory_history (user_id, memory_type, memory_id, event, old_metadata, new_metadata, actor, reason)
  values (_old.user_id, _old.memory_type, _old.id, case when _tier = 'normal' then 'DEMOTE' else 'PROMOTE' end,
          jsonb_build_object('tier', _old.tier), jsonb_build_object('tier', _tier), _actor, _reason);
  perform oxbow.log_weight(_old.user_id, _old.memory_type, _old.id, _now, 'reviewed',
                           oxbow.weight_of(_old, _now, _rules), _after, 1, _actor);
end $$;
call oxbow.grant_worker('write_tier');

-- set_tier changes the tier of a memory: normal, core or system (L). It takes back what the reviewer promoted, too.
create or replace function oxbow.set_tier(user_id text, id uuid, tier text, reason text default null) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  old oxbow.memories;
begin
  perform oxbow.check_access(set_tier.user_id);
  if set_tier.tier is null or set_tier.tier not in ('normal', 'core', 'system') then
    perform oxbow.reject('tier', set_tier.tier, 'must be normal, core or system');
  end if;
  old := oxbow.lock_kept(set_tier.user_id, set_tier.id);
  if old.memory_type = 'trait' then
    perform oxbow.reject('memory_type', 'trait', 'must be fact, episodic or document: a trait has stages instead');
  elsif old.tier <> set_tier.tier then
    perform oxbow.write_tier(old, set_tier.tier, 'app', set_tier.reason);
  end if;
end $$;
call oxbow.grant_app('set_tier');
