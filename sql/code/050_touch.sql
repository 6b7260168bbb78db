-- touch reports that memories were used. Recall itself writes nothing; the worker adds the uses up (job flush_activity),
-- so no counter is fought over. A report about what was erased in the meantime leaves nothing.
create or replace function oxbow.touch(user_id text, ids uuid[]) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform oxbow.check_access(touch.user_id);
  insert into oxbow.activity (user_id, memory_id)
  select touch.user_id, used.id from unnest(ids) used(id)
   where exists (select from oxbow.memories m where m.user_id = touch.user_id and m.id = used.id);
end $$;
