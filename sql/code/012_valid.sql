-- The rules that rows of memories and messages must satisfy. Each table has one check, which calls one of
-- these functions: PostgreSQL parses and plans the expression of a check at every INSERT, and seventeen
-- separate checks took a quarter of the time of a single-row INSERT.

-- valid_time reports whether a time is one that programs can read: null, or in the years 1 to 9999.
create or replace function oxbow.valid_time(_field text, _at timestamptz) returns boolean
language plpgsql immutable as $$
begin
  return coalesce(_at between '0001-01-01 00:00:00+00' and '9999-12-31 23:59:59.999999+00', true)
    or oxbow.reject(_field, _at::text, 'must be in the years 1 to 9999'
         || case when _at = 'infinity' and _field not in ('created_at', 'at', 'now') then '; null means unknown or never' else '' end);
end $$;
call oxbow.grant_app('valid_time');

-- json_number returns a number in JSON, or null for any other value. Numbers in JSON may be beyond the range of their
-- type here: they are kept within 1e15 and rounded to 15 places.
create or replace function oxbow.json_number(_value jsonb) returns double precision
language sql immutable parallel safe
return case jsonb_typeof(_value) when 'number' then
  round(least(greatest((_value #>> '{}')::numeric, -1e15), 1e15), 15)::double precision end;
call oxbow.grant_worker('json_number');

-- valid_sealed reports whether text is sealed exactly if its sensitivity is 3.
create or replace function oxbow.valid_sealed(_kind text, _content text, _speaker text, _metadata jsonb,
  _sensitivity smallint, _sealed bytea, _sealed_key text) returns boolean
language plpgsql immutable as $$
begin
  if _sensitivity not between 0 and 3 then
    return oxbow.reject('sensitivity', _sensitivity::text, 'must be 0, 1, 2 or 3');
  elsif _sensitivity < 3 then
    return oxbow.reject('sensitivity', _sensitivity::text, 'must be 3 for sealed text');
  elsif _sealed is null or _sealed_key is null or _content <> '[sealed]' then
    return oxbow.reject('sensitivity', _sensitivity::text, 'must be below 3 for plain text; the client seals '
      || 'secret text, so that the database never stores it in clear text');
  elsif _speaker is not null or _metadata <> '{}' then
    return oxbow.reject('sensitivity', _sensitivity::text,
      format('must be below 3 for a %s with speaker or metadata, which are not sealed', _kind));
  end if;
  return true;
end $$;
call oxbow.grant_app('valid_sealed');

-- valid_modality reports whether the modality and the reference of a memory are allowed.
create or replace function oxbow.valid_modality(_modality text, _reference text, _sensitivity smallint)
returns boolean
language plpgsql immutable as $$
begin
  if _modality not in ('text', 'image', 'audio', 'video', 'code', 'file') then
    return oxbow.reject('modality', _modality, 'must be text, image, audio, video, code or file');
  elsif _reference is null and _modality not in ('text', 'code') then
    return oxbow.reject('reference', null, 'must say where the ' || _modality || ' is: a URI or a path');
  elsif octet_length(_reference) > 2048 or _reference !~ '\S' then
    return oxbow.reject('reference', _reference, 'must not be blank or longer than 2048 bytes');
  elsif _sensitivity = 3 and _reference is not null then
    return oxbow.reject('sensitivity', '3', 'must be below 3 for a memory with a reference, which is not sealed');
  end if;
  return true;
end $$;
call oxbow.grant_app('valid_modality');

-- valid_memory reports whether the values of a memory are allowed. One expression finds what is wrong, because PL/pgSQL
-- prepares each expression in each transaction; a query among them took longer than all the others.
create or replace function oxbow.valid_memory(_user_id text, _content text, _valid_at timestamptz,
  _invalid_at timestamptz, _created_at timestamptz, _expired_at timestamptz, _updated_at timestamptz,
  _forgotten_at timestamptz, _forgotten_by text, _last_accessed_at timestamptz, _expires_at timestamptz,
  _activated_at timestamptz, _used_at timestamptz, _negated_at timestamptz, _session_id text, _speaker text,
  _external_id text, _source text, _importance double precision, _strength double precision, _tier text,
  _topic text, _metadata jsonb, _sensitivity smallint, _sealed bytea, _sealed_key text, _modality text,
  _reference text, _mention_count integer, _mentions oxbow.mention[],
  _level text) returns boolean
language plpgsql immutable as $$
declare
  _wrong constant text := case
    when octet_length(_user_id) not between 1 and 255 then 'user_id'
    when octet_length(_content) > 1048576 or _content !~ '\S' then 'content'
    when _importance not between 0 and 1 then 'importance'
    when jsonb_typeof(_metadata) <> 'object' then 'metadata'
    when least(_valid_at, _invalid_at, _created_at, _expired_at, _updated_at, _forgotten_at, _last_accessed_at,
               _expires_at, _activated_at, _used_at, _negated_at) < '0001-01-01 00:00:00+00'
      or greatest(_valid_at, _invalid_at, _created_at, _expired_at, _updated_at, _forgotten_at, _last_accessed_at,
                  _expires_at, _activated_at, _used_at, _negated_at) > '9999-12-31 23:59:59.999999+00' then 'times'
    when _invalid_at < _valid_at then 'invalid_at'
    when _expires_at <= _created_at and _source is distinct from 'summary' then 'expires_at' -- a summary may be late
    when octet_length(_external_id) > 1024 then 'external_id'
    when not (_strength >= 0 and _strength < 'infinity') then 'strength'
    when _tier not in ('normal', 'core', 'system') then 'tier'
    when _mention_count < 0 then 'mention_count'
    when octet_length(_topic) > 255 or _topic !~ '\S' then 'topic'
    when _forgotten_by not in ('user', 'auto', 'merge') then 'forgotten_by'
    when _level not in ('full', 'summary', 'tag', 'trace', 'archive') then 'level'
    when octet_length(_speaker) > 1024 then 'speaker'
    when octet_length(_session_id) > 1024 then 'session_id'
    when _mentions is not null or _modality <> 'text' or _reference is not null or _sensitivity not between 0 and 2
      or _sealed is not null or _sealed_key is not null then 'others'
  end;
begin
  if _wrong is null then
    return true;
  elsif _wrong = 'others' and exists (
    select from unnest(_mentions) n
     where not coalesce(n.at between '0001-01-01 00:00:00+00' and '9999-12-31 23:59:59.999999+00', false)) then
    return oxbow.reject('mentions', _mentions::text, 'must have times in the years 1 to 9999');
  end if;
  return case _wrong
    when 'user_id' then oxbow.reject('user_id', _user_id, 'must have 1 to 255 bytes')
    when 'content' then oxbow.reject('content', _content, 'must not be blank or longer than 1 MiB')
    when 'importance' then oxbow.reject('importance', _importance::text, 'must be between 0 and 1')
    when 'metadata' then oxbow.reject('metadata', _metadata::text, 'must be a JSON object')
    when 'times' then
      oxbow.valid_time('valid_at', _valid_at) and oxbow.valid_time('invalid_at', _invalid_at)
      and oxbow.valid_time('created_at', _created_at) and oxbow.valid_time('expired_at', _expired_at)
      and oxbow.valid_time('updated_at', _updated_at) and oxbow.valid_time('forgotten_at', _forgotten_at)
      and oxbow.valid_time('last_accessed_at', _last_accessed_at) and oxbow.valid_time('expires_at', _expires_at)
      and oxbow.valid_time('activated_at', _activated_at) and oxbow.valid_time('used_at', _used_at)
      and oxbow.valid_time('negated_at', _negated_at)
    when 'invalid_at' then oxbow.reject('invalid_at', _invalid_at::text, 'must not be before valid_at')
    when 'expires_at' then
      oxbow.reject('expires_at', _expires_at::text, 'must be after created_at, which is now by default')
    when 'external_id' then oxbow.reject('external_id', _external_id, 'must have at most 1024 bytes')
    when 'strength' then oxbow.reject('strength', _strength::text, 'must be a number from 0')
    when 'tier' then oxbow.reject('tier', _tier, 'must be normal, core or system')
    when 'mention_count' then oxbow.reject('mention_count', _mention_count::text, 'must not be negative')
    when 'topic' then oxbow.reject('topic', _topic, 'must not be blank or longer than 255 bytes')
    when 'forgotten_by' then oxbow.reject('forgotten_by', _forgotten_by, 'must be user, auto or merge')
    when 'level' then oxbow.reject('level', _level, 'must be full, summary, tag, trace or archive')
    when 'speaker' then oxbow.reject('speaker', _speaker, 'must have at most 1024 bytes')
    when 'session_id' then oxbow.reject('session_id', _session_id, 'must have at most 1024 bytes')
    else oxbow.valid_modality(_modality, _reference, _sensitivity)
      and (_sensitivity between 0 and 2 and _sealed is null and _sealed_key is null
        or oxbow.valid_sealed('memory', _content, _speaker, _metadata, _sensitivity, _sealed, _sealed_key)) end;
end $$;
call oxbow.grant_app('valid_memory');

-- valid_message reports whether the values of a message are allowed.
create or replace function oxbow.valid_message(_user_id text, _session_id text, _role text, _content text,
  _speaker text, _metadata jsonb, _created_at timestamptz, _sensitivity smallint, _sealed bytea, _sealed_key text)
returns boolean
language plpgsql immutable as $$
begin
  if octet_length(_user_id) not between 1 and 255 then
    return oxbow.reject('user_id', _user_id, 'must have 1 to 255 bytes');
  elsif octet_length(_session_id) not between 1 and 1024 then
    return oxbow.reject('session_id', _session_id, 'must have 1 to 1024 bytes');
  elsif _role not in ('user', 'assistant', 'system', 'tool') then
    return oxbow.reject('role', _role, 'must be user, assistant, system or tool');
  elsif octet_length(_content) > 1048576 or _content !~ '\S' then
    return oxbow.reject('content', _content, 'must not be blank or longer than 1 MiB');
  elsif octet_length(_speaker) > 1024 then
    return oxbow.reject('speaker', _speaker, 'must have at most 1024 bytes');
  elsif jsonb_typeof(_metadata) <> 'object' then
    return oxbow.reject('metadata', _metadata::text, 'must be a JSON object');
  elsif not oxbow.valid_time('created_at', _created_at) then
    return false;
  elsif _sensitivity not between 0 and 2 or _sealed is not null or _sealed_key is not null then
    return oxbow.valid_sealed('message', _content, _speaker, _metadata, _sensitivity, _sealed, _sealed_key);
  end if;
  return true;
end $$;
call oxbow.grant_app('valid_message');
