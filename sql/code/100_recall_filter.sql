-- The filter of recall decides which memories may be found. docs/contributing.md shows how to add a filter.

-- recall_stage returns the stage of a trait at the filter's moment, and null for other memories.
create or replace function oxbow.recall_stage(_memory oxbow.memories, _filter oxbow.recall_filter) returns text
language sql immutable parallel safe
return case when _memory.memory_type <> 'trait' then null
            when (_filter).stages is not null then (_filter).stages #>> array[_memory.id::text, 'stage']
            else oxbow.trait_stage_now(_memory.trait_stage, _memory.trait_next_transition_at, _memory.trait_confidence,
                   _memory.trait_subtype, _memory.trait_reinforcement_count, _memory.trait_confidence_at,
                   _memory.trait_window_end, (_filter).now, (_filter).rules) end;

-- repeats reports whether a superseded memory only repeated the one that superseded it, or was attached to it.
create or replace function oxbow.repeats(_memory oxbow.memories) returns boolean
language sql stable parallel safe
return oxbow.is_attached(_memory) or exists (select from oxbow.memories s
                where s.user_id = (_memory).user_id and s.memory_type = (_memory).memory_type
                  and s.id = (_memory).superseded_by and s.content_hash = (_memory).content_hash);

-- recall_passes reports whether a memory passes the filter. With history, versions that have ended pass too, unless they
-- became true after valid or, with now, are past expires_at. Versions that were never true then pass only without now, and
-- not if they merely repeat another. In the mode debug, forgotten and ended memories pass too; in the mode normal, only
-- summaries and full memories with enough weight pass. The planner inlines this function, so the call costs nothing.
create or replace function oxbow.recall_passes(_memory oxbow.memories, _filter oxbow.recall_filter) returns boolean
language sql stable parallel safe
return _memory.sensitivity < 2
   and ((_filter).mode is not distinct from 'debug'
     or oxbow.recallable(_memory.forgotten_at, _memory.memory_type, oxbow.recall_stage(_memory, _filter))
   and case when (_filter).history and _memory.memory_type <> 'trait'
     then coalesce(_memory.valid_at, _memory.created_at) <= coalesce((_filter).valid, 'infinity')
       and coalesce(_memory.expires_at > (_filter).now, true)
       and (_memory.expired_at is null
         or _memory.invalid_at > coalesce(_memory.valid_at, _memory.created_at)
         or (_filter).now is null
           and (_memory.superseded_by is null or _memory.invalid_at is null or not oxbow.repeats(_memory)))
     else oxbow.holds(_memory.created_at, _memory.expired_at, _memory.valid_at, _memory.invalid_at,
         (_filter).valid, (_filter).believed, (_filter).now, _memory.former_ends, _memory.expires_at) end)
   and ((_filter).mode is distinct from 'normal' or _memory.memory_type = 'trait'
     or _memory.level in ('full', 'summary')
        and oxbow.weight_of(_memory, (_filter).now, (_filter).rule) >= ((_filter).rule).recall_normal_weight)
   and ((_filter).agent is null or _memory.agent_id = (_filter).agent)
   and ((_filter).metadata is null or _memory.metadata @> (_filter).metadata)
   and ((_filter).contexts is null
     or coalesce(_memory.trait_context, _memory.metadata ->> 'context') = any((_filter).contexts));

-- recall_is_filtered reports whether a user has any memory that fails a filter without conditions: an
-- ended, expired, forgotten or secret one, or a trait that is not recallable. If not, the channels check nothing. An
-- archived memory does not count, because they do not find it.
create or replace function oxbow.recall_is_filtered(_user_id text, _filter oxbow.recall_filter) returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
begin
  return exists (select from oxbow.memories m
                  where m.user_id = _user_id and m.level <> 'archive'
                    and case when m.expired_at is null and m.forgotten_at is null
                             then least(m.invalid_at, m.expires_at) else '-infinity' end <= _filter.now)
    or exists (select from oxbow.memories m where m.user_id = _user_id and m.sensitivity >= 2)
    or exists (
         select from oxbow.memories_trait m
          where m.user_id = _user_id and m.expired_at is null
            and not oxbow.recallable(null, 'trait', oxbow.trait_stage_now(m.trait_stage, m.trait_next_transition_at,
                  m.trait_confidence, m.trait_subtype, m.trait_reinforcement_count, m.trait_confidence_at,
                  m.trait_window_end, _filter.now, _filter.rules)));
end $$;

-- recall_checked returns the maximum number of candidates that a channel checks to find _limit.
create or replace function oxbow.recall_checked(_limit integer) returns integer
language sql immutable parallel safe
return greatest(1000, 2 * _limit);

-- recall_allows is recall_passes for a statement that rarely calls it: inlining would slow down the start
-- of each execution.
create or replace function oxbow.recall_allows(_memory oxbow.memories, _filter oxbow.recall_filter) returns boolean
language plpgsql stable as $$
begin
  return oxbow.recall_passes(_memory, _filter);
end $$;

-- recall_passing returns the first _limit of a channel's candidates that pass the filter, in order. few
-- reports whether the channel must list the passing memories instead (recall_listed): the result is not
-- full, and either candidates remain unchecked or, with a hundred or more candidates, fewer than a tenth
-- pass.
create or replace function oxbow.recall_passing(_user_id text, _limit integer, _filter oxbow.recall_filter,
  inout ids uuid[], inout types text[], inout scores double precision[], out few boolean)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
declare
  _candidates constant integer := coalesce(cardinality(ids), 0);
begin
  select array_agg(p.id), array_agg(p.type), array_agg(p.score) into ids, types, scores
    from (select c.id, c.type, c.score from unnest(ids, types, scores) c(id, type, score)
           where (select oxbow.recall_passes(m, _filter) from oxbow.memories m
                   where m.user_id = _user_id and m.memory_type = c.type and m.id = c.id)
           limit _limit) p;
  few := coalesce(cardinality(ids), 0) < _limit and (_candidates >= oxbow.recall_checked(_limit)
    or _candidates >= 100 and coalesce(cardinality(ids), 0) < 0.1 * _candidates);
end $$;

-- recall_listed returns the filter with the list of the user's memories that pass. A channel checks its
-- best candidates one by one, which is cheap while many pass. If few pass, listing all that do is cheaper.
create or replace function oxbow.recall_listed(_user_id text, _types text[], _filter oxbow.recall_filter)
returns oxbow.recall_filter
language plpgsql stable set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_custom_plan set enable_seqscan = off set jit = off as $$
#variable_conflict error
begin
  select coalesce(array_agg(m.id), '{}'), coalesce(array_agg(m.memory_type::text), '{}')
    into _filter.ids, _filter.types
    from oxbow.memories m
   where m.user_id = _user_id and m.memory_type = any(_types) and m.level <> 'archive'
     and oxbow.recall_passes(m, _filter);
  return _filter;
end $$;
