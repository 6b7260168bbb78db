-- name: InboxDelete :execrows
delete from oxbow.reflection_inbox
where user_id = @user_id::text and memory_type = @memory_type::text and memory_id = any(@memory_ids::uuid[]);

-- name: InboxDeleteUser :execrows
delete from oxbow.reflection_inbox where user_id = @user_id::text;

-- name: InboxHasMore :one
select exists (select from oxbow.reflection_inbox where user_id = @user_id::text);

-- name: InboxUsersDue :many
-- The next users who have something in their inbox, and whether and why it is to be reflected on now.
select u.user_id::text as user_id, coalesce(d.trigger_type, '')::text as trigger_type, coalesce(d.trigger_value, 0)::double precision as trigger_value
from oxbow.inbox_users(@after::text, @max::integer) as u(user_id), oxbow.reflection_due(u.user_id, coalesce(sqlc.narg('now')::timestamptz, now())) as d;

-- name: ReflectionCycleInsert :exec
insert into oxbow.reflection_cycles (user_id, id, trigger_type, trigger_value, memories_scanned, traits_created, traits_updated,
  traits_dissolved, started_at, now, reasoner, dropped, completed_at, status, error_message)
values (@user_id::text, @id::uuid, @trigger_type::text, @trigger_value::double precision, @memories_scanned::integer,
  @traits_created::integer, @traits_updated::integer, @traits_dissolved::integer, @started_at::timestamptz, @now::timestamptz,
  @reasoner::text, @dropped::jsonb, clock_timestamp(),
  case when @error_message::text = '' then 'completed' else 'failed' end, nullif(@error_message::text, ''));

-- name: ReflectionDue :one
select coalesce(trigger_type, '')::text as trigger_type, coalesce(trigger_value, 0)::double precision as trigger_value
from oxbow.reflection_due(@user_id::text, coalesce(sqlc.narg('now')::timestamptz, now()));

-- name: ReflectRing :exec
select pg_notify('oxbow.river_insert', '{"queue":"reflect"}');

-- name: SessionsReflected :exec
-- Conversations in which something happened since they were last reflected on, in the order of their ids, as all do who lock
-- several.
update oxbow.sessions s set last_reflected_at = @at::timestamptz
  from (select o.id from oxbow.sessions o
         where o.user_id = @user_id::text and o.last_activity_at <= @at::timestamptz
           and greatest(o.last_activity_at, o.ended_at) > coalesce(o.last_reflected_at, '-infinity')
         order by o.id for no key update) o
where s.user_id = @user_id::text and s.id = o.id;

-- name: UserOptedOut :one
select exists (select from oxbow.users where user_id = @user_id::text and opted_out);

-- name: TrendWindow :one
select trait_window_end from oxbow.memories_trait
where user_id = @user_id::text and id = @id::uuid and trait_stage = 'trend' and expired_at is null;
