-- Who may see what. Row-level security is on for every table with a user_id, partitions included, since a parent's
-- policies do not cover a statement on its partition. The owner is not subject to it. A login of the group oxbow_app
-- reads and changes the rows of the user named in the setting oxbow.user_id, and may insert memories, vectors and messages
-- for anyone; with no setting it reads nothing. The worker sees everything.
-- Run after a migration too, so that a new table is covered; a group role that does not exist is left out.
create or replace procedure oxbow.secure_tables()
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  app constant boolean := to_regrole('oxbow_app') is not null;
  worker constant boolean := to_regrole('oxbow_worker') is not null;
  own constant text := 'user_id = current_setting(''oxbow.user_id'', true)';
  t record;
begin
  for t in
    select c.oid::regclass as name, coalesce(parent.relname, c.relname) as family, c.relispartition
      from pg_class c
      join pg_attribute a on a.attrelid = c.oid and a.attname = 'user_id' and not a.attisdropped
      left join pg_inherits i on i.inhrelid = c.oid and c.relispartition
      left join pg_class parent on parent.oid = i.inhparent
     where c.relnamespace = 'oxbow'::regnamespace and c.relkind in ('r', 'p')
     order by c.relname
  loop
    if not (select relrowsecurity from pg_class where oid = t.name) then
      execute format('alter table %s enable row level security', t.name);
    end if;
    if worker then
      execute format('grant select, insert, update, delete on %s to oxbow_worker', t.name);
      perform oxbow.set_policy(t.name, 'worker', 'for all to oxbow_worker using (true) with check (true)');
    end if;
    continue when not app;
    execute format('grant select on %s to oxbow_app', t.name);
    perform oxbow.set_policy(t.name, 'app_select', 'for select to oxbow_app using (' || own || ')');
    if t.family in ('memories', 'memory_vectors', 'messages') then
      execute format('grant insert on %s to oxbow_app', t.name);
      perform oxbow.set_policy(t.name, 'app_insert', 'for insert to oxbow_app with check (true)');
    elsif t.family in ('users', 'sessions') then
      execute format('grant insert on %s to oxbow_app', t.name);
      perform oxbow.set_policy(t.name, 'app_insert', 'for insert to oxbow_app with check (' || own || ')');
    end if;
    if t.family in ('memories', 'messages', 'users', 'sessions') then
      execute format('grant update, delete on %s to oxbow_app', t.name);
      perform oxbow.set_policy(t.name, 'app_update', 'for update to oxbow_app using (' || own || ') with check (' || own || ')');
      perform oxbow.set_policy(t.name, 'app_delete', 'for delete to oxbow_app using (' || own || ')');
    end if;
  end loop;

  if not (select relrowsecurity from pg_class where oid = 'oxbow.settings'::regclass) then
    alter table oxbow.settings enable row level security;
  end if;
  if app then
    grant usage on schema oxbow to oxbow_app;
    -- the rest of the settings is the worker's own, and names users
    grant select on oxbow.settings to oxbow_app;
    grant select on oxbow.traits to oxbow_app; -- a view with the rights of whoever looks
    perform oxbow.set_policy('oxbow.settings', 'app_select', 'for select to oxbow_app using (key in (''embedding'', ''recall''))');
  end if;
  if worker then
    perform oxbow.set_policy('oxbow.settings', 'worker', 'for all to oxbow_worker using (true) with check (true)');
    grant usage on schema oxbow to oxbow_worker;
    grant select on oxbow.traits to oxbow_worker;
    grant select, insert, update, delete on oxbow.settings, oxbow.river_job, oxbow.river_leader, oxbow.river_queue, oxbow.river_notification to oxbow_worker;
    grant select on oxbow.river_migration to oxbow_worker;
    grant usage, select on all sequences in schema oxbow to oxbow_worker;
  end if;
end $$;

-- set_policy makes a policy where it is missing or different, because making it locks the table.
create or replace function oxbow.set_policy(_table regclass, _name text, _policy text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if not exists (select from pg_policy p where p.polrelid = _table and p.polname = _name
                   and obj_description(p.oid, 'pg_policy') = _policy) then
    if exists (select from pg_policy p where p.polrelid = _table and p.polname = _name) then
      execute format('drop policy %I on %s', _name, _table);
    end if;
    execute format('create policy %I on %s %s', _name, _table, _policy);
    execute format('comment on policy %I on %s is %L', _name, _table, _policy);
  end if;
end $$;

-- Only the owner and the worker need these.
do $$
declare f regprocedure;
begin
  for f in select p.oid::regprocedure from pg_proc p
            where p.pronamespace = 'oxbow'::regnamespace and p.proname in
              ('secure_tables', 'set_policy', 'index_memories', 'fold_facts', 'uncount_terms', 'enqueue_embed', 'ring_doorbell', 'recall_text', 'recall_vector', 'clean_terms',
               'replay_trait', 'record_event', 'write_state', 'settle_traits', 'lock_trait', 'reword_trait', 'reweigh_trait', 'reweigh_traits',
               'take_messages', 'similar_facts', 'write_extraction')
  loop
    execute format('revoke all on routine %s from public', f);
    if to_regrole('oxbow_worker') is not null and f::text ~ 'index_memories|fold_facts|clean_terms|_trait\(|record_event|write_state|settle_traits|similar_facts|write_extraction' then
      execute format('grant execute on function %s to oxbow_worker', f);
    end if;
  end loop;
end $$;

call oxbow.secure_tables();
