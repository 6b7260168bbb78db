-- terms returns the search terms of a text. English words are stemmed and stop words dropped. Chinese, Japanese and
-- Korean text becomes character bigrams; a single character is a term. A term that occurs twice or more is stored a
-- second time with a '+' prefix, so that BM25 reads the frequency from the index and never from a tsvector; a term of
-- 2,047 bytes, the longest possible, is not. Punctuation is removed first, because the parser would otherwise recognize
-- hosts, paths and signed numbers, and so that no word begins with '+' or '@'. len is the number of terms including
-- repeats. Only the first 50,000 characters of a text count.
create or replace function oxbow.terms(content text, out len integer, out tsv tsvector)
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  cjk constant text := '\u2E80-\u2FDF\u3005-\u3007\u3040-\u30FF\u3400-\u4DBF\u4E00-\u9FFF'
    '\uAC00-\uD7AF\uF900-\uFAFF\U00020000-\U0003FFFF';
  words text := left(content, 50000);
  chars text[];
  vector tsvector;
begin
  if octet_length(words) > length(words) then -- not only ASCII
    words := left(normalize(words, NFKC), 50000);
    if words ~ ('[' || cjk || ']') then
      chars := string_to_array(' ' || regexp_replace(words, '[^' || cjk || ']+', ' ', 'g') || ' ', null);
      words := regexp_replace(words, '[' || cjk || ']+', ' ', 'g');
    end if;
    words := regexp_replace(words, '[\u2010-\u206F\u3000-\u3004\u3008-\u303F]+', ' ', 'g');
  end if;
  words := regexp_replace(words, '[\u0001-\u002F\u003A-\u0040\u005B-\u0060\u007B-\u007F]+', ' ', 'g');

  vector := to_tsvector('pg_catalog.english', words);
  if chars is null then
    len := length(vector) + octet_length(vector::text) - octet_length(replace(vector::text, ',', ''));
    if len = length(vector) then -- no comma, so no term has two positions
      tsv := strip(vector);
      return;
    end if;
  end if;

  select coalesce(sum(n), 0),
         array_to_tsvector(
           coalesce(array_agg(term), '{}')
           || coalesce(array_agg('+' || term) filter (where n > 1 and octet_length(term) < 2047), '{}'))
    into len, tsv
    from (select lexeme as term, cardinality(positions) as n
            from unnest(vector)
          union all
          select term, count(*)
            from (select case when a = ' ' then null when b <> ' ' then a || b when before = ' ' then a end as term
                    from unnest(chars, chars[2:], chars[3:]) c(before, a, b)) pairs
           where term is not null
           group by term) t;
end $$;
call oxbow.grant_worker('terms');

-- date_terms returns the terms of a date, finest first: '@2025-10-12', '@2025-10', '@2025', '@10-12',
-- '@10'.
create or replace function oxbow.date_terms(at timestamp) returns text[]
language sql immutable parallel safe
return array['@' || to_char(at, 'YYYY-MM-DD'), '@' || to_char(at, 'YYYY-MM'), '@' || to_char(at, 'YYYY'),
             '@' || to_char(at, 'MM-DD'), '@' || to_char(at, 'MM')];
call oxbow.grant_worker('date_terms');
