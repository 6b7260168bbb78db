-- Strategies: how the job molt tries other values of policies on past replies, and changes them (U §10).

-- replay_answer asks the question of a reply again with other values of policies, and returns the ids that recall
-- finds, best first. It returns null if the answer is gone or its memories are locked. All changes are made in a
-- subtransaction that is always rolled back, so no other session sees them, or waits longer than one recall. The
-- subtransaction also takes back the uses of memories by and since the reply, because they would favour the memories
-- that it used.
create or replace function oxbow.replay_answer(_user_id text, _id uuid, _embedding real[], _changes jsonb,
  _depth integer) returns uuid[]
language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
#variable_conflict error
declare
  a oxbow.answers;
  c record;
  _found uuid[];
begin
  select * into a from oxbow.answers o where o.user_id = _user_id and o.id = _id;
  if not found then
    return null;
  end if;
  begin
    perform set_config('lock_timeout', '100ms', true);
    update oxbow.memories m
       set strength = greatest(m.strength - u.times * oxbow.policy('memory_strength_used'), least(m.strength, 1)),
           used_at = u.before,
           activated_at = greatest(u.before, (select max(n.at) from unnest(m.mentions) n where n.at < a.at))
      from (select i.id, count(*) as times,
                   (select max(b.at) from (select b.at, b.used from oxbow.answers b
                                            where b.user_id = _user_id and b.at < a.at
                                            order by b.at desc limit 100) b
                     where i.id = any(b.used)) as before
              from (select b.used from oxbow.answers b
                     where b.user_id = _user_id and b.at >= a.at order by b.at desc limit 100) b
             cross join lateral unnest(b.used) i(id)
             group by i.id) u
     where m.user_id = _user_id and m.id = u.id and m.memory_type <> 'trait' and m.used_at >= a.at;
    for c in select j.key, j.value::double precision as value from jsonb_each_text(_changes) j order by j.key loop
      insert into oxbow.policy_changes (name, valid_from, value)
      select c.key, greatest(clock_timestamp(), max(p.valid_from) + interval '1 microsecond'), c.value
        from oxbow.policy_changes p;
    end loop;
    select coalesce(array_agg(r.id order by r.nth), '{}') into _found
      from oxbow.recall(_user_id, a.query, _embedding::halfvec, max_results => _depth)
             with ordinality r(id, memory_type, content, score, valid_at, invalid_at, created_at, expired_at, session_id,
               seq, speaker, agent_id, external_id, category, importance, metadata, explain, modality, reference,
               attachments, nth);
    raise exception using errcode = 'OX199';
  exception
    when sqlstate 'OX199' then
      return _found;
    when lock_not_available then
      return null;
  end;
