-- Attachments: an image, recording or file whose caption repeats a memory, or that names it, is folded into that
-- memory, as a fact in the same words is. The memory supersedes it, counts it as a mention, and shows its reference.
-- sql/code/089_attach.sql decides.

-- is_attached reports whether a memory is an image, recording or file that was folded into the memory that supersedes
-- it. An earlier version of a memory has a link from its successor instead.
create or replace function oxbow.is_attached(_memory oxbow.memories) returns boolean
language sql stable parallel safe
return (_memory).reference is not null and (_memory).superseded_by is not null and not exists (
  select from oxbow.memory_links l
   where l.user_id = (_memory).user_id and l.to_type = (_memory).memory_type and l.to_id = (_memory).id
     and l.from_id = (_memory).superseded_by and l.relation in ('supersedes', 'merged_from'));
call oxbow.grant_worker('is_attached');

-- attachments returns the images, recordings and files that were folded into a memory, oldest first, or null:
-- [{"id", "modality", "reference", "caption", "at"}]. It returns the latest 10. believed_as_of selects those that were
-- known then.
create or replace function oxbow.attachments(user_id text, id uuid, believed_as_of timestamptz default null)
returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
  set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
#variable_conflict error
begin
  perform oxbow.check_access(attachments.user_id);
  return (
    with recursive folded as ( -- also attachments of a fact that was folded itself
      select attachments.id as id
      union
      select m.id from folded f
       cross join lateral (select m.* from oxbow.memories m
                            where m.user_id = attachments.user_id and m.superseded_by = f.id offset 0) m
       where m.forgotten_at is null and m.sensitivity < 2
         and m.expired_at <= coalesce(attachments.believed_as_of, 'infinity')
         and not exists (select from oxbow.memory_links l
                          where l.user_id = attachments.user_id and l.to_type = m.memory_type and l.to_id = m.id
                            and l.from_id = f.id and l.relation = 'supersedes')
    )
    select jsonb_agg(jsonb_build_object('id', a.id, 'modality', a.modality, 'reference', a.reference,
                                        'caption', a.content, 'at', a.at) order by a.at, a.id)
      from (select u.* from (
              select distinct on (m.reference) m.id, m.modality, m.reference, m.content,
                     coalesce(m.valid_at, m.created_at) as at
                from folded f
               cross join lateral (select m.* from oxbow.memories m
                                    where m.user_id = attachments.user_id and m.id = f.id offset 0) m
               where m.reference is not null
               order by m.reference, f.id <> attachments.id, m.created_at, m.id) u
             where u.id <> attachments.id
             order by u.at desc, u.id limit 10) a);
end $$;
call oxbow.grant_app('attachments');
