-- touch reports that a reply used memories or, with used => false, that they were only returned. Both count
-- an access; only a use strengthens and activates a memory, or raises the confidence of a trait
-- (use_trait). Recall writes nothing. The job
-- flush_activity adds the reports up, so sessions do not contend for counters. Reports about unknown or
-- erased memories are dropped.
create or replace function oxbow.touch(user_id text, ids uuid[], used boolean default true,
  at timestamptz default now()) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform oxbow.check_access(touch.user_id);
  if touch.at is null or not oxbow.valid_time('at', touch.at) then
    perform oxbow.reject('at', touch.at::text, 'must be finite');
  end if;
  insert into oxbow.activity (user_id, memory_ids, used, at)
  select touch.user_id, array_agg(i.id), coalesce(touch.used, true), least(touch.at, now()) from unnest(touch.ids) i(id)
   where exists (select from oxbow.memories m where m.user_id = touch.user_id and m.id = i.id)
  having count(*) > 0;
end $$;
call oxbow.grant_app('touch');

-- use_trait records that a reply used a trait, which raises its confidence, at most once per
-- trait_use_hours (C §8.2; the factor is the policy trait_factor_used). It ignores other memories, old
-- versions, and traits in a stage that is not recalled. The caller holds the row lock.
create or replace function oxbow.use_trait(_user_id text, _id uuid, _at timestamptz, _actor text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  _event oxbow.trait_events;
begin
  if not exists (select from oxbow.memories_trait m
                  where m.user_id = _user_id and m.id = _id and m.expired_at is null
                    and m.trait_stage in ('emerging', 'established', 'core'))
     or exists (select from oxbow.trait_events e
                 where e.user_id = _user_id and e.trait_id = _id and e.event = 'used'
                   and e.at > _at - make_interval(secs => 3600 * oxbow.policy('trait_use_hours', _at))) then
    return;
  end if;
  _event.user_id := _user_id;
  _event.trait_id := _id;
  _event.event := 'used';
  _event.at := _at;
  _event.factor := oxbow.policy('trait_factor_used', _at);
  _event.actor := _actor;
  perform oxbow.record_event(_event);
end $$;
call oxbow.grant_worker('use_trait');
