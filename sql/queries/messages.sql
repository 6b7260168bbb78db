-- name: MessagesSaid :many
-- Of what was erased nothing is told.
select id, session_id, role, speaker, left(content, 6000)::text as content, created_at, sensitivity, sealed, sealed_key
from oxbow.messages
where user_id = @user_id::text and id = any((@ids::text[])::uuid[])
order by seq, id;
