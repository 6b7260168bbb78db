-- write_vectors stores the vectors of memories that still exist and have none. Each memory is identified by
-- its user and id; a single user applies to all. The model must match the settings (error OX001). The lock
-- is shared; reembed takes it exclusively while it exchanges the table and the setting, so no vector of the
-- old model ends up among the new ones. These functions look up each memory separately, as index_memories
-- does.
drop function if exists oxbow.write_vectors(text[], text, integer, uuid[], halfvec[]); -- of an earlier version
create or replace function oxbow.write_vectors(_user_ids text[], _model jsonb, _ids uuid[], _embeddings halfvec[])
returns bigint language plpgsql
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  _current jsonb;
  _written bigint;
begin
  perform pg_advisory_xact_lock_shared(hashtextextended('oxbow.embedding', 0));
  select value into _current from oxbow.settings where key = 'embedding';
  if _current is distinct from _model then
    raise exception using
      errcode = 'OX001',
      message = format('the database holds vectors of %s, these are of %s', coalesce(_current::text, 'no model'),
                       left(_model::text, 1000)),
      detail  = _current::text;
  end if;
  -- in the order of users and ids, as in every statement that locks several memories
  insert into oxbow.memory_vectors (user_id, memory_type, memory_id, embedding)
  select m.user_id, m.memory_type, m.id, v.embedding
    from (select coalesce(v.user_id, _user_ids[1]) as user_id, v.id, v.embedding
            from unnest(_user_ids, _ids, _embeddings) v(user_id, id, embedding) order by 1, 2) v
   cross join lateral (select m.* from oxbow.memories m where m.user_id = v.user_id and m.id = v.id for key share) m
  on conflict do nothing;
  get diagnostics _written = row_count;
  return _written;
end $$;
call oxbow.grant_worker('write_vectors');

-- refuse_vectors records that a provider refuses the texts of memories.
create or replace function oxbow.refuse_vectors(_user_ids text[], _model text, _ids uuid[], _reason text)
returns void language sql set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
  insert into oxbow.embedding_refusals (user_id, memory_type, memory_id, model, reason)
  select m.user_id, m.memory_type, m.id, _model, left(_reason, 1000)
    from (select distinct coalesce(u.user_id, _user_ids[1]) as user_id, u.id from unnest(_user_ids, _ids) u(user_id, id)
           order by 1, 2) i
   cross join lateral (select m.* from oxbow.memories m where m.user_id = i.user_id and m.id = i.id for key share) m
  on conflict do nothing;
$$;
call oxbow.grant_worker('refuse_vectors');

-- embeddables returns the remaining work of embed for memories that exist and are neither forgotten nor sealed. A text
-- that the model's provider refuses counts as having a vector, and so does a tag or a trace. A summary is embedded with
-- its original text. The plan is kept, because planning takes longer than execution.
drop function if exists oxbow.embeddables(text[], uuid[], text); -- an earlier version had fewer columns
create or replace function oxbow.embeddables(_user_ids text[], _ids uuid[], _model text)
returns table (user_id text, id uuid, content text, speaker text, others text, metadata jsonb, has_terms boolean,
  has_vector boolean)
language plpgsql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
  set enable_seqscan = off as $$
begin
  return query
  select m.user_id, m.id, case when m.level = 'summary'
           then coalesce((select a.content from oxbow.memory_archive a
                           where a.user_id = m.user_id and a.memory_type = m.memory_type and a.memory_id = m.id), m.content)
           else m.content end,
         coalesce(m.speaker, ''), concat_ws(E'\n', m.category, m.topic, m.reference), nullif(m.metadata, '{}'),
         (select true from oxbow.memory_terms t
           where t.user_id = m.user_id and t.memory_type = m.memory_type and t.memory_id = m.id) is not null,
         (select true from oxbow.memory_vectors v
           where v.user_id = m.user_id and v.memory_type = m.memory_type and v.memory_id = m.id) is not null
         or (select true from oxbow.embedding_refusals r
              where r.user_id = m.user_id and r.memory_type = m.memory_type and r.memory_id = m.id
                and r.model = _model) is not null
         or m.level in ('tag', 'trace')
    from (select distinct coalesce(u.user_id, _user_ids[1]) as user_id, u.id from unnest(_user_ids, _ids) u(user_id, id)
           order by 1, 2) i
   cross join lateral (select * from oxbow.memories m where m.user_id = i.user_id and m.id = i.id offset 0) m
   where m.forgotten_at is null and m.sensitivity < 2 and m.level <> 'archive';
end $$;
call oxbow.grant_worker('embeddables');
