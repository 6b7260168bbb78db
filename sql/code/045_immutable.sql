-- refuse_change rejects changes to a memory's content, level, user, type and id: a changed fact is a new row. Oxbow itself
-- changes a level, and with it the content if the original is in memory_archive. The trigger fires only for statements
-- that name one of these columns, so updates of counters and times do not pay for it.
create or replace function oxbow.refuse_change() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  field text := case when old.content is distinct from new.content then 'content'
                     when old.user_id <> new.user_id then 'user_id'
                     when old.memory_type <> new.memory_type then 'memory_type'
                     when old.id <> new.id then 'id'
                     else 'level' end;
begin
  if old.level <> new.level and oxbow.is_trusted(current_user)
    and (old.user_id, old.memory_type, old.id) = (new.user_id, new.memory_type, new.id) then
    if field = 'level' or current_setting('oxbow.origin', true) = 'levels' then -- compress_memories kept the original
      return new;
    elsif exists (select from oxbow.memory_archive a
                   where a.user_id = old.user_id and a.memory_type = old.memory_type and a.memory_id = old.id) then
      return new;
    end if;
  elsif field = 'content' and old.source = 'merge' and oxbow.is_trusted(current_user)
    and current_setting('oxbow.origin', true) = 'merge' then
    return new; -- merge_memories counts another repetition
  end if;
  raise exception using
    errcode = 'restrict_violation',
    column  = field,
    message = format('%s of a memory cannot be changed in place', field),
    detail  = format('The memory is %s %s of user %L.', old.memory_type, old.id, old.user_id),
    hint    = case
      when field = 'content' and old.memory_type = 'trait' then
        format('oxbow.edit_trait(user_id => %L, id => %L, content => …) corrects a trait and keeps the old wording.',
               old.user_id, old.id)
      when field = 'content' then
        format('oxbow.supersede(user_id => %L, id => %L, content => …) makes a new version and keeps the old one.',
               old.user_id, old.id)
      when field = 'level' then
        format('It follows the weight. oxbow.restore(user_id => %L, id => %L) brings a memory back to full.',
               old.user_id, old.id)
      else format('Insert a new memory, and oxbow.forget(user_id => %L, id => %L) this one.', old.user_id, old.id) end;
end $$;

create or replace trigger refuse_change
  before update of content, level, user_id, memory_type, id on oxbow.memories
  for each row
  when (old.content is distinct from new.content or old.level is distinct from new.level or old.user_id is distinct from new.user_id
     or old.memory_type is distinct from new.memory_type or old.id is distinct from new.id)
  execute function oxbow.refuse_change();

-- refuse_trait rejects inserted traits unless they come from reflection or from `oxbow import --traits`.
-- These set oxbow.origin in their transaction, and run as the owner of the tables, a member of the owner,
-- or the worker.
create or replace function oxbow.refuse_trait() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  origin constant text := coalesce(current_setting('oxbow.origin', true), '');
begin
  if origin in ('reflection', 'import') and oxbow.is_trusted(current_user) then
    return new;
  end if;
  raise exception using
    errcode = 'check_violation',
    column  = 'memory_type',
    message = 'memory_type must not be trait: only reflection creates traits',
    detail  = 'The value is ''trait''.',
    hint    = case
      when origin = '' then
        'Insert a fact or an episode. To bring old traits in: oxbow import --traits FILE, as the owner of the tables.'
      else format('The setting oxbow.origin is %L, but %s is neither the owner of the tables nor the worker.',
                  origin, current_user) end;
end $$;

create or replace trigger refuse_trait before insert on oxbow.memories_trait
  for each row execute function oxbow.refuse_trait();

-- refuse_trait_change rejects changes to what reflection concluded and when that held, unless made by a trusted role.
-- People correct a trait with oxbow.edit_trait. For the columns of traits the trigger fires once per statement, so
-- settling a thousand traits checks once; for columns that all memories have, for each trait.
create or replace function oxbow.refuse_trait_change() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if not oxbow.is_trusted(current_user) then
    raise exception using
      errcode = 'insufficient_privilege',
      message = format('%s may not change the fields of a trait', current_user),
      hint    = 'oxbow.edit_trait(user_id => …, id => …, …) corrects a trait.';
  end if;
  return new;
end $$;

create or replace trigger refuse_trait_times
  before update of valid_at, invalid_at, created_at, expired_at, superseded_by on oxbow.memories_trait
  for each row
  when ((old.valid_at, old.invalid_at, old.created_at, old.expired_at, old.superseded_by)
        is distinct from (new.valid_at, new.invalid_at, new.created_at, new.expired_at, new.superseded_by))
  execute function oxbow.refuse_trait_change();

do $$
declare
  t text;
begin
  -- a statement on the parent does not fire the statement triggers of its partitions
  for t in select 'memories' union all select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
            where i.inhparent = 'oxbow.memories'::regclass loop
    execute format('drop trigger if exists refuse_trait_change on oxbow.%I', t);
    execute format('create trigger refuse_trait_change
      before update of trait_subtype, trait_stage, trait_confidence, trait_confidence_at, trait_context, trait_contexts,
        trait_parent_id, trait_key, trait_reinforcement_count, trait_contradiction_count, trait_last_reinforced,
        trait_first_observed, trait_window_start, trait_window_end, trait_derived_from, trait_next_transition_at,
        trait_review_due_at, trait_edited_at
      on oxbow.%I for each statement execute function oxbow.refuse_trait_change()', t);
  end loop;
end $$;
