-- Standing instructions: how a person wants to be answered and treated.

-- instruct stores a standing instruction and returns its id. It replaces the current ones of the same aspect and scope;
-- only avoid and other may have several at once. If a current one has the same words and scope, that one gets the new
-- priority instead. With the external_id of an earlier call, it returns the earlier id.
--   aspect      language, length, address, tone, format, avoid, other
--   context     work, personal, social, learning; null: everywhere
--   agent       only for this agent; session_id: only in this conversation
--   priority    -100 to 100; higher ones come first, then newer ones
create or replace function oxbow.instruct(user_id text, content text, aspect text default 'other',
  context text default null, agent text default null, session_id text default null, priority integer default 0,
  external_id text default null, actor text default 'app') returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
declare
  _new oxbow.instructions;
begin
  perform oxbow.check_access(instruct.user_id);
  if instruct.priority is null or instruct.priority not between -100 and 100 then
    perform oxbow.reject('priority', instruct.priority::text, 'must be between -100 and 100');
  end if;
  _new.user_id := instruct.user_id;
  _new.content := btrim(instruct.content);
  _new.aspect := coalesce(instruct.aspect, 'other');
  _new.context := nullif(instruct.context, 'general');
  _new.agent_id := instruct.agent;
  _new.session_id := instruct.session_id;
  _new.priority := instruct.priority;
  _new.external_id := instruct.external_id;
  _new.source := 'app';
  _new.actor := oxbow.person_actor(coalesce(instruct.actor, 'app'));
  return oxbow.add_instruction(_new);
end $$;
call oxbow.grant_app('instruct');

-- add_instruction stores an instruction, as described at instruct.
create or replace function oxbow.add_instruction(_new oxbow.instructions) returns uuid
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  _id uuid;
begin
  perform pg_advisory_xact_lock(hashtextextended('oxbow.instructions ' || _new.user_id, 0));
  select i.id into _id from oxbow.instructions i
   where i.user_id = _new.user_id and (i.external_id = _new.external_id
      or i.message_id = _new.message_id and i.content = _new.content);
  if found then
    return _id;
  end if;
  update oxbow.instructions i set priority = _new.priority, created_at = now(), stored_at = now()
   where i.user_id = _new.user_id and i.ended_at is null and lower(i.content) = lower(_new.content)
     and (i.context, i.agent_id, i.session_id) is not distinct from (_new.context, _new.agent_id, _new.session_id)
  returning i.id into _id;
  if found then
    return _id;
  end if;
  _new.id := gen_random_uuid();
  _new.created_at := now();
  _new.stored_at := now();
  insert into oxbow.instructions select (_new).*;
  update oxbow.instructions i set ended_at = now(), replaced_by = _new.id, reason = 'a newer one'
   where i.user_id = _new.user_id and i.ended_at is null and i.id <> _new.id and i.aspect = _new.aspect
     and _new.aspect not in ('avoid', 'other')
     and (i.context, i.agent_id, i.session_id) is not distinct from (_new.context, _new.agent_id, _new.session_id);
  update oxbow.instructions i set ended_at = now(), reason = 'there are too many'
   where i.user_id = _new.user_id and i.id in (
     select o.id from oxbow.instructions o where o.user_id = _new.user_id and o.ended_at is null and o.id <> _new.id
      order by o.priority desc, o.created_at desc, o.id offset oxbow.policy('instructions_max')::integer - 1);
  return _new.id;
end $$;
call oxbow.grant_worker('add_instruction');

-- end_instruction ends an instruction, and reports whether it was current.
create or replace function oxbow.end_instruction(user_id text, id uuid, reason text default null) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
begin
  perform oxbow.check_access(end_instruction.user_id);
  update oxbow.instructions i set ended_at = now(), reason = end_instruction.reason
   where i.user_id = end_instruction.user_id and i.id = end_instruction.id and i.ended_at is null;
  if found then
    return true;
  elsif not exists (select from oxbow.instructions i
                     where i.user_id = end_instruction.user_id and i.id = end_instruction.id) then
    raise exception using errcode = 'OX132',
      message = format('user %L has no instruction %s', left(end_instruction.user_id, 255), end_instruction.id);
  end if;
  return false;
end $$;
call oxbow.grant_app('end_instruction');

