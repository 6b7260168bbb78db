-- name: EmbeddingSetting :one
select (value ->> 'model')::text as model, (value ->> 'dimension')::integer as dimension
from oxbow.settings where key = 'embedding';

-- name: IndexMemories :one
select count(*) as taken_up from oxbow.index_memories(@user_id::text, @ids::uuid[]);

-- name: MemoriesToEmbed :many
-- What embed has to do for the memories, of those that are still there.
select m.id, m.content, coalesce(m.speaker, '')::text as speaker,
  exists (select from oxbow.memory_terms t
    where t.user_id = m.user_id and t.memory_type = m.memory_type and t.memory_id = m.id) as has_terms,
  (exists (select from oxbow.memory_vectors v
    where v.user_id = m.user_id and v.memory_type = m.memory_type and v.memory_id = m.id)
  or exists (select from oxbow.embedding_refusals r
    where r.user_id = m.user_id and r.memory_type = m.memory_type and r.memory_id = m.id and r.model = @model::text))::boolean as has_vector
from oxbow.memories m
where m.user_id = @user_id::text and m.id = any(@ids::uuid[]) and m.forgotten_at is null
order by m.id;

-- name: RefuseVectors :exec
select oxbow.refuse_vectors(@user_id::text, @model::text, @ids::uuid[], @reason::text);
