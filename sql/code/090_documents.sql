-- Documents: the text of a file as memories, one per chunk, replaced together when the file changes.

-- lock_file locks a file by its path until the transaction ends, even if it is not stored yet.
create or replace function oxbow.lock_file(_user_id text, _path text) returns void
language sql set search_path = pg_catalog, pg_temp as $$
  select pg_advisory_xact_lock(hashtextextended(_path, hashtextextended('oxbow.file ' || _user_id, 0)));
$$;

-- ingest_file stores the chunks of a file as memories of type document, and returns what changed. A file
-- with the same hash, settings, media type and metadata is left unchanged. Otherwise chunks whose text is
-- already stored keep their memories and embeddings, even if they moved; new chunks become memories, and
-- chunks no longer in the file are erased. chunk_metadata has additional metadata per chunk, such as its
-- page. By default content_hash is computed from the chunks, and bytes is their length.
create or replace function oxbow.ingest_file(user_id text, path text, contents text[],
  chunk_metadata jsonb[] default null, media_type text default 'text/plain', bytes bigint default null,
  content_hash text default null, settings jsonb default '{}', metadata jsonb default '{}')
returns table (file_id uuid, unchanged boolean, added integer, kept integer, removed integer)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  _hash constant text := coalesce(ingest_file.content_hash,
    encode(sha256(convert_to(array_to_string(ingest_file.contents, E'\n'), 'UTF8')), 'hex'));
  _bytes constant bigint := coalesce(
    ingest_file.bytes, (select sum(octet_length(c)) from unnest(ingest_file.contents) c));
  _count constant integer := coalesce(cardinality(ingest_file.contents), 0);
  _file oxbow.document_files;
  _old uuid[];  -- the memories of the existing chunks, in order
  _old_hashes bytea[];
  _ids uuid[];  -- the memories of the new chunks
  _new boolean[];
  _gone uuid[];
  _chunk record;
begin
  perform oxbow.check_access(ingest_file.user_id);
  if ingest_file.path is null then
    perform oxbow.reject('path', null, 'must have 1 to 1024 bytes');
  elsif _bytes < 0 then
    perform oxbow.reject('bytes', _bytes::text, 'must not be negative');
  elsif array_ndims(ingest_file.contents) > 1 then
    perform oxbow.reject('contents', ingest_file.contents::text, 'must be a list of texts');
  elsif _count = 0 or array_position(ingest_file.contents, null) is not null then
    perform oxbow.reject('contents', ingest_file.contents::text, 'must have at least one text, and no nulls');
  elsif cardinality(ingest_file.chunk_metadata) <> _count then
    perform oxbow.reject('chunk_metadata', cardinality(ingest_file.chunk_metadata)::text,
                         format('must have one object for each of the %s chunks', _count));
  end if;
  perform oxbow.lock_file(ingest_file.user_id, ingest_file.path);
  select f.* into _file from oxbow.document_files f where f.user_id = ingest_file.user_id and f.path = ingest_file.path;
  if found and _file.content_hash = _hash and _file.settings = ingest_file.settings
    and _file.media_type = ingest_file.media_type and _file.metadata = coalesce(ingest_file.metadata, '{}') then
    return query select _file.id, true, 0, (select count(*)::integer from oxbow.document_chunks c
                                             where c.user_id = _file.user_id and c.file_id = _file.id), 0;
    return;
  end if;

  insert into oxbow.document_files as f (user_id, path, media_type, bytes, content_hash, settings, chunks, metadata)
  values (ingest_file.user_id, ingest_file.path, coalesce(ingest_file.media_type, 'text/plain'), _bytes, _hash,
    coalesce(ingest_file.settings, '{}'), _count, coalesce(ingest_file.metadata, '{}'))
  on conflict on constraint document_files_user_id_path_key do update
    set media_type = excluded.media_type, bytes = excluded.bytes, content_hash = excluded.content_hash,
        settings = excluded.settings, chunks = excluded.chunks, metadata = excluded.metadata, updated_at = now(),
        stored_at = now()
  returning * into _file;

  perform oxbow.lock_chunks(_file.user_id, _file.id);
  select coalesce(array_agg(c.memory_id order by c.nth), '{}'),
         coalesce(array_agg(sha256(convert_to(m.content, 'UTF8')) order by c.nth), '{}')
    into _old, _old_hashes
    from oxbow.document_chunks c join oxbow.memories_document m on m.user_id = c.user_id and m.id = c.memory_id
   where c.user_id = _file.user_id and c.file_id = _file.id;
  select m.ids, m.new into _ids, _new from oxbow.match_chunks(_old, _old_hashes, ingest_file.contents) m;
  _gone := array(select unnest(_old) except select unnest(_ids));
  perform oxbow.erase_documents(_file.user_id, _gone);
  delete from oxbow.document_chunks c where c.user_id = _file.user_id and c.file_id = _file.id;

  insert into oxbow.memories (user_id, memory_type, id, content, source, seq, metadata)
  select _file.user_id, 'document', c.id, c.content, 'ingest',
         (extract(epoch from statement_timestamp()) * 1000000)::bigint + c.nth,
         oxbow.chunk_metadata(c.more, _file.id, _file.path, _file.media_type, c.nth, _count)
    from unnest(_ids, _new, ingest_file.contents, ingest_file.chunk_metadata)
           with ordinality c(id, new, content, more, nth)
   where c.new order by c.nth;
  insert into oxbow.document_chunks (user_id, file_id, nth, memory_id)
  select _file.user_id, _file.id, c.nth, c.id from unnest(_ids) with ordinality c(id, nth);
  -- separately: a join is planned by table statistics, which a new table does not have
  for _chunk in
    select c.id, oxbow.chunk_metadata(c.more, _file.id, _file.path, _file.media_type, c.nth, _count) as metadata
      from unnest(_ids, _new, ingest_file.chunk_metadata) with ordinality c(id, new, more, nth) where not c.new
  loop
    update oxbow.memories_document m set metadata = _chunk.metadata
     where m.user_id = _file.user_id and m.memory_type = 'document' and m.id = _chunk.id
       and m.metadata <> _chunk.metadata;
  end loop;
  return query
  select _file.id, false, (select count(*)::integer from unnest(_new) n where n),
         (select count(*)::integer from unnest(_new) n where not n), cardinality(_gone);
