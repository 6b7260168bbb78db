-- name: SensoryAge :one
select oxbow.age_candidates(@max::integer)::bigint as looked_at;

-- name: SensoryCandidates :many
select c.hash, c.content, c.times, c.first_at, c.last_at from oxbow.sensory_candidates c
 where c.user_id = @user_id
 order by c.times desc, c.last_at desc, c.hash
 limit @max::integer;

-- name: SensoryCount :one
select oxbow.count_sensory(@max::integer)::bigint as looked_at;

-- name: SensoryLatest :many
select s.id, s.at, s.kind, s.content, s.metadata from oxbow.sensory s
 where s.user_id = @user_id
 order by s.at desc, s.id desc
 limit @max::integer;

-- name: SensoryPartitions :one
select p.made::integer as made, p.moved::bigint as moved, p.dropped::integer as dropped, p.deleted::bigint as deleted, p.put_off::integer as put_off
  from oxbow.sensory_partitions() p;
