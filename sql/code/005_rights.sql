-- Rights on functions are an allow-list: migrate revokes everything in the schema from PUBLIC, and a function that others
-- than the owner call has its grant beside its definition. Where a SECURITY INVOKER function, a check constraint, a view or
-- a trigger calls it, the application needs the grant too. A group role that does not exist is left out: migrate installs
-- the code again once it does.

-- grant_app lets applications and workers execute functions of the schema, which have no overloads.
create or replace procedure oxbow.grant_app(variadic _functions name[])
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  call oxbow.grant_worker(variadic _functions);
  if to_regrole('oxbow_app') is not null then
    for i in 1 .. cardinality(_functions) loop
      execute format('grant execute on routine oxbow.%I to oxbow_app', _functions[i]);
    end loop;
  end if;
end $$;

-- grant_worker lets only workers execute them.
create or replace procedure oxbow.grant_worker(variadic _functions name[])
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  for i in 1 .. cardinality(_functions) loop
    if to_regrole('oxbow_app') is not null then
      execute format('revoke execute on routine oxbow.%I from oxbow_app', _functions[i]);
    end if;
    if to_regrole('oxbow_worker') is not null then
      execute format('grant execute on routine oxbow.%I to oxbow_worker', _functions[i]);
    end if;
  end loop;
end $$;

call oxbow.grant_worker('river_job_state_in_bitmask'); -- River's, in an index that inserting a job evaluates