end $$;
call oxbow.grant_app('ingest_file');

-- match_chunks returns for each text the id of an existing memory with that text, or a new id. A text that
-- occurs several times is matched as often as it existed. The lists may be long, so they are joined by
-- hash, not row by row.
create or replace function oxbow.match_chunks(_old uuid[], _old_hashes bytea[], _contents text[], out ids uuid[],
  out new boolean[])
language plpgsql set search_path = pg_catalog, pg_temp set enable_nestloop = off set jit = off as $$
begin
  select array_agg(coalesce(o.id, gen_random_uuid()) order by n.nth), array_agg(o.id is null order by n.nth)
    into ids, new
    from (select h.nth, h.hash, row_number() over (partition by h.hash order by h.nth) as copy
            from (select c.nth, sha256(convert_to(c.content, 'UTF8')) as hash
                    from unnest(_contents) with ordinality c(content, nth)) h) n
    left join (select h.id, h.hash, row_number() over (partition by h.hash order by h.nth) as copy
                 from unnest(_old, _old_hashes) with ordinality h(id, hash, nth)) o
      on o.hash = n.hash and o.copy = n.copy;
end $$;

-- chunk_metadata returns the metadata of a chunk's memory: the given metadata and that of the file. Each chunk repeats the
-- name of the file, so it is cut to 255 characters.
create or replace function oxbow.chunk_metadata(_given jsonb, _file_id uuid, _path text, _media_type text, _nth bigint,
  _count integer) returns jsonb
language sql immutable set search_path = pg_catalog, pg_temp
return coalesce(_given, '{}') || jsonb_build_object('file_id', _file_id,
  'file_name', left(coalesce(nullif(regexp_replace(_path, '^.*[/\\]', ''), ''), _path), 255),
  'media_type', _media_type, 'chunk_index', _nth, 'chunk_count', _count);

-- lock_chunks locks the memories of a file's chunks and the versions that people made of them, in the order
-- of their ids as everywhere, and returns their ids.
create or replace function oxbow.lock_chunks(_user_id text, _file_id uuid) returns uuid[]
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  _ids uuid[];
begin
  _ids := array(select c.memory_id from oxbow.document_chunks c where c.user_id = _user_id and c.file_id = _file_id);
  _ids := oxbow.with_later_versions(_user_id, _ids);
  perform from oxbow.memories_document m where m.user_id = _user_id and m.id = any (_ids) order by m.id for update;
  return _ids;
