-- Queries of the job sweep.

-- is_unembedded reports whether embed still has work for a memory. A text that the model's provider refuses
-- counts as done, and so does a memory of sensitivity 2 or 3, an archived one, and the vector of a tag or trace. (The
-- body is a string, because a parsed body would keep reembed from dropping the table of vectors.)
create or replace function oxbow.is_unembedded(_user_id text, _memory_type text, _id uuid, _model text) returns boolean
language sql stable as $$
  select not exists (select from oxbow.memories m
                      where m.user_id = _user_id and m.memory_type = _memory_type and m.id = _id
                        and (m.sensitivity > 1 or m.level = 'archive'))
     and (not exists (select from oxbow.memory_terms t
                       where t.user_id = _user_id and t.memory_type = _memory_type and t.memory_id = _id)
      or not (exists (select from oxbow.memories m
                       where m.user_id = _user_id and m.memory_type = _memory_type and m.id = _id
                         and m.level in ('tag', 'trace'))
           or exists (select from oxbow.memory_vectors v
                       where v.user_id = _user_id and v.memory_type = _memory_type and v.memory_id = _id)
           or exists (select from oxbow.embedding_refusals r
                       where r.user_id = _user_id and r.memory_type = _memory_type and r.memory_id = _id
                         and r.model = _model)));
$$;
call oxbow.grant_worker('is_unembedded');

-- memories_in_queue returns the memories that unfinished embed jobs name.
create or replace function oxbow.memories_in_queue() returns table (user_id text, id text)
language sql stable set search_path = pg_catalog, pg_temp as $$
  select j.args ->> 'user_id', unnest(string_to_array(j.args ->> 'ids', ','))
    from oxbow.river_job j
   where j.kind = 'embed' and j.state in ('available', 'pending', 'retryable', 'running', 'scheduled');
$$;
call oxbow.grant_worker('memories_in_queue');

-- recount_terms corrects the statistics of a user and returns how many rows it changed. It locks the row
-- before counting: a transaction that indexes a memory adds to the row after it writes the terms, so
-- whatever is not counted here is added later. It does not wait long for that lock, because the other steps of sweep
-- wait meanwhile.
create or replace function oxbow.recount_terms(_user_id text) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '5s' as $$
declare _changed bigint;
begin
  perform from oxbow.memory_term_stats s where s.user_id = _user_id order by s.memory_type for update;
  update oxbow.memory_term_stats s set documents = n.documents, terms = n.terms
    from (select s.memory_type, count(t.memory_id) as documents, coalesce(sum(t.len), 0) as terms
            from oxbow.memory_term_stats s
            left join oxbow.memory_terms t on t.user_id = _user_id and t.memory_type = s.memory_type
           where s.user_id = _user_id
           group by s.memory_type) n
   where s.user_id = _user_id and s.memory_type = n.memory_type
     and (s.documents, s.terms) is distinct from (n.documents, n.terms);
  get diagnostics _changed = row_count;
  return _changed;
end $$;
call oxbow.grant_worker('recount_terms');

-- fold_activity adds up to _limit reports of accesses and uses to their memories and returns how many it
-- took. It deletes them in the same transaction, so none counts twice, and locks the memories in the order
-- of users and ids.
create or replace function oxbow.fold_activity(_limit integer) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  _rules constant oxbow.recall_rules := oxbow.recall_rules('', 'infinity'); -- no user's: only for strengths
  _now constant timestamptz := clock_timestamp();
  _taken bigint;
  _used jsonb;
  _use record;
  _users text[];
  _ids uuid[];
  _at timestamptz[];
begin
  with batch as (
    select user_id, id from oxbow.activity order by user_id, id limit _limit for update skip locked
  ), taken as (
    delete from oxbow.activity a using batch b where a.user_id = b.user_id and a.id = b.id
    returning a.user_id, a.memory_ids, a.used,
      least(greatest(a.at, '0001-01-01 00:00:00+00'), '9999-12-31 23:59:59.999999+00') as at -- earlier versions took any
  ), named as (
    select t.user_id, i.memory_id, t.at, t.used from taken t, unnest(t.memory_ids) i(memory_id)
  ), touched as (
    select user_id, memory_id, count(*) as times, max(at) as last, max(at) filter (where used) as used_at,
           count(*) filter (where used) as uses
      from named group by user_id, memory_id
  ), locked as (
    select m.user_id, m.memory_type, m.id, m as old, u.times, u.last, u.used_at, u.uses
      from touched u join oxbow.memories m on m.user_id = u.user_id and m.id = u.memory_id
     order by m.user_id, m.id
       for no key update of m
  ), folded as (
    update oxbow.memories m
       set access_count = least(m.access_count + l.times, 2147483647),
           last_accessed_at = greatest(m.last_accessed_at, l.last),
           strength = case when l.uses > 0 then oxbow.used_strength(m, l.used_at, l.uses, _rules) else m.strength end,
           review_at = case when l.uses > 0
             then oxbow.review_after(m, oxbow.used_strength(m, l.used_at, l.uses, _rules), l.used_at, _rules)
             else m.review_at end,
           used_at = greatest(m.used_at, l.used_at),
           activated_at = case when l.uses > 0 then greatest(coalesce(m.activated_at, m.created_at), l.used_at)
                               else m.activated_at end
      from locked l
     where m.user_id = l.user_id and m.memory_type = l.memory_type and m.id = l.id
    returning l.old, m as new, l.used_at, l.uses
  ), rules as materialized (
    select u.user_id, oxbow.recall_rules(u.user_id, 'infinity') as rules
      from (select distinct t.user_id from touched t where t.uses > 0) u
  )
  select (select count(*) from taken),
         (select jsonb_agg(jsonb_build_object('user_id', r.user_id, 'type', (f.new).memory_type, 'id', (f.new).id,
                   'at', f.used_at, 'uses', f.uses, 'before', oxbow.weight_of(f.old, _now, r.rules),
                   'after', oxbow.weight_of(f.new, _now, r.rules)) order by r.user_id, (f.new).id)
            from folded f join rules r on r.user_id = (f.new).user_id where f.uses > 0),
         (select array_agg(n.user_id) from named n where n.used),
         (select array_agg(n.memory_id) from named n where n.used),
         (select array_agg(n.at) from named n where n.used)
    into _taken, _used, _users, _ids, _at;
  perform oxbow.use_links(_users, _ids, _at);
  for _use in
    select * from jsonb_to_recordset(_used) t(user_id text, type text, id uuid, at timestamptz, uses bigint,
                                              before double precision, after double precision)
  loop
    if _use.type = 'trait' then
      perform oxbow.use_trait(_use.user_id, _use.id, _use.at, 'app');
    else
      perform oxbow.log_weight(_use.user_id, _use.type, _use.id, _now, 'used', _use.before, _use.after, _use.uses,
                               'app');
    end if;
  end loop;
  return _taken;
end $$;
call oxbow.grant_worker('fold_activity');
