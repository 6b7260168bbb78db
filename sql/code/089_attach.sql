-- Attaching images, recordings and files to the memories that they belong to (the job reconcile).

-- caption_terms returns the words of a caption without words for the medium, such as "photo", and without single
-- characters.
create or replace function oxbow.caption_terms(_caption text) returns text[]
language sql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
  select array(
    select w from oxbow.terms(regexp_replace(regexp_replace(_caption,
      '\m(photo(graph)?|picture|pic|image|screenshot|selfie|scan|recording|audio|voice|video|clip|file|document|pdf|'
      'snippet|code|note|memo)s?\M', ' ', 'gi'),
      '照片|图片|相片|截图|自拍|扫描|录音|音频|语音|视频|文件|文档|代码|片段|[的了在是和与跟着]', ' ', 'g')) t, unnest(tsvector_to_array(t.tsv)) w
     where w !~ '^[+@]' and (length(w) > 1 or w ~ '^[0-9a-z]'));
$$;

-- memory_of_upload returns the current memory that an image, recording or file belongs to, or null. It is the one that
-- the metadata names (belongs_to: the id or the external_id), or else a text of the same conversation or the same day
-- that has at least the share _least of the words of the caption, all its numbers, and a negation if the caption has
-- one.
create or replace function oxbow.memory_of_upload(_upload oxbow.memories, _least double precision, _timezone text)
returns uuid
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
#variable_conflict error
declare
  _user_id constant text := _upload.user_id;
  _named constant text := _upload.metadata ->> 'belongs_to';
  _negation constant text := '\m(no|not|never|without|cannot)\M|n[''’]t\M|[不没未无别]';
  _day constant date := coalesce(_upload.valid_at, _upload.created_at) at time zone _timezone;
  _said constant text[] := oxbow.caption_terms(_upload.content);
  _memory oxbow.memories;
begin
  if _upload.metadata ? 'belongs_to' then
    select m.* into _memory from oxbow.memories m
     where m.user_id = _user_id and m.memory_type in ('fact', 'episodic')
       and case when _named ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then m.id = _named::uuid
                else m.external_id = _named end
     order by m.memory_type limit 1;
    while _memory.superseded_by is not null and _memory.superseded_by <> _upload.id loop -- its current version
      select m.* into _memory from oxbow.memories m where m.user_id = _user_id and m.id = _memory.superseded_by;
    end loop;
    return case when _memory.id <> _upload.id and _memory.expired_at is null and _memory.forgotten_at is null
                  and _memory.sensitivity < 2 then _memory.id end;
  elsif cardinality(_said) < 2 then
    return null;
  end if;
  return (
    select m.id
      from oxbow.recall_text(_user_id, '{fact,episodic}', _said, array[to_char(_day, '"@"YYYY-MM-DD')], 100, null) r,
           unnest(r.ids, r.types, r.scores) c(id, type, score)
     cross join lateral (select m.* from oxbow.memories m
                          where m.user_id = _user_id and m.memory_type = c.type and m.id = c.id offset 0) m
     cross join lateral (
       select count(*)::double precision / cardinality(_said) as share,
              count(*) filter (where w ~ '[0-9]') as numbers
         from oxbow.memory_terms t, unnest(_said) w
        where t.user_id = _user_id and t.memory_type = c.type and t.memory_id = c.id
          and w = any(tsvector_to_array(t.tsv))) s
     where m.id <> _upload.id and m.modality = 'text' and m.source is distinct from 'summary'
       and m.expired_at is null and m.forgotten_at is null and m.expires_at is null and m.sensitivity < 2
       and (m.invalid_at is null or m.invalid_at > now())
       and (m.session_id = _upload.session_id
         or (coalesce(m.valid_at, m.created_at) at time zone _timezone)::date = _day)
       and m.speaker is not distinct from coalesce(_upload.speaker, m.speaker)
       and m.agent_id is not distinct from _upload.agent_id
       and m.metadata ->> 'context' is not distinct from _upload.metadata ->> 'context'
       and s.share >= _least and s.numbers = (select count(*) from unnest(_said) w where w ~ '[0-9]')
       and (m.content ~* _negation) = (_upload.content ~* _negation)
     order by s.share desc, (m.session_id = _upload.session_id) is true desc, c.score desc, m.id limit 1);
end $$;
call oxbow.grant_worker('memory_of_upload');

-- attach_uploads folds those of the given images, recordings and files into the memories that they belong to, unless
-- the user's memories are not reconciled, and returns how many. An upload that belongs to no memory, or that expires,
-- stays as it is.
create or replace function oxbow.attach_uploads(_user_id text, _ids uuid[], _actor text) returns integer
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
  set enable_seqscan = off as $$
#variable_conflict error
declare
  _least constant double precision := oxbow.policy('attach_words');
  _timezone constant text := coalesce(
    (select u.timezone from oxbow.users u where u.user_id = _user_id), 'UTC');
  _attached integer := 0;
  _uploads uuid[];
  _memories uuid[];
  _pair record;
  _done record;
begin
  if not oxbow.reconciles(_user_id) then
    return 0;
  end if;
  perform pg_advisory_xact_lock(hashtextextended('oxbow.extract ' || _user_id, 0));
  select array_agg(u.id), array_agg(u.memory) into _uploads, _memories
    from (select m.id, oxbow.memory_of_upload(m, _least, _timezone) as memory
            from unnest(_ids) i(id)
           cross join lateral (select m.* from oxbow.memories m where m.user_id = _user_id and m.id = i.id offset 0) m
           where m.modality <> 'text' and m.memory_type in ('fact', 'episodic') and m.expired_at is null
             and m.forgotten_at is null and m.expires_at is null and m.sensitivity < 2) u
   where u.memory is not null;
  perform from oxbow.memories m
    where m.user_id = _user_id and m.id = any(_uploads || _memories) order by m.id for no key update;
  for _pair in
    select p.upload, p.memory from unnest(_uploads, _memories) p(upload, memory) order by p.upload
  loop
    with upload as (
      update oxbow.memories m
         set expired_at = now(), invalid_at = coalesce(m.valid_at, m.created_at), superseded_by = k.id,
             updated_at = now()
        from oxbow.memories k
       where m.user_id = _user_id and m.id = _pair.upload and m.expired_at is null and m.forgotten_at is null
         and k.user_id = _user_id and k.id = _pair.memory and k.expired_at is null and k.forgotten_at is null
      returning m.*, k.memory_type as kept_type, k.id as kept, k.content as kept_content
    ), noted as (
      insert into oxbow.memory_history
        (user_id, memory_type, memory_id, event, old_content, new_content, actor, reason)
      select _user_id, u.memory_type, u.id, 'SUPERSEDE', u.content, u.kept_content, _actor, 'belongs to this memory'
        from upload u
    )
    select u.* into _done from upload u;
    if found then
      perform oxbow.mention_memory(_user_id, _done.kept_type, _done.kept, array[_done.created_at],
                                   _done.mention_count, _done.sensitivity, _actor);
      _attached := _attached + 1;
    end if;
  end loop;
  return _attached;
end $$;
call oxbow.grant_worker('attach_uploads');