end $$;

-- with_later_versions adds the memories that supersede the given documents.
create or replace function oxbow.with_later_versions(_user_id text, _ids uuid[]) returns uuid[]
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  _later uuid[] := _ids;
begin
  loop
    _later := array(select m.superseded_by from oxbow.memories_document m
                     where m.user_id = _user_id and m.id = any (_later) and m.superseded_by <> all (_ids));
    exit when cardinality(_later) = 0;
    _ids := _ids || _later;
  end loop;
  return _ids;
end $$;

-- erase_documents is erase_memory for many documents at once, including later versions, in a few
-- statements. The caller holds their locks. Documents are not reflected on; if a trait depends on one
-- nevertheless, erase_memory reweighs it.
create or replace function oxbow.erase_documents(_user_id text, _ids uuid[]) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  _id uuid;
  _n bigint;
begin
  _ids := oxbow.with_later_versions(_user_id, _ids);
  if cardinality(_ids) = 0 then
    return 0;
  end if;
  for _id in
    select e.memory_id from oxbow.trait_evidence e
     where e.user_id = _user_id and e.memory_type = 'document' and e.memory_id = any (_ids)
     union
    select c.memory_id from oxbow.trait_clues c
     where c.user_id = _user_id and c.memory_type = 'document' and c.memory_id = any (_ids)
     order by 1
  loop
    perform oxbow.erase_and_count(_user_id, _id);
  end loop;
  -- the foreign keys delete the rest
  delete from oxbow.memories_document m where m.user_id = _user_id and m.id = any (_ids);
  get diagnostics _n = row_count;
  perform pg_advisory_xact_lock(hashtextextended('oxbow.activity', hashtext(_user_id) & 1023)); -- as in erase_one
  update oxbow.activity a set memory_ids = array(select i.id from unnest(a.memory_ids) i(id) where i.id <> all (_ids))
   where a.user_id = _user_id
     and a.id in (select l.id from oxbow.activity l
                   where l.user_id = _user_id and l.memory_ids && _ids for update skip locked);

  perform oxbow.erase_documents_from_jobs(_user_id, _ids);
  return _n;
end $$;

-- erase_documents_from_jobs is erase_from_jobs for many memories.
create or replace function oxbow.erase_documents_from_jobs(_user_id text, _ids uuid[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp set enable_nestloop = off set jit = off as $$
begin
  with named as (
    select j.id as job, i.id, i.nth
      from oxbow.river_job j, unnest(string_to_array(j.args ->> 'ids', ',')) with ordinality i(id, nth)
     where j.args ->> 'user_id' = _user_id
  ), left_over as materialized (
    select n.job, string_agg(n.id, ',' order by n.nth) filter (where g.id is null) as ids
      from named n left join unnest(_ids) g(id) on g.id::text = n.id
     group by n.job having count(g.id) > 0
  ), emptied as (
    delete from oxbow.river_job j using left_over l where j.id = l.job and l.ids is null
  )
  update oxbow.river_job j
     set args = jsonb_set(j.args, '{ids}', to_jsonb(l.ids)), errors = null
    from left_over l where j.id = l.job and l.ids is not null;
end $$;

-- delete_file erases a file with the memories of its chunks, and returns their number. Error OX110: no such
-- file.
create or replace function oxbow.delete_file(user_id text, path text) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  _file_id uuid;
  _erased bigint;
begin
  perform oxbow.check_access(delete_file.user_id);
  if delete_file.path is null then
    perform oxbow.reject('path', null, 'must not be null');
  end if;
  perform oxbow.lock_file(delete_file.user_id, delete_file.path);
  select f.id into _file_id from oxbow.document_files f
   where f.user_id = delete_file.user_id and f.path = delete_file.path;
  if not found then
    raise exception using
      errcode = 'OX110',
      message = format('user %L has no file %L', left(delete_file.user_id, 255), left(delete_file.path, 1024)),
      hint    = 'The table oxbow.document_files lists the files of a user.';
  end if;
  _erased := oxbow.erase_documents(delete_file.user_id, oxbow.lock_chunks(delete_file.user_id, _file_id));
  delete from oxbow.document_files f where f.user_id = delete_file.user_id and f.id = _file_id;
  insert into oxbow.open_erasures (user_id, kind, path) values (delete_file.user_id, 'file', delete_file.path);
  return _erased;
end $$;
call oxbow.grant_app('delete_file');
