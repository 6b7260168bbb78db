-- name: SettingGet :one
select value from oxbow.settings where key = @key::text;

-- name: SettingPut :exec
insert into oxbow.settings (key, value) values (@key::text, @value::jsonb)
on conflict (key) do update set value = excluded.value, updated_at = now();