end $$;
do $$
begin
  execute format('alter function oxbow.replay_answer set search_path = pg_catalog, %I, pg_temp',
    (select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector'));
end $$;
alter function oxbow.replay_answer security definer;
call oxbow.grant_worker('replay_answer');

-- replayed_answers returns the latest _limit replies of all users that used a memory (with _unused, all replies), among
-- the latest 20 · _limit. Those of users who opted out do not count. A memory that people complained about counts as
-- not used. faded is the number of used memories that are compressed; conflicting is the number of recalled memories
-- that are negated or contradicted.
create or replace function oxbow.replayed_answers(_limit integer, _before timestamptz default 'infinity',
  _after timestamptz default '-infinity', _unused boolean default false)
returns table (user_id text, id uuid, at timestamptz, query text, recalled uuid[], used uuid[], faded integer,
  conflicting integer)
language sql stable set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
  select a.user_id, a.id, a.at, a.query, a.recalled, coalesce(good.used, '{}'),
         (select count(*)::integer from oxbow.memories m
           where m.user_id = a.user_id and m.id = any(a.used) and m.level <> 'full'),
         (select count(*)::integer from oxbow.memories m
           where m.user_id = a.user_id and m.id = any(a.recalled) and m.forgotten_at is null
             and (m.negated_at is not null or exists (
               select from oxbow.memory_links l
                where l.user_id = m.user_id and l.to_type = m.memory_type and l.to_id = m.id
                  and l.relation = 'contradicts')))
    from (select a.* from (select a.* from oxbow.answers a
                            where a.at < _before and a.at > _after order by a.at desc limit 20 * _limit) a
           where (_unused or a.used <> '{}') and a.query <> ''
             and not exists (select from oxbow.users u where u.user_id = a.user_id and u.opted_out)
           order by a.at desc limit _limit) a
   cross join lateral (
     select array_agg(u.id order by u.nth) as used from unnest(a.used) with ordinality u(id, nth)
      where not exists (
        select from oxbow.memories m
          join oxbow.feedback_subjects f on f.user_id = m.user_id and f.memory_type = m.memory_type
           and f.memory_id = m.id and f.share > 0.3
          join oxbow.feedback_signals s on s.user_id = f.user_id and s.id = f.signal_id
         where m.user_id = a.user_id and m.id = u.id and s.answer_id = a.id and s.type = 'negative'
           and s.confidence >= oxbow.policy('feedback_confidence'))) good
   where _unused or good.used <> '{}'
   order by a.at desc;
$$;
call oxbow.grant_worker('replayed_answers');

-- propose_policy proposes a change of a policy, which the job molt then tries. It returns the version of the proposal,
-- or of an equal one that already waits.
create or replace function oxbow.propose_policy(name text, value double precision, cause text,
  about text default 'request') returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
declare
  d oxbow.policy_definitions;
  _changes constant jsonb := jsonb_build_object(propose_policy.name, propose_policy.value);
  _version bigint;
begin
  select * into d from oxbow.policy_definitions p where p.name = propose_policy.name;
  if not found then
    perform oxbow.reject('name', propose_policy.name, 'must be a policy in the view oxbow.policies');
  elsif d.name like 'molt\_%' then
    perform oxbow.reject('name', d.name, 'must not be a policy of the job molt itself');
  elsif propose_policy.value is null or not propose_policy.value between d.minimum and d.maximum then
    perform oxbow.reject('value', propose_policy.value::text,
      format('of %s must be between %s and %s', d.name, d.minimum, d.maximum));
  end if;
  select s.version into _version from oxbow.strategies s
   where s.state in ('proposed', 'tried') and s.changes = _changes order by s.version desc limit 1;
  if found then
    return _version;
  end if;
  insert into oxbow.strategies as s (about, cause, changes, actor)
  values (propose_policy.about, coalesce(propose_policy.cause, 'proposed'), _changes, oxbow.caller())
  returning s.version into _version;
  return _version;
end $$;
call oxbow.grant_worker('propose_policy');

-- propose_from_feedback proposes other values of policies because of complaints, and returns the number of proposals.
-- If memories are often outdated, weights decay twice as fast; if they are mentioned too much, recall leaves out more.
-- At least feedback_people different people must have made the same complaint since the policy was last changed or
-- proposed, among the latest 1,000 signals within feedback_window_days, and they must outnumber the people who were
-- helped. If the previous proposal was rejected but did no harm, the next one goes further. While molt_mode is 0,
-- nothing is proposed.
create or replace function oxbow.propose_from_feedback(_now timestamptz) returns integer
language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
  _days constant double precision := oxbow.policy('feedback_window_days');
  c record;
  _n integer := 0;
begin
  if oxbow.policy('molt_mode') = 0 then
    return 0;
  end if;
  for c in
    with said as materialized (
      select s.user_id, s.kind, s.at from oxbow.feedback_signals s
       where s.source = 'explicit' and s.at > _now - make_interval(secs => 86400 * _days)
       order by s.at desc limit 1000
    )
    select p.name, p.kind, people.complain,
           least(d.maximum, case p.name when 'weight_decay' then 2 * last.value
                                        else round((last.value + 0.2)::numeric, 6) end) as value
      from (values ('weight_decay', 'outdated'), ('recall_threshold', 'too_much')) p(name, kind)
      join oxbow.policy_definitions d on d.name = p.name
     cross join lateral (
       select max(h.valid_from) as at from oxbow.policy_changes h where h.name = p.name) changed
     cross join lateral (
       select greatest(changed.at, max(s.at), max(s.ended_at) + make_interval(
                secs => 86400 * oxbow.policy('molt_rest_days'))) as since,
              greatest(oxbow.policy(p.name), max((s.changes ->> p.name)::double precision) filter (
                where s.about = p.kind and s.state = 'rejected' and s.metric_after >= s.metric_before
                  and s.at > coalesce(changed.at, '-infinity'))) as value
         from oxbow.strategies s where s.changes ? p.name) last
     cross join lateral (
       select count(distinct s.user_id) filter (where s.kind = p.kind) as complain,
              count(distinct s.user_id) filter (where s.kind = 'helpful') as helped
         from said s
        where s.at > coalesce(last.since, '-infinity')
          and not exists (select from oxbow.users u where u.user_id = s.user_id and u.opted_out)) people
     where people.complain >= oxbow.policy('feedback_people') and people.complain > people.helped
       and last.value < d.maximum
       and not exists (select from oxbow.strategies s where s.changes ? p.name and s.state in ('proposed', 'tried'))
  loop
    perform oxbow.propose_policy(c.name, c.value, case c.kind
      when 'outdated' then format('%s people said within %s days that memories are outdated.', c.complain, _days)
      else format('%s people said within %s days that memories are mentioned too often.', c.complain, _days) end, c.kind);
    _n := _n + 1;
  end loop;
  return _n;
end $$;
call oxbow.grant_worker('propose_from_feedback');

-- note_trial records how a proposal did on past replies: it becomes rejected, or tried, so that adopt_strategy may
-- adopt it. It has no effect on a strategy that was adopted or rejected.
create or replace function oxbow.note_trial(_version bigint, _gained boolean, _metric text, _answers integer,
  _before double precision, _after double precision, _low double precision) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
  update oxbow.strategies s
     set state = case when _gained then 'tried' else 'rejected' end, metric = _metric, answers = _answers,
         metric_before = _before, metric_after = _after, low = _low, tried_at = clock_timestamp(),
         ended_at = case when _gained then null else clock_timestamp() end
   where s.version = _version and s.state in ('proposed', 'tried');
$$;
call oxbow.grant_worker('note_trial');

-- adopt_strategy sets the policies of a strategy, and keeps the previous values. Adopting it again has no effect. Like
-- set_policy, call it outside a transaction block.
create or replace function oxbow.adopt_strategy(version bigint, live_before double precision default null) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
declare
  s oxbow.strategies;
begin
  select * into s from oxbow.strategies o where o.version = adopt_strategy.version for update;
  if not found then
    raise exception using errcode = 'OX136', message = format('no strategy has the version %s', adopt_strategy.version);
  elsif s.state = 'adopted' then
    return;
  end if;
  update oxbow.strategies o
     set state = 'adopted', adopted_at = clock_timestamp(), judged_at = null, ended_at = null,
         live_before = adopt_strategy.live_before, live_after = null,
         previous = (select jsonb_object_agg(k, oxbow.policy(k)) from jsonb_object_keys(s.changes) k)
   where o.version = s.version;
  perform oxbow.set_policy(j.key, j.value::double precision) from jsonb_each_text(s.changes) j;
end $$;
call oxbow.grant_worker('adopt_strategy');
call oxbow.grant_operator('adopt_strategy');

-- judge_strategy records the comparison of an adopted strategy with the time before it, and rolls it back if it did
-- worse.
create or replace function oxbow.judge_strategy(_version bigint, _before double precision, _after double precision,
  _worse boolean) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  update oxbow.strategies s set judged_at = clock_timestamp(), live_before = _before, live_after = _after
   where s.version = _version and s.state = 'adopted' and s.judged_at is null;
  if found and _worse then
    perform oxbow.rollback_strategy(_version);
  end if;
end $$;
call oxbow.grant_worker('judge_strategy');

-- rollback_strategy restores the values that a strategy replaced, except those that were changed since. Rolling it back
-- again has no effect.
create or replace function oxbow.rollback_strategy(version bigint) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
declare
  s oxbow.strategies;
begin
  select * into s from oxbow.strategies o where o.version = rollback_strategy.version for update;
  if not found or s.state not in ('adopted', 'rolled_back') then
    raise exception using errcode = 'OX136',
      message = format('no adopted strategy has the version %s', rollback_strategy.version);
  elsif s.state = 'rolled_back' then
    return;
  end if;
  update oxbow.strategies o set state = 'rolled_back', ended_at = clock_timestamp() where o.version = s.version;
  perform oxbow.set_policy(j.key, j.value::double precision)
     from jsonb_each_text(s.previous) j
    where oxbow.policy(j.key) = (s.changes ->> j.key)::double precision;
end $$;
call oxbow.grant_operator('rollback_strategy');

-- set_molt_mode sets the mode of the job molt: off, suggest or auto. Call it outside a transaction block, as set_policy.
create or replace function oxbow.set_molt_mode(mode text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
declare
  _value constant integer := array_position(array['off', 'suggest', 'auto'], set_molt_mode.mode) - 1;
begin
  if _value is null then
    perform oxbow.reject('mode', set_molt_mode.mode, 'must be off, suggest or auto');
  end if;
  perform oxbow.set_policy('molt_mode', _value);
end $$;
call oxbow.grant_operator('set_molt_mode');

-- make_dense_topics_due marks topics with enough fragments as due for the job abstract, at most 20 of each user, and
-- returns the users with such topics.
create or replace function oxbow.make_dense_topics_due(_user_ids text[]) returns setof text
language sql set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
  with due as (
    update oxbow.topics t set due = true
      from unnest(_user_ids) u(user_id)
     cross join lateral (select d.topic from oxbow.topics d
                          where d.user_id = u.user_id and not d.due and not d.refused and not d.concluded
                            and d.pending >= oxbow.policy('abstract_fragments')
                          order by d.topic limit 20 for update skip locked) d
     where t.user_id = u.user_id and t.topic = d.topic
    returning t.user_id
  )
  select distinct d.user_id from due d;
$$;
call oxbow.grant_worker('make_dense_topics_due');

-- why_strategy explains a strategy in sentences, in English or, with a language that begins with zh, in Chinese:
-- origin, basis, kept, used and fades, as why does for the data of a user.
create or replace function oxbow.why_strategy(version bigint, language text default 'en')
returns table (aspect text, sentence text)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
declare
  _zh constant boolean := coalesce(lower(why_strategy.language) like 'zh%', false);
  s oxbow.strategies;
  _changes text;
begin
  select * into s from oxbow.strategies o where o.version = why_strategy.version;
  if not found then
    raise exception using errcode = 'OX136', message = format('no strategy has the version %s', why_strategy.version);
  end if;
  select string_agg(case
           when s.previous is null then format(case when _zh then '把%s设为%s' else '%s to %s' end, c.key, c.value)
           else format(case when _zh then '把%s从%s改为%s' else '%s from %s to %s' end, c.key, s.previous ->> c.key, c.value)
         end, case when _zh then '、' else ', ' end order by c.key)
    into _changes from jsonb_each_text(s.changes) c;
  aspect := 'origin';
  sentence := case when _zh then format('它在%s提出，%s。原因：%s', oxbow.why_day(s.at, 'UTC'), _changes, case s.about
      when 'recall' then case s.metric when 'f1' then '召回的记忆大多没有被用到。' else '回答用到的记忆在召回里排得太后。' end
      when 'decay' then '回答用到的记忆已经变弱。' when 'conflict' then '召回的记忆里有很多被否定或互相矛盾。'
      when 'outdated' then '很多人说记忆已经过时。' when 'too_much' then '很多人说有些记忆提得太多。'
      else s.cause end)
    else format('It was proposed on %s and sets %s. Cause: %s', oxbow.why_day(s.at, 'UTC'), _changes, s.cause) end;
  return next;
  if s.tried_at is not null then
    aspect := 'basis';
    sentence := case when _zh then format('用%s个过去的回答试过：%s从%s变为%s，以95%%的把握至少变化%s。', s.answers, s.metric,
        round(s.metric_before::numeric, 3), round(s.metric_after::numeric, 3), round(s.low::numeric, 3))
      else format('It was tried on %s past replies: %s went from %s to %s, a change of at least %s with a certainty of 95%%.',
        s.answers, s.metric, round(s.metric_before::numeric, 3), round(s.metric_after::numeric, 3),
        round(s.low::numeric, 3)) end;
    return next;
  end if;
  aspect := 'kept';
  sentence := case s.state
    when 'proposed' then case when _zh then '它还没有试过。' else 'It has not been tried yet.' end
    when 'tried' then case when _zh then '它更好，等待采用。' else 'It did better, and can be adopted.' end
    when 'rejected' then format(case when _zh then '提升不够或不够确定，它在%s被拒绝。'
      else 'The gain was too small or not certain, so it was rejected on %s.' end, oxbow.why_day(s.ended_at, 'UTC'))
    else format(case when _zh then '它在%s被采用。' else 'It was adopted on %s.' end, oxbow.why_day(s.adopted_at, 'UTC')) end;
  return next;
  if s.judged_at is not null then
    aspect := 'used';
    sentence := format(case when _zh then '采用以前的回答的%s是%s，以后是%s。'
      else 'The %s of the replies was %s before it was adopted, and %s since then.' end, coalesce(s.metric, 'mrr'),
      round(s.live_before::numeric, 3), round(s.live_after::numeric, 3));
    return next;
  end if;
  if s.state in ('adopted', 'rolled_back') then
    aspect := 'fades';
    sentence := case
      when s.state = 'rolled_back' then format(case when _zh then '它在%s被撤销，原来的值恢复了。'
        else 'It was rolled back on %s, and the previous values returned.' end, oxbow.why_day(s.ended_at, 'UTC'))
      when s.judged_at is not null then case when _zh then '它一直有效，可以撤销。' else 'It is in force, and can be rolled back.' end
      when _zh then '它有效；等有足够的回答时会与以前比较，变差就撤销。'
      else 'It is in force. When enough replies have followed, they are compared with those before, and it is rolled back if they are worse.'
        end;
    return next;
  end if;
end $$;
call oxbow.grant_operator('why_strategy');
