-- Questions about a time that an event names ("before I moved", 搬家之前), about the present ("currently", 现在) and
-- about the past ("used to", 以前). Memories of that time get higher scores; none is left out.

-- names_event reports whether a query may be such a question.
create or replace function oxbow.names_event(query text) returns boolean
language sql immutable parallel safe
return lower(left(query, 2000)) like any ('{%before %,%after %,%since %,%until %,% while %,% when %,%current%,%nowadays%,
  % now%,% still %,%these days%,%use to %,%used to %,%previous%,%former%,%之前%,%之后%,%以前%,%以后%,%的时候%,
  %现在%,%目前%,%如今%,%原来%,%曾经%,%从前%}'::text[]);

-- query_event returns the clause of a query that names an event, and the side of the event that the query asks about:
-- before, after or during. Without an event, side is the result of query_version.
create or replace function oxbow.query_event(query text, out side text, out clause text)
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  asked constant text := normalize(left(query, 2000), NFKC);
  found text[];
begin
  found := coalesce(
    regexp_match(asked, '\m(before|until|after|since|while)\M ([^?,.;]+)', 'i'),
    regexp_match(asked, '\w.*\m(when)\M (?!did|do|does|is|are|was|were|will|have|has|had|can)([^?,.;]+)', 'i'));
  if found is null then
    found := regexp_match(asked, '([^,。?!]{2,40}?)([之以]前|[之以]后|的时候)');
    found := array[found[2], regexp_replace(found[1], '^(在|当|自从|从|自)', '')];
  end if;
  clause := found[2];
  side := case when found[1] ~* 'before|until|前' then 'before' when found[1] ~* 'after|since|后' then 'after'
               when found is not null then 'during' end;
  if clause is null then
    side := oxbow.query_version(asked);
  end if;
end $$;

-- query_version returns newest for a question about the present, former for one about the past, and null otherwise.
create or replace function oxbow.query_version(query text) returns text
language sql immutable parallel safe
return case when query ~* '\m(?:used? to|previous(?:ly)?|former(?:ly)?)\M|以前|原来|曾经|从前' then 'former'
            when query ~* '\m(?:current(?:ly)?|now|nowadays|still|these days)\M|现在|(?<!到)目前|如今' then 'newest' end;

-- recall_event returns the time that a question is about (side, see query_event) and, for an event, when that began and
-- ended. The event is the memory that shares the most idf with the clause, at least 0.6 of all, if one of the shared words
-- is in at most three memories, or 2 % of them. If the query has a date (_dated), that is its time, and no event is looked
-- for. former reports whether memories that have ended can answer the question too.
create or replace function oxbow.recall_event(_user_id text, _query text, _dated boolean, _now timestamptz,
  out side text, out began timestamptz, out ended timestamptz, out former boolean)
language plpgsql stable set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
#variable_conflict error
declare
  _event constant record := oxbow.query_event(_query);
  _words constant text[] := (oxbow.query_terms(_event.clause)).words;
  _events constant text[] := array['fact', 'episodic'];
  _documents constant double precision := coalesce((
    select sum(s.documents) from oxbow.memory_term_stats s
     where s.user_id = _user_id and s.memory_type = any(_events)), 0);
  _filter oxbow.recall_filter;
  _found record;
begin
  if not _dated and cardinality(_words) > 0 and _documents > 0 then
    _filter.history := true;
    _filter.now := _now;
    _filter.rules := oxbow.trait_rules();
    _found := oxbow.recall_text(_user_id, _events, _words, '{}', 5, _filter);
    with word as materialized (
      select oxbow.term_query(w) as query, t.found, oxbow.idf(_documents, t.found) as idf
        from unnest(_words) w, oxbow.terms_counted(_user_id, _events, oxbow.term_query(w)) t
    )
    select _event.side, coalesce(m.valid_at, m.created_at), m.invalid_at into side, began, ended
      from unnest(_found.ids, _found.types) with ordinality f(id, type, nth)
     cross join lateral (
       select sum(w.idf) / (select sum(e.idf) from word e) as share, min(w.found) as rarest
         from word w, oxbow.memory_terms t
        where t.user_id = _user_id and t.memory_type = f.type and t.memory_id = f.id and t.tsv @@ w.query) c
     cross join lateral (
       select m.valid_at, m.created_at, m.invalid_at from oxbow.memories m
        where m.user_id = _user_id and m.memory_type = f.type and m.id = f.id offset 0) m
     where c.share >= 0.6 and c.rarest <= greatest(3, 0.02 * _documents)
     order by c.share desc, f.nth limit 1;
  end if;
  side := coalesce(side, oxbow.query_version(_query));
  side := nullif(side, case when _dated then 'newest' end); -- the date says when
  former := coalesce(side in ('before', 'during', 'former'), false);
end $$;

-- recall_timed raises the scores of a channel by half for the memories of the time that a question is about (recall_event):
-- those before, after or during an event (of an event without an end, the first 7 days), or for former, those that have
-- ended. For newest, it raises scores by 0 for the earliest to a quarter for the latest memory.
create or replace function oxbow.recall_timed(_user_id text, _ids uuid[], _types text[], _scores double precision[],
  _side text, _began timestamptz, _ended timestamptz, _now timestamptz) returns double precision[]
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
begin
  return (
    select array_agg(v.score * (1 + 0.5 * case _side
             when 'before' then (v.at < _began)::integer
             when 'after' then (v.at > _began)::integer
             when 'during' then (v.at >= _began and v.at < coalesce(_ended, _began + interval '7 days'))::integer
             when 'former' then coalesce(v.invalid_at <= _now, false)::integer
             else v.later / 2 end) order by v.nth)
      from (select h.nth, h.score, m.at, m.invalid_at, percent_rank() over (order by m.at) as later
              from unnest(_ids, _types, _scores) with ordinality h(id, type, score, nth)
             cross join lateral (
               select coalesce(m.valid_at, m.created_at) as at, m.invalid_at from oxbow.memories m
                where m.user_id = _user_id and m.memory_type = h.type and m.id = h.id offset 0) m) v);
end $$;