-- hear_instructions stores the instructions that an extraction heard in a conversation, in order. A retraction ends the
-- current instructions of its aspect. "Never mind", without an aspect, ends the person's last request in the
-- conversation, an instruction or an intention, so intentions are stored first.
create or replace function oxbow.hear_instructions(_user_id text, _session_id text, _actor text, _heard jsonb)
returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  _found record;
  _id uuid;
  _what text;
  _new oxbow.instructions;
begin
  for _found in
    select h.* from jsonb_array_elements(_heard) with ordinality e(value, nth),
           jsonb_to_record(e.value) h(content text, aspect text, context text, here boolean, ends boolean,
             message uuid)
     order by e.nth
  loop
    if _found.ends then
      perform pg_advisory_xact_lock(hashtextextended('oxbow.instructions ' || _user_id, 0));
      _id := null;
      if coalesce(_found.aspect, '') = '' then
        select g.id, g.what into _id, _what
          from (select i.id, i.message_id, 'instruction' as what from oxbow.instructions i
                 where i.user_id = _user_id and i.ended_at is null and i.said_in = _session_id
                union all
                select n.id, n.message_id, 'intention' from oxbow.intentions n
                 where n.user_id = _user_id and n.state in ('open', 'due') and n.said_in = _session_id) g
          join oxbow.messages m on m.user_id = _user_id and m.id = g.message_id
         where m.seq < (select t.seq from oxbow.messages t where t.user_id = _user_id and t.id = _found.message)
         order by m.seq desc, g.what limit 1;
        if _id is not null and _what = 'intention' then
          perform oxbow.close_intention(_user_id, _id, 'dropped', _found.content);
        end if;
      end if;
      update oxbow.instructions i set ended_at = now(), reason = left(_found.content, 2000)
       where i.user_id = _user_id and i.ended_at is null
         and case when _found.aspect <> '' then i.aspect = _found.aspect else i.id = _id end;
      continue;
    end if;
    _new.user_id := _user_id;
    _new.content := _found.content;
    _new.aspect := _found.aspect;
    _new.context := nullif(_found.context, '');
    _new.session_id := case when _found.here then _session_id end;
    _new.priority := 0;
    _new.source := 'conversation';
    _new.message_id := _found.message;
    _new.said_in := _session_id;
    _new.actor := _actor;
    perform oxbow.add_instruction(_new);
  end loop;
end $$;
call oxbow.grant_worker('hear_instructions');

-- instructions_of returns the instructions of a user that hold for an agent, a conversation and contexts, the most
-- important first. With ended, it also returns those that ended, newest first. An inferred one is a preference that
-- reflection found about how to answer; its id is that of the trait.
create or replace function oxbow.instructions_of(user_id text, agent text default null, session_id text default null,
  contexts text[] default null, ended boolean default false)
returns table (id uuid, content text, aspect text, context text, agent_id text, "session" text, priority smallint,
  inferred boolean, created_at timestamptz, ended_at timestamptz, replaced_by uuid, reason text)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
begin
  perform oxbow.check_access(instructions_of.user_id);
  return query
  select h.* from (
  select i.id, i.content, i.aspect, i.context, i.agent_id, i.session_id, i.priority, false as inferred, i.created_at,
         i.ended_at, i.replaced_by, i.reason
    from oxbow.instructions i
   where i.user_id = instructions_of.user_id and (i.ended_at is null or instructions_of.ended)
     and (i.agent_id is null or instructions_of.agent is null or i.agent_id = instructions_of.agent)
     and (i.session_id is null or instructions_of.session_id is null or i.session_id = instructions_of.session_id)
     and (i.context is null or instructions_of.contexts is null or i.context = any(instructions_of.contexts))
  union all
  select t.id, t.content, 'other', nullif(t.context, 'general'), null, null, 0::smallint, true, t.created_at, null, null,
         null
    from oxbow.traits t
   where t.user_id = instructions_of.user_id and t.stage in ('emerging', 'established', 'core')
     and oxbow.is_style(t.content)
     and (instructions_of.contexts is null or coalesce(t.context, 'general') = 'general'
       or t.context = any(instructions_of.contexts))) h
   order by h.ended_at is not null, h.ended_at desc, h.inferred, h.priority desc, h.created_at desc, h.id;
end $$;
call oxbow.grant_app('instructions_of');
