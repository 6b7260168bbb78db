-- name: EmbeddingSetting :one
select (value ->> 'model')::text as model, (value ->> 'dimension')::integer as dimension
from oxbow.settings where key = 'embedding';

-- name: IndexMemories :one
select count(*) as taken_up from oxbow.index_memories(@user_id::text, @ids::uuid[]);

-- name: MemoriesToEmbed :many
-- What embed has to do for the memories, of those that are still there.
select e.id::uuid as id, e.content::text as content, e.speaker::text as speaker,
  e.has_terms::boolean as has_terms, e.has_vector::boolean as has_vector
from oxbow.embeddables(@user_id::text, @ids::uuid[], @model::text) e;

-- name: RefuseVectors :exec
select oxbow.refuse_vectors(@user_id::text, @model::text, @ids::uuid[], @reason::text);
