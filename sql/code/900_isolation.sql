-- secure_tables sets up row-level security for every table with a user_id, including partitions, because a
-- parent's policies do not cover a statement on its partition. The owner is exempt. A login of the group
-- oxbow_app reads and changes the rows of the user in the setting oxbow.user_id, except keys and sessions, and may insert
-- memories, vectors, messages and the sensory stream for any user; without the setting, or if it is empty, it reads
-- nothing. The worker sees everything except keys. oxbow_operator, which "oxbow serve" becomes for operators and for its
-- keys, sessions and log, reads everything and writes these, the queue and the webhooks. migrate also runs this after a
-- migration, so that new tables are covered. A group role that does not exist is skipped.
create or replace procedure oxbow.secure_tables()
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  app constant boolean := to_regrole('oxbow_app') is not null;
  worker constant boolean := to_regrole('oxbow_worker') is not null;
  operator constant boolean := to_regrole('oxbow_operator') is not null;
  t record;
begin
  -- no day of the sensory stream may be created or dropped meanwhile
  perform pg_advisory_xact_lock(hashtextextended('oxbow.sensory', 0));
  for t in
    select c.oid::regclass as name, coalesce(parent.relname, c.relname) as family
      from pg_class c
      join pg_attribute a on a.attrelid = c.oid and a.attname = 'user_id' and not a.attisdropped
      left join pg_inherits i on i.inhrelid = c.oid and c.relispartition
      left join pg_class parent on parent.oid = i.inhparent
     where c.relnamespace = 'oxbow'::regnamespace and c.relkind in ('r', 'p')
     order by c.relname
  loop
    call oxbow.secure_table(t.name, t.family);
  end loop;

  if not (select relrowsecurity from pg_class where oid = 'oxbow.settings'::regclass) then
    alter table oxbow.settings enable row level security;
  end if;
  if app then
    grant usage on schema oxbow to oxbow_app;
    grant usage on type oxbow.memory_type to oxbow_app; -- for temporary tables like ours, which COPY fills
    -- the other settings belong to the worker and name users
    grant select on oxbow.settings to oxbow_app;
    grant select on oxbow.traits, oxbow.history, oxbow.policies to oxbow_app; -- views with the caller's rights
    grant select on oxbow.policy_definitions, oxbow.policy_changes, oxbow.trait_rules, oxbow.recall_rules,
      oxbow.category_names, oxbow.profile_mapping to oxbow_app;
    perform oxbow.ensure_policy('oxbow.settings', 'app_select',
      'for select to oxbow_app using (key in (''embedding'', ''recall'', ''secrets'', ''sensory''))');
  end if;
  if worker then
    perform oxbow.ensure_policy('oxbow.settings', 'worker', 'for all to oxbow_worker using (true) with check (true)');
    grant usage on schema oxbow to oxbow_worker;
    grant usage on type oxbow.memory_type to oxbow_worker;
    grant select on oxbow.policies, oxbow.policy_definitions, oxbow.policy_changes, oxbow.trait_rules,
      oxbow.recall_rules, oxbow.category_names, oxbow.strategies to oxbow_worker;
    grant select, insert, update, delete on oxbow.settings, oxbow.river_job, oxbow.river_leader, oxbow.river_queue,
      oxbow.river_notification to oxbow_worker;
    grant usage on sequence oxbow.river_job_id_seq, oxbow.river_notification_id_seq to oxbow_worker;
    grant select, insert, update on oxbow.job_schedules to oxbow_worker;
    grant select, insert, delete on oxbow.pattern_counts to oxbow_worker;
    grant select, insert on oxbow.pattern_releases to oxbow_worker;
    grant select, update on oxbow.webhooks to oxbow_worker;
  end if;
  if operator then
    grant usage on schema oxbow to oxbow_operator;
    grant select on all tables in schema oxbow to oxbow_operator;
    perform oxbow.ensure_policy('oxbow.settings', 'operator', 'for select to oxbow_operator using (true)');
    grant insert, update on oxbow.api_keys to oxbow_operator;
    perform oxbow.ensure_policy('oxbow.api_keys', 'operator_change',
      'for all to oxbow_operator using (true) with check (true)');
    grant insert, delete on oxbow.page_sessions to oxbow_operator;
    perform oxbow.ensure_policy('oxbow.page_sessions', 'operator_change',
      'for all to oxbow_operator using (true) with check (true)');
    grant insert on oxbow.api_log to oxbow_operator;
    perform oxbow.ensure_policy('oxbow.api_log', 'operator_insert', 'for insert to oxbow_operator with check (true)');
    grant update on oxbow.river_job to oxbow_operator;
    grant insert, update, delete on oxbow.webhooks to oxbow_operator;
  end if;
