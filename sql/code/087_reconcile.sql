-- Reconciliation: facts that an application stored are compared with the user's current facts about the same subject,
-- and replace or repeat them, as statements in a conversation do.

-- facts_about returns the newest current facts of a user about the given subjects, at most _limit for each subject. It
-- leaves out facts that will expire, because a lasting fact is not a repetition of them.
create or replace function oxbow.facts_about(_user_id text, _about text[], _limit integer)
returns table (id uuid, content text, speaker text, category text, at timestamptz, about text[])
language plpgsql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
#variable_conflict error
begin
  return query
  select f.id, f.content, f.speaker, f.category, f.at,
         array(select s.about from oxbow.fact_subjects s where s.user_id = _user_id and s.memory_id = f.id)
    from (
      select distinct m.*
        from (select distinct left(a.about, 200) as about from unnest(_about) a(about)) a
       cross join lateral (
         select m.id, m.content, coalesce(m.speaker, '') as speaker, coalesce(m.category, '') as category,
                coalesce(m.valid_at, m.created_at) as at, m.created_at
           from oxbow.fact_subjects s
          cross join lateral (select m.* from oxbow.memories_fact m
                               where m.user_id = _user_id and m.id = s.memory_id offset 0) m
          where s.user_id = _user_id and s.about = a.about
            and m.expired_at is null and m.forgotten_at is null and m.sensitivity < 2
            and (m.invalid_at is null or m.invalid_at > now()) and m.expires_at is null
          order by m.created_at desc, m.id
          limit _limit) m) f
   order by f.created_at desc, f.id;
end $$;
call oxbow.grant_worker('facts_about');

-- reconciles reports whether the facts of a user are reconciled: users.reconcile, or else the setting reconcile.
create or replace function oxbow.reconciles(_user_id text) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  select not coalesce(u.opted_out, false)
         and coalesce(u.reconcile, (select (s.value ->> 'enabled')::boolean from oxbow.settings s
                                     where s.key = 'reconcile'), true)
    from (values (1)) one left join oxbow.users u on u.user_id = _user_id;
$$;
call oxbow.grant_worker('reconciles');

-- facts_to_reconcile returns those of the given facts that are current, in the order in which they became true, and
-- the number of the user's writes so far, by which the writer notices other writes. A fact that will expire replaces no
-- other. category is one of the six of W, or empty. It returns no facts for a user whose facts are not reconciled.
create or replace function oxbow.facts_to_reconcile(_user_id text, _ids uuid[])
returns table (id uuid, content text, speaker text, category text, at timestamptz, number bigint)
language plpgsql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
  set enable_seqscan = off set jit = off as $$
#variable_conflict error
begin
  if not oxbow.reconciles(_user_id) then
    return;
  end if;
  return query
  select m.id, m.content, coalesce(m.speaker, ''), coalesce(oxbow.category_of(m.category), ''),
         coalesce(m.valid_at, m.created_at),
         coalesce((select x.number from oxbow.extractions x where x.user_id = _user_id), 0)::bigint
    from unnest(_ids) i(id)
   cross join lateral (select m.* from oxbow.memories_fact m
                        where m.user_id = _user_id and m.id = i.id offset 0) m
   where m.expired_at is null and m.forgotten_at is null and m.sensitivity < 2
     and (m.invalid_at is null or m.invalid_at > now()) and m.expires_at is null
   order by coalesce(m.valid_at, m.created_at), m.seq, m.id;
end $$;
call oxbow.grant_worker('facts_to_reconcile');

-- reconcile_facts writes the decisions about facts that are stored already. The caller holds the user's lock.
--   _facts  as for apply_operations, and "about": [subjects]. A fact without a category gets the given one.
create or replace function oxbow.reconcile_facts(_user_id text, _actor text, _facts json, out updated integer,
  out deleted integer, out mentioned integer)
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
  set enable_seqscan = off as $$
#variable_conflict error
declare
  _rules constant oxbow.recall_rules := oxbow.recall_rules(_user_id, 'infinity');
  _now constant timestamptz := clock_timestamp();
  _fact oxbow.memories;
  _after double precision;
  _current bigint;
begin
  -- Lock the facts first, as erase_user does, which then waits. The decisions are out of date if one of the facts has
  -- ended since: a forgotten fact must not replace another.
  perform from json_to_recordset(_facts) f (id uuid)
    join oxbow.memories_fact m on m.user_id = _user_id and m.id = f.id
   where m.expired_at is null and m.forgotten_at is null and m.sensitivity < 2
     and (m.invalid_at is null or m.invalid_at > now())
   order by m.id for no key update of m;
  get diagnostics _current = row_count;
  if _current < json_array_length(_facts) then
    raise exception using errcode = 'OX105', message = format('a fact of user %L is no longer current', _user_id);
  end if;
  insert into oxbow.fact_subjects (user_id, about, memory_id)
  select distinct _user_id, left(a.about, 200), f.id
    from json_to_recordset(_facts) f (id uuid, about text[]), unnest(f.about) a(about)
   order by 2, 3
  on conflict do nothing;
  for _fact in
    update oxbow.memories m set category = f.category
      from json_to_recordset(_facts) f (id uuid, category text)
     where m.user_id = _user_id and m.memory_type = 'fact' and m.id = f.id and m.category is null
       and f.category <> 'fact' -- facts without a category, which are most, count as fact: see weight_importance
    returning m.*
  loop
    continue when oxbow.weight_importance(_fact.category, _rules) = oxbow.weight_importance(null, _rules);
    _after := oxbow.weight_of(_fact, _now, _rules);
    _fact.category := null;
    perform oxbow.log_weight(_user_id, 'fact', _fact.id, _now, 'classified', oxbow.weight_of(_fact, _now, _rules),
                             _after, 1, _actor);
  end loop;
  select o.updated, o.deleted, o.mentioned into updated, deleted, mentioned
    from oxbow.apply_operations(_user_id, _actor, _facts,
           array(select f.id from json_to_recordset(_facts) f (id uuid))) o;
  perform oxbow.relate_memories(_user_id, array(select f.id from json_to_recordset(_facts) f (id uuid, about json)
                                                 where json_array_length(f.about) > 0));
  insert into oxbow.extractions as x (user_id, number) values (_user_id, 1)
  on conflict (user_id) do update set number = x.number + 1;
end $$;
call oxbow.grant_worker('reconcile_facts');
