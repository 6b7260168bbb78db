-- The parts of the score of a recalled memory other than the channels.

-- channel_weights returns what the best memory of each channel adds to a score, how many nearest vectors recall
-- considers in addition to its results, and the cosine similarities of a question to unrelated and to related memories
-- (settings, key recall). The offline model adds little, because it is built from the same words, so by default it weighs
-- less than a trained model, and recall considers fewer of its vectors.
drop function if exists oxbow.channel_weights(); -- an earlier version had fewer columns
create or replace function oxbow.channel_weights(out text double precision, out vector double precision,
  out entity double precision, out nearest integer, out unrelated double precision, out related double precision)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
begin
  select coalesce(oxbow.json_number(r.value -> 'text'), 1),
         coalesce(oxbow.json_number(r.value -> 'vector'),
                  case when e.value ->> 'model' like 'local-%' then 0.2 else 0.7 end),
         coalesce(oxbow.json_number(r.value -> 'entity'), 0.1),
         coalesce((r.value ->> 'nearest')::double precision,
                  case when e.value ->> 'model' like 'local-%' then 60 else 280 end),
         coalesce(oxbow.json_number(r.value -> 'unrelated'),
                  case when e.value ->> 'model' like '%e5-%' then 0.78
                       when e.value ->> 'model' ilike '%all-minilm-l6-v2%' then 0.1 else 0 end),
         coalesce(oxbow.json_number(r.value -> 'related'),
                  case when e.value ->> 'model' like '%e5-%' then 0.87 else 0.5 end)
    into text, vector, entity, nearest, unrelated, related
    from (values ('embedding')) k(key)
    left join oxbow.settings e on e.key = k.key
    left join oxbow.settings r on r.key = 'recall';
end $$;

-- relevance returns how well a memory answers a question, from 0 to 1, comparable between questions and users. It is the
-- mean of two numbers from 0 to 1: the weighted share of the question's words that the memory has (_share), and the cosine
-- similarity (_similarity) on a scale on which _unrelated is 0 and _related is 1. Without a vector of the question only the
-- words count.
create or replace function oxbow.relevance(_share double precision, _similarity double precision, _words_only boolean,
  _unrelated double precision, _related double precision) returns double precision
language sql immutable parallel safe
return case when _words_only then least(coalesce(_share, 0), 1)
            else (least(coalesce(_share, 0), 1)
                  + least(greatest(coalesce((_similarity - _unrelated) / nullif(_related - _unrelated, 0), 0), 0), 1)) / 2
       end;

-- plain_words returns a text in lower case, with spaces instead of punctuation and at both ends. It uses translate, which
-- is faster than a regular expression, because recall calls it for the speaker of every candidate.
create or replace function oxbow.plain_words(_text text) returns text
language sql immutable parallel safe
return ' ' || translate(lower(_text), E'\n\r\t!"#$%&''()*+,-./:;<=>?@[\\]^_`{|}~‘’“”–—…', repeat(' ', 42)) || ' ';

-- names_speaker reports whether a question (a result of plain_words) names the speaker of a memory: with the whole name,
-- or with its first word if that has at least three letters. A name with characters beyond ASCII is also found within
-- words, because Chinese has no spaces.
create or replace function oxbow.names_speaker(_asked text, _speaker text) returns boolean
language sql immutable parallel safe
return case when coalesce(_speaker, '') = '' then false
            when octet_length(_speaker) > length(_speaker) then strpos(_asked, lower(_speaker)) > 0
            else strpos(_asked, oxbow.plain_words(_speaker)) > 0
              or length(split_part(_speaker, ' ', 1)) > 2
                 and strpos(_asked, oxbow.plain_words(split_part(_speaker, ' ', 1))) > 0 end;

-- modality_weight returns the factor of the score for the modality of a memory.
create or replace function oxbow.modality_weight(_modality text, _rules oxbow.recall_rules) returns double precision
language sql immutable parallel safe
return case _modality when 'text' then 1
                      when 'image' then (_rules).recall_image when 'audio' then (_rules).recall_audio
                      when 'video' then (_rules).recall_video when 'code' then (_rules).recall_code
                      else (_rules).recall_file end;

-- recency returns 1 for a memory as of now and 1/e after _days, or after up to 1 + _share times as many for an
-- emotionally arousing memory. The exponent is capped, because exp fails on underflow, and the arousal is rounded, because
-- a cast of a smaller number fails.
create or replace function oxbow.recency(_at timestamptz, _arousal jsonb, _now timestamptz, _days double precision,
  _share double precision) returns double precision
language sql immutable parallel safe
return exp(-least(greatest(date_part('epoch', _now - _at), 0)
  / (86400 * _days * (1 + _share * case jsonb_typeof(_arousal)
       when 'number' then round(least(greatest((_arousal #>> '{}')::numeric, 0), 1), 15)::double precision else 0 end)), 700));

-- check_question rejects invalid arguments of recall and timeline. _name is the name of the query argument.
create or replace function oxbow.check_question(_name text, _query text, _dimensions integer, _types text[],
  _known text[], _max_results integer) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
declare
  _unknown text;
begin
  select t into _unknown from unnest(_types) t where t is null or t <> all(_known);
  if found then
    perform oxbow.reject('types', _unknown, 'must be ' || array_to_string(_known[:cardinality(_known) - 1], ', ')
      || ' or ' || _known[cardinality(_known)]);
  elsif _max_results is null or _max_results not between 1 and 1000 then
    perform oxbow.reject('max_results', _max_results::text, 'must be between 1 and 1000');
  elsif coalesce(_query, '') !~ '\S' and _dimensions is null then
    perform oxbow.reject(_name, _query, 'must not be empty without an embedding');
  elsif _dimensions is not null then
    perform oxbow.reject('embedding', format('%s dimensions', _dimensions),
        format('must have %s dimensions', s.value ->> 'dimension'))
       from oxbow.settings s
      where s.key = 'embedding' and (s.value ->> 'dimension')::integer <> _dimensions;
  end if;
end $$;
