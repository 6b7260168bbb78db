-- take_jobs marks due jobs of a queue as running for the worker _by, and returns them with the point at which the next
-- call continues. They weigh at most _room together.
--
-- One user's many jobs must not delay the others. If everything that waits fits, it is taken. Otherwise a part of the
-- room is for the oldest jobs, so that every job runs sometime; a part for the newest job of each user among the
-- last to arrive, so that a single job overtakes a long queue even if each of its jobs has another user; the rest for
-- users in turn, so that users with many jobs share evenly with those who have few. What one part leaves, the next
-- gets. Jobs of one user are taken about in their order. River's priorities remain strict.
--
--   _oldest, _newest  the parts of _room; users in turn get the rest
--   _after            continue after this user, or rather the hash of the user's id
--   _kind             take only first attempts of this kind without the key _alone in their metadata; a job weighs
--                     as much as it has ids. Null: any job; each weighs 1
--
-- Each scan is bounded and reads an index in its order, however long the queue is: sorting it would not be.
create or replace function oxbow.take_jobs(_queue text, _by text, _room integer, _oldest integer, _newest integer,
  _after bigint, _kind text default null, _alone text default null)
returns table (job oxbow.river_job, after bigint)
language plpgsql set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
  set jit = off as $$
declare
  _ids bigint[];      -- the oldest jobs
  _weights integer[];
  _users integer[];
  _priority smallint; -- theirs; later ones wait for it
  _fair bigint[];     -- other jobs than the oldest
  _used bigint := 0;  -- their weight
  _turns bigint[];
  _more bigint[];
  _weight bigint;
  _last integer;
begin
  select array_agg(w.id), array_agg(w.weight), array_agg(w.turn), min(w.priority)
    into _ids, _weights, _users, _priority
    from (select j.id, j.priority, hashtext(coalesce(j.args ->> 'user_id', '')) as turn,
                 case when _kind is null then 1
                      else coalesce(cardinality(string_to_array(j.args ->> 'ids', ',')), 1) end as weight
            from oxbow.river_job j
           where j.state = 'available' and j.queue = _queue and j.scheduled_at <= now()
             and (_kind is null or j.kind = _kind and j.attempt = 0 and not j.metadata ? _alone)
           order by j.priority, j.scheduled_at, j.id limit _room for update skip locked) w;
  if _ids is null then
    return;
  end if;

  if cardinality(_ids) = _room and _newest > 0 then
    -- A user who keeps adding jobs comes after those who have few.
    with recent as (
      select j.id, j.scheduled_at, hashtext(coalesce(j.args ->> 'user_id', '')) as turn,
             case when _kind is null then 1
                  else coalesce(cardinality(string_to_array(j.args ->> 'ids', ',')), 1) end as weight,
             _kind is null or j.kind = _kind and j.attempt = 0 and not j.metadata ? _alone as takeable
        from oxbow.river_job j
       where j.state = 'available' and j.queue = _queue and j.priority = _priority and j.scheduled_at <= now()
       order by j.scheduled_at desc, j.id desc limit 64
    ), first as (
      select distinct on (r.turn) r.*, count(*) over (partition by r.turn) as jobs
        from recent r where r.takeable and r.weight <= _newest order by r.turn, r.scheduled_at, r.id
    ), fitting as (
      select f.id, f.weight, sum(f.weight) over (order by f.jobs, f.scheduled_at desc, f.id desc) as total from first f
    ), locked as (
      select j.id, f.weight from fitting f join oxbow.river_job j on j.id = f.id
       where f.total <= _newest and j.state = 'available' for update of j skip locked
    )
    select array_agg(l.id), coalesce(sum(l.weight), 0) into _fair, _used from locked l;
  end if;

  -- The oldest are taken fairly without turns if none of many users has more than an eighth of them.
  if cardinality(_ids) = _room and _used < _room - _oldest and (_room < 16
      or (select max(n.jobs) > _room / 8 from (select count(*) as jobs from unnest(_users) u group by u) n)) then
    with recursive turn(nth, start, turn) as (
      select 0, null::bigint, _after
      union all
      select t.nth + 1, coalesce(t.start, n.turn), n.turn
        from turn t cross join lateral (select coalesce(
          (select hashtext(coalesce(j.args ->> 'user_id', '')) from oxbow.river_job j
            where j.state = 'available' and j.queue = _queue and hashtext(coalesce(j.args ->> 'user_id', '')) > t.turn
            order by j.queue, hashtext(coalesce(j.args ->> 'user_id', '')) limit 1),
          (select hashtext(coalesce(j.args ->> 'user_id', '')) from oxbow.river_job j
            where j.state = 'available' and j.queue = _queue
            order by j.queue, hashtext(coalesce(j.args ->> 'user_id', '')) limit 1))::bigint as turn
          offset 0) n -- computed once, and not in the condition again
       -- more than fit, because some users may have no due jobs, or none but those already chosen
       where t.nth < _room - _oldest + 4 and n.turn is distinct from t.start
    )
    select array_agg(t.turn order by t.nth) into _turns from turn t where t.nth > 0;
  end if;
  if cardinality(_turns) > 1 then -- otherwise the oldest are that user's
    with one as (
      select t.nth as turn, j.*, row_number() over (partition by t.nth) as rank
        from unnest(_turns) with ordinality t(turn, nth)
       cross join lateral (
         select j.id, j.weight
           from (select j.id, j.priority = _priority and j.scheduled_at <= now() and (_kind is null
                          or j.kind = _kind and j.attempt = 0 and not j.metadata ? _alone) as takeable,
                        case when _kind is null then 1
                             else coalesce(cardinality(string_to_array(j.args ->> 'ids', ',')), 1) end as weight
                   from oxbow.river_job j
                  where j.state = 'available' and j.queue = _queue
                    and hashtext(coalesce(j.args ->> 'user_id', '')) = t.turn
                  limit 32 + _room / cardinality(_turns)) j
          where j.takeable and j.id <> all(coalesce(_fair, '{}')) and j.weight <= _room - _oldest - _used
          limit 1 + _room / cardinality(_turns)) j
    ), fitting as (
      select o.*, sum(o.weight) over (order by o.rank, o.turn) as total from one o
    ), locked as (
      select j.id, f.weight, f.turn from fitting f join oxbow.river_job j on j.id = f.id
       where f.total <= _room - _oldest - _used and j.state = 'available' for update of j skip locked
    )
    select array_agg(l.id), sum(l.weight), max(l.turn) into _more, _weight, _last from locked l;
    _fair := _fair || _more;
    _used := _used + coalesce(_weight, 0);
    _after := _turns[coalesce(_last, cardinality(_turns))];
  end if;

  return query
    with fitting as (
      select o.id, o.nth, sum(o.weight) over (order by o.nth) as total
        from unnest(_ids, _weights) with ordinality o(id, weight, nth)
       where o.id <> all(coalesce(_fair, '{}')) and o.weight <= _room - _used
    ), chosen as (
      select f.id, 0 as nth from unnest(_fair) f(id)
      union all
      select f.id, f.nth from fitting f where f.total <= _room - _used
    ), taken as (
      update oxbow.river_job j
         set state = 'running', attempt = j.attempt + 1, attempted_at = now(), -- River keeps 100 of attempted_by
             attempted_by = array_append(j.attempted_by[greatest(cardinality(j.attempted_by) - 98, 1):], _by)
        from chosen c where j.id = c.id
      returning j as job, c.nth
    )
    select t.job, _after from taken t order by t.nth, (t.job).scheduled_at, (t.job).id;
end $$;
call oxbow.grant_worker('take_jobs');
