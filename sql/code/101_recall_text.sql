-- The text channel of recall: BM25 (Robertson, Zaragoza 2009, eq. 3.6 ff) over the user's memories, k1 1.2,
-- b 0.75.

-- terms_found returns the memories of the types that match a query of terms. The planner inlines it. Each
-- partition is named, so that only the requested ones are read.
create or replace function oxbow.terms_found(_user_id text, _types text[], _query tsquery)
returns table (memory_id uuid, memory_type text, len integer)
language sql stable as $$
  select t.memory_id, 'fact', t.len from oxbow.memory_terms_fact t
   where 'fact' = any(_types) and t.user_id = _user_id and t.tsv @@ _query
  union all
  select t.memory_id, 'episodic', t.len from oxbow.memory_terms_episodic t
   where 'episodic' = any(_types) and t.user_id = _user_id and t.tsv @@ _query
  union all
  select t.memory_id, 'trait', t.len from oxbow.memory_terms_trait t
   where 'trait' = any(_types) and t.user_id = _user_id and t.tsv @@ _query
  union all
  select t.memory_id, 'document', t.len from oxbow.memory_terms_document t
   where 'document' = any(_types) and t.user_id = _user_id and t.tsv @@ _query
$$;

-- terms_counted returns the number of memories that terms_found finds. It reads only the index if all pages
-- are visible.
create or replace function oxbow.terms_counted(_user_id text, _types text[], _query tsquery)
returns table (found bigint)
language sql stable as $$
  select case when 'fact' = any(_types) then (
           select count(*) from oxbow.memory_terms_fact t
            where t.user_id = _user_id and t.tsv @@ _query) else 0 end
       + case when 'episodic' = any(_types) then (
           select count(*) from oxbow.memory_terms_episodic t
            where t.user_id = _user_id and t.tsv @@ _query) else 0 end
       + case when 'trait' = any(_types) then (
           select count(*) from oxbow.memory_terms_trait t
            where t.user_id = _user_id and t.tsv @@ _query) else 0 end
       + case when 'document' = any(_types) then (
           select count(*) from oxbow.memory_terms_document t
            where t.user_id = _user_id and t.tsv @@ _query) else 0 end
$$;

-- idf returns the inverse document frequency of a term that occurs in _found of the user's _documents.
create or replace function oxbow.idf(_documents double precision, _found double precision) returns double precision
language sql immutable parallel safe
return ln(1 + greatest(_documents - _found + 0.5, 0) / (_found + 0.5));
call oxbow.grant_worker('idf');

-- bm25_tf returns the weight of a term that occurs _times in a document of _length times the average
-- length.
create or replace function oxbow.bm25_tf(_times double precision, _length double precision) returns double precision
language sql immutable parallel safe
return 2.2 * _times / (_times + 1.2 * (0.25 + 0.75 * _length));

-- recall_words counts the words of a query and returns those to use, with their idf and their total number
-- of occurrences: the two rarest, and up to 62 more frequent ones while they occur in at most 30 % of the memories
-- and in 8,000 places in all.
create or replace function oxbow.recall_words(_user_id text, _types text[], _words text[], _documents double precision,
  out words text[], out idfs double precision[], out places double precision, out weight double precision)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
begin
  with counted as materialized (
    select w.term, t.found::double precision as n
      from unnest(_words) w(term), oxbow.terms_counted(_user_id, _types, oxbow.term_query(w.term)) t
  )
  select array_agg(w.term), array_agg(oxbow.idf(_documents, w.n)), sum(w.n),
         (select sum(oxbow.idf(_documents, c.n) ^ 1.5) from counted c)
    into words, idfs, places, weight
    from (select c.term, c.n, row_number() over (order by c.n, c.term) as nth,
                 sum(c.n) over (order by c.n, c.term rows unbounded preceding) as total
            from counted c
           where c.n > 0) w
   where w.nth <= 2 or (w.nth <= 64 and w.n <= 0.3 * _documents and w.total <= 8000);
end $$;

-- recall_dates returns the memories that match a date in the query, with the idf of the matching date term. A memory is
-- repeated for each date that it matches.
drop function if exists oxbow.recall_dates(text, text[], text[], double precision); -- an earlier version had more columns
create or replace function oxbow.recall_dates(_user_id text, _types text[], _dates text[], _documents double precision,
  out ids uuid[], out types text[], out idfs double precision[])
language plpgsql stable set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off set random_page_cost = 0 set cpu_operator_cost = 0 set jit = off as $$
#variable_conflict error
begin
  with day as materialized (
    select d.term, h.ids, h.types, oxbow.idf(_documents, h.n) as idf
      from unnest(_dates) d(term), lateral (
        select count(*)::double precision as n, array_agg(t.memory_id) as ids, array_agg(t.memory_type) as types
          from oxbow.terms_found(_user_id, _types, oxbow.term_query(d.term)) t) h
     where h.n > 0
  )
  select array_agg(p.id), array_agg(p.type), array_agg(d.idf) into ids, types, idfs
    from day d, unnest(d.ids, d.types) p(id, type);
end $$;

