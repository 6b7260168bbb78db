-- Policies: the numbers of the domain, with their ranges and their values over time.

-- policies shows the values in force.
create or replace view oxbow.policies with (security_invoker = true) as
select d.name, coalesce(c.value, d."default") as value, d."default", d.minimum, d.maximum, d.unit, d.source, d.meaning,
       c.valid_from
  from oxbow.policy_definitions d
  left join lateral (select c.value, c.valid_from from oxbow.policy_changes c
                      where c.name = d.name order by c.valid_from desc limit 1) c on true;

-- policy returns the value of a policy in force at _at.
create or replace function oxbow.policy(_name text, _at timestamptz default 'infinity') returns double precision
language sql stable parallel safe set search_path = pg_catalog, pg_temp as $$
  select coalesce((select c.value from oxbow.policy_changes c
                    where c.name = d.name and c.valid_from <= _at order by c.valid_from desc limit 1), d."default")
    from oxbow.policy_definitions d where d.name = _name;
$$;
call oxbow.grant_worker('policy');

-- set_policy changes a policy from now on. Values computed for earlier moments do not change, and the job settle
-- recomputes when traits change stage. Only the owner may call it, in a separate transaction: until the commit, other
-- sessions still use the old value.
create or replace function oxbow.set_policy(name text, value double precision) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform pg_advisory_xact_lock(hashtextextended('oxbow.policies', 0));
  if set_policy.value = oxbow.policy(set_policy.name) then
    return; -- every change makes the decay of traits before it a little slower
  end if;
  insert into oxbow.policy_changes (name, valid_from, value)
  select set_policy.name, greatest(clock_timestamp(), max(c.valid_from) + interval '1 microsecond'), set_policy.value
    from oxbow.policy_changes c;
end $$;

-- check_policy_change rejects an unknown policy, a value outside its range, and a change of the past or the future.
create or replace function oxbow.check_policy_change() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  d oxbow.policy_definitions;
begin
  select * into d from oxbow.policy_definitions p where p.name = new.name;
  if not found then
    perform oxbow.reject('name', new.name, 'must be a policy in the view oxbow.policies');
  elsif new.value is null or not new.value between d.minimum and d.maximum then
    perform oxbow.reject('value', new.value::text,
      format('of %s must be between %s and %s', d.name, d.minimum, d.maximum));
  elsif new.value <> 0 and abs(new.value) < 1e-9 then -- products of it would leave the range of the type
    perform oxbow.reject('value', new.value::text, format('of %s must be 0 or at least 1e-9', d.name));
  elsif new.valid_from <= (select max(c.valid_from) from oxbow.policy_changes c)
     or new.valid_from not between clock_timestamp() - interval '2 seconds' and clock_timestamp() + interval '2 seconds'
  then
    perform oxbow.reject('valid_from', new.valid_from::text, 'must be now, after all other changes');
  end if;
  return new;
end $$;
create or replace trigger check_policy_change before insert on oxbow.policy_changes
  for each row execute function oxbow.check_policy_change();

-- refuse_late_policy_change rejects, at the commit, a change that other transactions could not see for long, because
-- they wrote events by the old value. To wait for them with a lock would stop all writers.
create or replace function oxbow.refuse_late_policy_change() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if clock_timestamp() > new.valid_from + interval '2 seconds' then
    raise exception using errcode = 'invalid_transaction_state',
      message = format('%s must be committed within 2 seconds of set_policy', new.name),
      hint = 'Call set_policy outside of a transaction block.';
  end if;
  return null;
end $$;
do $$
begin
  if not exists (select from pg_trigger t where t.tgrelid = 'oxbow.policy_changes'::regclass
                   and t.tgname = 'refuse_late_policy_change') then
    create constraint trigger refuse_late_policy_change after insert on oxbow.policy_changes
      deferrable initially deferred for each row execute function oxbow.refuse_late_policy_change();
  end if;
end $$;

-- policy_changes and the tables of rules only grow, and the defaults are part of the past.
create or replace function oxbow.refuse_policy_change() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  raise exception using errcode = 'integrity_constraint_violation', message = 'policy changes are append-only',
    hint = 'Change a policy with select oxbow.set_policy(name, value).';
end $$;
create or replace trigger refuse_policy_change before update or delete or truncate on oxbow.policy_changes
  for each statement execute function oxbow.refuse_policy_change();
create or replace trigger refuse_policy_change before update or delete or truncate on oxbow.trait_rules
  for each statement execute function oxbow.refuse_policy_change();
create or replace trigger refuse_policy_change before update or delete or truncate on oxbow.recall_rules
  for each statement execute function oxbow.refuse_policy_change();
create or replace trigger refuse_policy_change before update of name, "default" or delete or truncate
  on oxbow.policy_definitions for each statement execute function oxbow.refuse_policy_change();

-- note_rules records the policies in force from a moment on in the tables of rules that they change. Each column
-- of these tables is a policy, in trait_rules without the prefix trait_.
create or replace function oxbow.note_rules(_from timestamptz) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  _rules constant jsonb := jsonb_build_object('valid_from', _from)
    || (select jsonb_object_agg(regexp_replace(d.name, '^trait_', ''), oxbow.policy(d.name, _from))
          from oxbow.policy_definitions d);
  _table text;
begin
  foreach _table in array array['trait_rules', 'recall_rules'] loop
    execute format('insert into oxbow.%1$I
      select r.* from jsonb_populate_record(null::oxbow.%1$I, $1) r
       where not exists (select from (select * from oxbow.%1$I l order by l.valid_from desc limit 1) l
                          where to_jsonb(l) - ''valid_from'' = to_jsonb(r) - ''valid_from'')
      on conflict do nothing', _table) using _rules;
  end loop;
end $$;
select oxbow.note_rules('-infinity');

-- follow_policy_change records the rules that a changed policy is part of.
create or replace function oxbow.follow_policy_change() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform oxbow.note_rules(new.valid_from);
  return null;
end $$;
create or replace trigger follow_policy_change after insert on oxbow.policy_changes
  for each row execute function oxbow.follow_policy_change();

-- trait_rules returns the policies that govern how time changes traits, newest first. A statement over many
-- traits calls it once and passes the result on.
create or replace function oxbow.trait_rules() returns oxbow.trait_rules[]
language plpgsql stable parallel safe set search_path = pg_catalog, pg_temp as $$
begin
  return array(select r from oxbow.trait_rules r order by r.valid_from desc);
end $$;
call oxbow.grant_app('trait_rules');

-- rules_at returns the policies in force at a moment.
create or replace function oxbow.rules_at(_rules oxbow.trait_rules[], _at timestamptz) returns oxbow.trait_rules
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
begin
  for i in 1 .. cardinality(_rules) loop
    if (_rules[i]).valid_from <= _at then
      return _rules[i];
    end if;
  end loop;
  return _rules[cardinality(_rules)]; -- the moment is unknown
end $$;
call oxbow.grant_app('rules_at');
