-- Neighbours: in a conversation, the answer is often next to the turn that matches.

-- recall_neighbours returns the two memories before and the two after a memory in its conversation, within
-- an hour, and the share of its score that each receives: half for the nearest, a quarter for the next. Archived
-- memories are no neighbours. The planner inlines it.
create or replace function oxbow.recall_neighbours(_user_id text, _type text, _session_id text, _seq bigint,
  _at timestamptz, _filter oxbow.recall_filter) returns table (id uuid, share double precision)
language sql stable as $$
  select n.id, case row_number() over () when 1 then 0.5::double precision else 0.25 end
    from (select n.id from oxbow.memories n
           where n.user_id = _user_id and n.memory_type = _type and n.session_id = _session_id and n.seq > _seq
             and coalesce(n.valid_at, n.created_at) <= _at + interval '1 hour'
             and n.level <> 'archive' and (_filter is null or oxbow.recall_allows(n, _filter))
           order by n.seq limit 2) n
  union all
  select n.id, case row_number() over () when 1 then 0.5::double precision else 0.25 end
    from (select n.id from oxbow.memories n
           where n.user_id = _user_id and n.memory_type = _type and n.session_id = _session_id and n.seq < _seq
             and coalesce(n.valid_at, n.created_at) >= _at - interval '1 hour'
             and n.level <> 'archive' and (_filter is null or oxbow.recall_allows(n, _filter))
           order by n.seq desc limit 2) n
$$;
