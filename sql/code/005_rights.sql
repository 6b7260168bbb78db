-- Rights on functions are an allow-list. migrate revokes everything in the schema from PUBLIC, and each
-- function that roles other than the owner call has its grant next to its definition. A function called by
-- a SECURITY INVOKER function, a check constraint, a view or a trigger also needs the grant to the
-- application. Grants to a group role that does not exist are skipped; migrate reinstalls the code once the
-- role exists.

-- grant_app lets applications and workers execute functions of the schema. The functions have no overloads.
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

-- grant_worker lets only workers execute functions of the schema.
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

-- grant_operator lets operators execute functions of the schema, besides those whom other grants allow.
create or replace procedure oxbow.grant_operator(variadic _functions name[])
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if to_regrole('oxbow_operator') is not null then
    for i in 1 .. cardinality(_functions) loop
      execute format('grant execute on routine oxbow.%I to oxbow_operator', _functions[i]);
    end loop;
  end if;
end $$;

-- River's; used in an index that inserting or changing a job evaluates
call oxbow.grant_worker('river_job_state_in_bitmask');
call oxbow.grant_operator('river_job_state_in_bitmask');
