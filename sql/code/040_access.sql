-- check_access raises an error if the caller may not see the user's data. Functions that run with their
-- owner's rights call it. The owner of the tables, its members and the worker may see every user; other
-- roles only the user in the setting oxbow.user_id.
create or replace function oxbow.check_access(_user_id text) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  caller constant name := oxbow.caller();
begin
  if _user_id is null or _user_id = '' then
    perform oxbow.reject('user_id', _user_id, 'must not be empty');
  end if;
  if current_setting('oxbow.user_id', true) = _user_id or oxbow.is_trusted(caller) then
    return;
  end if;
  raise exception using
    errcode = 'insufficient_privilege',
    message = format('%s may not see user %L', caller, left(_user_id, 255)),
    detail  = case when coalesce(current_setting('oxbow.user_id', true), '') = ''
                   then 'The setting oxbow.user_id is empty.'
                   else format('The setting oxbow.user_id is %L.', current_setting('oxbow.user_id', true)) end,
    hint    = format('SET LOCAL oxbow.user_id = %L in the same transaction.', left(_user_id, 255));
end $$;
call oxbow.grant_app('check_access');

-- caller returns the role that calls. Inside a SECURITY DEFINER function current_user is the owner, but the
-- setting role is still the caller's.
create or replace function oxbow.caller() returns name
language sql stable set search_path = pg_catalog, pg_temp
return case current_setting('role') when 'none' then session_user else current_setting('role')::name end;
call oxbow.grant_app('caller');

-- is_trusted reports whether a role may see every user: the owner of the tables, its members (which include
-- superusers), and the worker.
create or replace function oxbow.is_trusted(_role name) returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return pg_has_role(_role, (select relowner from pg_class where oid = 'oxbow.memories'::regclass), 'MEMBER')
      or exists (select from pg_roles r where r.rolname = 'oxbow_worker' and pg_has_role(_role, r.oid, 'MEMBER'));
end $$;
call oxbow.grant_app('is_trusted');

-- may_debug reports whether a role may recall forgotten memories, with the reason why recall leaves them out: those that
-- is_trusted names, and operators.
create or replace function oxbow.may_debug(_role name) returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return oxbow.is_trusted(_role)
      or exists (select from pg_roles r where r.rolname = 'oxbow_operator' and pg_has_role(_role, r.oid, 'MEMBER'));
end $$;