end $$;

-- secure_table secures one table. _family is its name, or for a partition its parent's name. It is also
-- called for partitions created at runtime.
create or replace procedure oxbow.secure_table(_table regclass, _family name)
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  app constant boolean := to_regrole('oxbow_app') is not null;
  worker constant boolean := to_regrole('oxbow_worker') is not null;
  -- A setting that SET LOCAL has set is empty afterwards, and an empty user_id is that of the keys of operators.
  own constant text := 'user_id = nullif(current_setting(''oxbow.user_id'', true), '''')';
begin
  if not (select relrowsecurity from pg_class where oid = _table) then
    execute format('alter table %s enable row level security', _table);
  end if;
  if worker then
    if _family in ('page_sessions', 'api_answers', 'api_log') then -- settle deletes old rows
      execute format('grant select, update, delete on %s to oxbow_worker', _table);
    elsif _family <> 'api_keys' then
      execute format('grant select, insert, update, delete on %s to oxbow_worker', _table);
    end if;
    perform oxbow.ensure_policy(_table, 'worker', 'for all to oxbow_worker using (true) with check (true)');
  end if;
  if to_regrole('oxbow_operator') is not null then
    perform oxbow.ensure_policy(_table, 'operator', 'for select to oxbow_operator using (true)');
  end if;
  if not app or _family in ('api_keys', 'page_sessions') then
    if exists (select from pg_policy p where p.polrelid = _table and p.polname = 'app_select') then -- of an earlier version
      execute format('drop policy app_select on %s', _table);
    end if;
    return;
  end if;
  execute format('grant select on %s to oxbow_app', _table);
  perform oxbow.ensure_policy(_table, 'app_select', 'for select to oxbow_app using (' || own || ')');
  if _family in ('memories', 'memory_vectors', 'messages', 'sensory') then
    execute format('grant insert on %s to oxbow_app', _table);
    perform oxbow.ensure_policy(_table, 'app_insert', 'for insert to oxbow_app with check (true)');
  elsif _family in ('users', 'sessions', 'api_answers', 'api_log', 'import_parts') then
    execute format('grant insert on %s to oxbow_app', _table);
    perform oxbow.ensure_policy(_table, 'app_insert', 'for insert to oxbow_app with check (' || own || ')');
  end if;
  if _family in ('memories', 'messages', 'users', 'sessions') then
    execute format('grant update, delete on %s to oxbow_app', _table);
    perform oxbow.ensure_policy(_table, 'app_update',
                                'for update to oxbow_app using (' || own || ') with check (' || own || ')');
    perform oxbow.ensure_policy(_table, 'app_delete', 'for delete to oxbow_app using (' || own || ')');
  elsif _family = 'import_parts' then
    execute format('grant delete on %s to oxbow_app', _table);
    perform oxbow.ensure_policy(_table, 'app_delete', 'for delete to oxbow_app using (' || own || ')');
  end if;
end $$;

-- ensure_policy creates a policy if it is missing or differs. It leaves an equal one alone, because
-- creating it locks the table.
create or replace function oxbow.ensure_policy(_table regclass, _name text, _policy text) returns void
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

call oxbow.secure_tables();