-- recall_text returns the best memories by their words and dates. Each term is one index scan, and the
-- number of matches is its document frequency. The two rarest terms always count, and up to 62 more frequent ones
-- while they occur in at most 30 % of the memories (or 50) and in 8,000 places in all. A term counts once
-- or twice per memory; a second scan, for the term marked '+', finds repeats. The weight of a term is
-- idf^1.5. With T the sum over the terms and D the sum of the idf of the matching date terms, the score is
-- T (1 + D) + D. The function also returns the memories that match a date (date_ids and date_idfs, for recall_dated), the
-- highest D (date), and the score of a memory that has each word of the query once and that D (most, for relevance).
--
-- Without statistics, or when most users have few memories, the planner would read all of a user's rows
-- instead of the term index. With page and operator costs at zero, it chooses the plan with the fewest
-- rows.
drop function if exists oxbow.recall_text(text, text[], text[], text[], integer, oxbow.recall_filter); -- other columns
create or replace function oxbow.recall_text(_user_id text, _types text[], _words text[], _dates text[],
  _limit integer, inout _filter oxbow.recall_filter,
  out ids uuid[], out types text[], out scores double precision[],
  out date_ids uuid[], out date_idfs double precision[], out date double precision, out most double precision)
language plpgsql stable set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off set enable_sort = off set random_page_cost = 0 set cpu_operator_cost = 0
  set jit = off as $$
#variable_conflict error
declare
  _documents double precision;
  _average double precision;
  _date_types text[];
  _common text[];
  _common_idfs double precision[];
  _places double precision;
  _weight double precision;
  _checking boolean;
  _passing record;
begin
  select sum(s.documents), greatest(sum(s.terms), 1) / greatest(sum(s.documents), 1) into _documents, _average
    from oxbow.memory_term_stats s where s.user_id = _user_id and s.memory_type = any(_types);
  if cardinality(_dates) > 0 then -- few queries have dates
    select d.* into date_ids, _date_types, date_idfs
      from oxbow.recall_dates(_user_id, _types, _dates, _documents) d;
  end if;
  if _documents > 12000 then
    select w.words, w.idfs, w.places, w.weight into _common, _common_idfs, _places, _weight
      from oxbow.recall_words(_user_id, _types, _words, _documents) w;
    if _places > 8000 then -- too many to keep in arrays, so they are read twice
      _words := '{}';
    else
      _words := _common;
      _common := '{}';
    end if;
  end if;
  loop
    _checking := not (_filter is null) and _filter.ids is null;
    with asked as materialized (
      select w.term, h.n, h.ids, h.types, h.lens
        from (select w.term, oxbow.term_query(w.term) as query from unnest(_words) w(term) offset 0) w, lateral (
          select count(*)::double precision as n, array_agg(t.memory_id) as ids, array_agg(t.memory_type) as types,
                 array_agg(t.len) as lens
            from oxbow.terms_found(_user_id, _types, w.query) t) h
    ), word as materialized (
      select a.*, row_number() over (order by a.n, a.term) as nth,
             sum(a.n) over (order by a.n, a.term rows unbounded preceding) as total
        from asked a
       where a.n > 0
    ), kept as materialized (
      select w.term, w.ids, w.types, w.lens, oxbow.idf(_documents, w.n) ^ 1.5 as weight from word w
       where w.nth <= 2 or (w.nth <= 64 and w.n <= greatest(0.3 * _documents, 50) and w.total <= 8000)
    ), common as materialized (
      select c.term, c.idf ^ 1.5 as weight from unnest(_common, _common_idfs) c(term, idf)
    ), part as (
      select p.id, p.type, p.weight * oxbow.bm25_tf(1, p.len / _average) as score, 0.0::double precision as date
        from (select unnest(k.ids) as id, unnest(k.types) as type, unnest(k.lens) as len, k.weight from kept k) p
      union all
      select t.memory_id, t.memory_type, c.weight * oxbow.bm25_tf(1, t.len / _average), 0
        from common c, lateral (
          select t.memory_id, t.memory_type, t.len
            from oxbow.terms_found(_user_id, _types, oxbow.term_query(c.term)) t offset 0) t
      union all
      select t.memory_id, t.memory_type,
             k.weight * (oxbow.bm25_tf(2, t.len / _average) - oxbow.bm25_tf(1, t.len / _average)), 0
        from (select k.weight, oxbow.term_query('+' || k.term) as query
                from (select k.term, k.weight from kept k union all select c.term, c.weight from common c) k
              offset 0) k, lateral (
          select t.memory_id, t.memory_type, t.len
            from oxbow.terms_found(_user_id, _types, k.query) t offset 0) t
      union all
      select p.id, p.type, 0, p.idf from unnest(date_ids, _date_types, date_idfs) p(id, type, idf)
    ), best as (
      select p.id, max(p.type) as type, sum(p.score) * (1 + sum(p.date)) + sum(p.date) as score,
             max(sum(p.date)) over () as date
        from part p
       where _filter.ids is null or p.id in (select unnest(_filter.ids))
       group by p.id
       order by 3 desc, p.id
       limit case when _checking then oxbow.recall_checked(_limit) else _limit end
    )
    select array_agg(b.id), array_agg(b.type), array_agg(b.score), max(b.date),
           coalesce((select sum(oxbow.idf(_documents, a.n) ^ 1.5) from asked a), _weight)
      into ids, types, scores, date, most from best b;
    most := 1.32 * most * (1 + date) + date;
    exit when not _checking;
    _passing := oxbow.recall_passing(_user_id, _limit, _filter, ids, types, scores);
    ids := _passing.ids;
    types := _passing.types;
    scores := _passing.scores;
    exit when not _passing.few;
    _filter := oxbow.recall_listed(_user_id, _types, _filter);
  end loop;
end $$;
