-- Deep reflection at night (job sleep): when it is due, what it may use, and what it asks. See docs/traits.md.

-- is_quiet reports whether it is between quiet_from and quiet_to by the user's clock. From 22 to 5 is over midnight;
-- from 3 to 3 is always.
create or replace function oxbow.is_quiet(_user_id text, _at timestamptz) returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  _hour constant double precision := extract(hour from _at at time zone
    coalesce((select u.timezone from oxbow.users u where u.user_id = _user_id), 'UTC'));
  _from constant double precision := floor(oxbow.policy('quiet_from'));
  _to constant double precision := floor(oxbow.policy('quiet_to'));
begin
  return case when _from < _to then _hour >= _from and _hour < _to else _hour >= _from or _hour < _to end;
end $$;
call oxbow.grant_worker('is_quiet');

-- next_quiet returns when the next quiet hours of a user begin, after a moment.
create or replace function oxbow.next_quiet(_user_id text, _after timestamptz) returns timestamptz
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  _zone constant text := coalesce((select u.timezone from oxbow.users u where u.user_id = _user_id), 'UTC');
  _from constant interval := make_interval(hours => floor(oxbow.policy('quiet_from'))::integer);
  _day constant timestamp := date_trunc('day', _after at time zone _zone);
begin
  return case when (_day + _from) at time zone _zone > _after then (_day + _from) at time zone _zone
    else (_day + interval '1 day' + _from) at time zone _zone end;
end $$;
call oxbow.grant_worker('next_quiet');

-- plan_night makes a deep reflection due at the next quiet hours, unless one is planned or has begun.
create or replace function oxbow.plan_night(_user_id text, _now timestamptz) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if oxbow.policy('sleep_questions') >= 1 then
    insert into oxbow.nights as n (user_id, due_at) values (_user_id, oxbow.next_quiet(_user_id, _now))
    on conflict (user_id) do update set due_at = excluded.due_at where n.due_at = 'infinity';
  end if;
end $$;
call oxbow.grant_worker('plan_night');

-- night returns what the night of a user may still use. over: the quiet hours have ended. awake: a conversation is
-- going on. fresh: nothing has been asked yet.
create or replace function oxbow.night(_user_id text, _now timestamptz)
returns table (over boolean, awake boolean, spent boolean, recalls integer, fresh boolean)
language sql stable set search_path = pg_catalog, pg_temp as $$
  select not oxbow.is_quiet(_user_id, _now),
         exists (select from oxbow.sessions s
                  where s.user_id = _user_id and s.ended_at is null
                    and greatest(s.last_activity_at, s.ended_at) > coalesce(s.last_reflected_at, '-infinity')
                    and s.last_activity_at > _now - make_interval(secs => 60 * oxbow.policy('reflection_idle_minutes'))),
         coalesce(n.questions, 0) >= oxbow.policy('sleep_questions')
           or coalesce(n.memories, 0) >= oxbow.policy('sleep_memories')
           or n.began_at is not null and coalesce(
                (select sum(c.prompt_tokens + c.completion_tokens) from oxbow.llm_calls c
                  where c.user_id = _user_id and c.started_at >= n.began_at), 0) >= oxbow.policy('sleep_tokens'),
         least(oxbow.policy('sleep_recall'), oxbow.policy('sleep_memories') - coalesce(n.memories, 0))::integer,
         n.began_at is null
    from (select) one left join oxbow.nights n on n.user_id = _user_id;
$$;
call oxbow.grant_worker('night');

-- next_question returns the question to ask next: an open pattern with new evidence since it was last asked. Open are
-- patterns with clues, trends, candidates, and traits that evidence contradicts. Patterns that many others share
-- (pattern_counts) come first, then those with the most evidence. It reads the latest 1,000 clues.
create or replace function oxbow.next_question(_user_id text) returns table (key text, content text)
language sql stable set search_path = pg_catalog, pg_temp as $$
  with clue as (
    select c.key, (array_agg(c.content order by c.created_at desc))[1] as content, count(*) as n, max(c.created_at) as at
      from (select c.* from oxbow.trait_clues c where c.user_id = _user_id order by c.created_at desc limit 1000) c
     group by c.key
  ), open as (
    select c.key, c.content, c.n, c.at from clue c
     where not exists (select from oxbow.memories_trait m
                        where m.user_id = _user_id and m.trait_key = c.key and m.expired_at is null
                          and m.forgotten_at is null)
    union all
    select coalesce(m.trait_key, m.id::text), m.content, m.trait_reinforcement_count + m.trait_contradiction_count,
           greatest(m.trait_last_reinforced, m.created_at,
             (select max(e.created_at) from oxbow.trait_evidence e where e.user_id = _user_id and e.trait_id = m.id))
      from oxbow.memories_trait m
     where m.user_id = _user_id and m.expired_at is null and m.forgotten_at is null
       and (m.trait_stage in ('trend', 'candidate')
            or m.trait_stage in ('emerging', 'established', 'core') and m.trait_contradiction_count > 0)
  )
  select o.key, o.content
    from open o
    left join oxbow.night_questions q on q.user_id = _user_id and q.hash = oxbow.trait_hash(o.key)
   where q.asked_at is null or q.asked_at < o.at
   order by exists (select from oxbow.pattern_counts p where p.pattern = o.key) desc, o.n desc, o.at desc, o.key limit 1;
$$;
call oxbow.grant_worker('next_question');

-- note_question records that a question was asked, with the number of memories recalled for it.
create or replace function oxbow.note_question(_user_id text, _key text, _memories integer, _now timestamptz) returns void
language sql set search_path = pg_catalog, pg_temp as $$
  insert into oxbow.nights as n (user_id, due_at, began_at, questions, memories)
  values (_user_id, _now, _now, 1, _memories)
  on conflict (user_id) do update
    set began_at = coalesce(n.began_at, excluded.began_at), questions = n.questions + 1,
        memories = n.memories + excluded.memories;
  insert into oxbow.night_questions (user_id, hash, asked_at)
  values (_user_id, oxbow.trait_hash(_key), greatest(_now, clock_timestamp()))
  on conflict (user_id, hash) do update set asked_at = excluded.asked_at;
$$;
call oxbow.grant_worker('note_question');

-- end_night ends a night. The next reflection plans the next one; if questions are left (_again), it is planned now.
create or replace function oxbow.end_night(_user_id text, _now timestamptz, _again boolean) returns void
language sql set search_path = pg_catalog, pg_temp as $$
  update oxbow.nights n
     set due_at = case when _again then oxbow.next_quiet(_user_id, _now) else 'infinity' end,
         began_at = null, questions = 0, memories = 0
   where n.user_id = _user_id;
$$;
call oxbow.grant_worker('end_night');
