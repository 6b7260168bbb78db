-- name: ActivityFold :one
select oxbow.fold_activity(@max::integer)::bigint as taken;
