-- reject raises the error of a failed check constraint, with the field, the value and the rule.
create or replace function oxbow.reject(field text, value text, rule text) returns boolean
language plpgsql immutable as $$
begin
  raise exception using
    errcode = 'check_violation',
    column  = field,
    message = format('%s %s', field, rule),
    detail  = case
      when value is null then 'The value is null.'
      when length(value) > 60
      then format('The value begins with %L and has %s bytes.', left(value, 60), octet_length(value))
      else format('The value is %L.', value) end;
end $$;
call oxbow.grant_app('reject');
call oxbow.grant_operator('reject');

-- is_timezone reports whether PostgreSQL knows the time zone by name. A bare offset such as +08:00 is not a name: in
-- POSIX it is west of Greenwich. Only the names that import makes of offsets may have digits, and a few old ones.
create or replace function oxbow.is_timezone(name text) returns boolean
language plpgsql stable as $$
begin
  perform now() at time zone name;
  return name is null or name !~ '[0-9]'
    or name ~ '^(<[-+]\d\d:\d\d>[-+]\d\d:\d\d|(Etc/)?GMT[-+]?(\d|1[0-4])|[CEMP]ST[5-8][CEMP]DT)$';
exception when invalid_parameter_value then
  return false;
end $$;
call oxbow.grant_app('is_timezone');

-- Every insert of a memory computes content_hash. It is defined in migrations/001_settings.sql.
call oxbow.grant_app('content_hash');
