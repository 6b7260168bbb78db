-- Explanations (U §11): why something is known, why it is still kept, what it rests on, who used it, and when it fades.

-- why explains a memory, a trait, an adjustment, an instruction, a skill or an intention in sentences, in a language
-- or, without one, that of its user (English or Chinese). aspect is origin, basis, kept, used or fades, in this order;
-- refs are the ids behind the sentence. No text is quoted. Error OX101 if the user has nothing with that id.
drop function if exists oxbow.why(text, uuid);
create or replace function oxbow.why(user_id text, id uuid, language text default null)
returns table (aspect text, sentence text, refs jsonb)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
declare
  _zh boolean;
  _zone text;
  m oxbow.memories;
begin
  perform oxbow.check_access(why.user_id);
  select coalesce(lower(coalesce(why.language, u.language)) like 'zh%', false), coalesce(u.timezone, 'UTC') into _zh, _zone
    from (select) one left join oxbow.users u on u.user_id = why.user_id;
  select * into m from oxbow.memories o where o.user_id = why.user_id and o.id = why.id order by o.memory_type limit 1;
  if not found then
    return query select * from oxbow.why_other(why.user_id, why.id, _zh, _zone);
    if not found then
      raise exception using errcode = 'OX101',
        message = format('user %L has no memory %s', left(why.user_id, 255), why.id),
        detail  = 'It may have been erased: forgotten memories are kept for 30 days.';
    end if;
  elsif m.memory_type = 'trait' then
    return query select * from oxbow.why_trait(m, _zh, _zone);
  else
    return query select * from oxbow.why_memory(m, _zh, _zone);
  end if;
end $$;
call oxbow.grant_app('why');

-- why_day formats a day in the user's time zone.
create or replace function oxbow.why_day(_at timestamptz, _zone text) returns text
language sql stable parallel safe
return to_char(_at at time zone _zone, 'YYYY-MM-DD');

-- why_word returns a word of the schema in the language of a sentence.
create or replace function oxbow.why_word(_word text, _zh boolean) returns text
language sql immutable parallel safe
return coalesce(case when _zh then case _word
    when 'core' then '核心' when 'system' then '系统'
    when 'summary' then '摘要' when 'tag' then '标签' when 'trace' then '痕迹' when 'archive' then '归档'
    when 'trend' then '趋势' when 'candidate' then '候选' when 'emerging' then '浮现' when 'established' then '确立'
    when 'open' then '还没到' when 'due' then '已到' when 'done' then '已完成' when 'dropped' then '已放弃'
    when 'skill' then '技能可靠度' when 'memory_weight' then '记忆权重' when 'trait_confidence' then '特质置信度' when 'relation_weight' then '关系权重'
    when 'work' then '工作' when 'personal' then '生活' when 'social' then '社交' when 'learning' then '学习' end end,
  case _word when 'skill' then 'reliability of a skill' else replace(_word, '_', ' ') end);

-- why_feedback says what feedback did to a memory that is still in force.
create or replace function oxbow.why_feedback(_m oxbow.memories, _zh boolean, _zone text) returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select coalesce((
    select case when _zh then format('反馈在%s改变了它的分量。', oxbow.why_day(max(a.at), _zone))
           else format(' Feedback changed it on %s.', oxbow.why_day(max(a.at), _zone)) end
      from oxbow.adjustments a
     where a.user_id = (_m).user_id and a.memory_type = (_m).memory_type and a.memory_id = (_m).id and a.undone_at is null
       and a.kind <> 'relation_weight'
    having count(*) > 0), '') || coalesce((
    select case when _zh then format('因为有人不满，在%s之前，类似的问题不会召回它。', oxbow.why_day(max(s.expires_at), _zone))
           else format(' Because of a complaint, similar questions do not recall it until %s.',
                       oxbow.why_day(max(s.expires_at), _zone)) end
      from oxbow.suppressions s
     where s.user_id = (_m).user_id and s.memory_type = (_m).memory_type and s.memory_id = (_m).id and s.expires_at > now()
    having count(*) > 0), '');
$$;

-- why_memory explains a fact, an episode or a chunk of a document.
create or replace function oxbow.why_memory(_m oxbow.memories, _zh boolean, _zone text)
returns table (aspect text, sentence text, refs jsonb)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
declare
  _now constant timestamptz := now();
  _rules constant oxbow.recall_rules := oxbow.recall_rules(_m.user_id, 'infinity');
  _weight record;
  _said record;
  _from record;
  _uses record;
  _next record;
begin
  -- origin
  select count(distinct s.session_id) as sessions, count(s.message_id) as messages,
         jsonb_agg(s.message_id order by s.created_at) filter (where s.message_id is not null) as ids
    into _said
    from oxbow.memory_sources s where s.user_id = _m.user_id and s.memory_type = _m.memory_type and s.memory_id = _m.id;
  aspect := 'origin';
  refs := coalesce(_said.ids, '[]');
  sentence := case
    when _m.source = 'summary' then case when _zh then '它是一段对话的摘要，写于%s。' else
      'It is the summary of a conversation, written on %s.' end
    when _m.source = 'abstract' then case when _zh then '它是从同一主题的几条记忆得出的结论，得出于%s。' else
      'It is a conclusion from several memories of one topic, drawn on %s.' end
    when _said.messages > 0 then case when _zh then '它出自%s的' || _said.messages || '条消息。' else
      'It was said in ' || case _said.messages when 1 then 'a message' else _said.messages || ' messages' end || ' on %s.'
      end
    when _m.memory_type = 'document' then case when _zh then '它是%s存入的文件的一部分。' else
      'It is part of a file that was stored on %s.' end
    else case when _zh then '应用在%s存入了它。' else 'An application stored it on %s.' end end;
  sentence := format(sentence, oxbow.why_day(_m.created_at, _zone));
  if _m.source = 'abstract' then
    sentence := sentence || coalesce((
      select case when _zh then format('它有%s条来源，置信度%s。', c.fragments, round(c.confidence::numeric, 2))
                  else format(' It has %s sources and a confidence of %s.', c.fragments, round(c.confidence::numeric, 2)) end
        from oxbow.conclusions c where c.user_id = _m.user_id and c.memory_id = _m.id), '');
  end if;
  return next;

  -- basis
  select count(*) as n, jsonb_agg(l.to_id order by l.created_at, l.to_id) as ids into _from
    from oxbow.memory_links l
   where l.user_id = _m.user_id and l.from_type = _m.memory_type and l.from_id = _m.id
     and l.relation in ('source', 'merged_from', 'supersedes', 'compressed_from');
  if _from.n > 0 then
    aspect := 'basis';
    refs := _from.ids;
    sentence := case when _zh then format('它基于%s条更早的记忆。', _from.n)
                     else 'It rests on ' || case _from.n when 1 then 'an earlier memory.' else _from.n || ' earlier memories.' end
                end;
    return next;
  end if;

  -- kept
  aspect := 'kept';
  refs := '[]';
  if _m.forgotten_at is not null then
    sentence := case when _zh then format('它在%s被忘记；30天内可以恢复。', oxbow.why_day(_m.forgotten_at, _zone))
      else format('It was forgotten on %s, and can be restored for 30 days.', oxbow.why_day(_m.forgotten_at, _zone)) end;
    return next;
    return;
  elsif _m.superseded_by is not null then
    refs := jsonb_build_array(_m.superseded_by);
    sentence := case when _zh then format('它在%s被更新的记忆取代，只为回答关于过去的问题而保留。', oxbow.why_day(_m.expired_at, _zone))
      else format('A newer memory replaced it on %s. It is kept for questions about the past.',
                  oxbow.why_day(_m.expired_at, _zone)) end;
    return next;
    return;
  elsif _m.expired_at is not null or _m.invalid_at <= _now then
    sentence := case when _zh then format('它自%s起不再成立，只为回答关于过去的问题而保留。',
                                          oxbow.why_day(coalesce(_m.invalid_at, _m.expired_at), _zone))
      else format('It has not been true since %s. It is kept for questions about the past.',
                  oxbow.why_day(coalesce(_m.invalid_at, _m.expired_at), _zone)) end;
    return next;
    return;
  end if;
  select w.* into _weight
    from oxbow.weight_factors(_m.category, _m.created_at, _m.activated_at, _m.used_at, _m.mentions, _m.negated_at, _m.strength,
           _m.tier, _m.source, _now, _rules) w;
  sentence := case when _zh
    then format('它的权重是%s：类别%s，时间%s，强度%s，重复%s，冲突%s。', round(_weight.weight::numeric, 2),
           round(_weight.importance::numeric, 2), round(_weight."time"::numeric, 2), round(_weight.strength::numeric, 2),
           round((_weight.reinforcement * _weight.momentum)::numeric, 2), round(_weight.conflict::numeric, 2))
    else format('Its weight is %s: category %s, time %s, strength %s, mentions %s, conflict %s.',
           round(_weight.weight::numeric, 2), round(_weight.importance::numeric, 2), round(_weight."time"::numeric, 2),
           round(_weight.strength::numeric, 2), round((_weight.reinforcement * _weight.momentum)::numeric, 2),
           round(_weight.conflict::numeric, 2)) end
    || case when _m.tier = 'normal' then '' when _zh then '它属于' || oxbow.why_word(_m.tier, true) || '层，不会变弱。'
            else format(' It is in the tier %s and does not weaken.', _m.tier) end
    || case when not _m.verified then '' when _zh then '本人确认过它。' else ' The person confirmed it.' end
    || oxbow.why_feedback(_m, _zh, _zone);
  return next;

  -- used
  select count(*) as answers, count(distinct a.session_id) filter (where _m.id = any(a.used)) as sessions,
         to_jsonb((array_agg(a.id order by a.at desc) filter (where _m.id = any(a.used)))[:10]) as ids into _uses
    from (select a.id, a.at, a.session_id, a.recalled, a.used from oxbow.answers a
           where a.user_id = _m.user_id order by a.at desc limit 1000) a
   where _m.id = any(a.recalled);
  aspect := 'used';
  refs := coalesce(_uses.ids, '[]');
  sentence := case
    when _m.access_count = 0 and _uses.answers = 0 then case when _zh then '还没有回答用到它。' else 'No answer has used it yet.' end
    when _zh then format('它被召回%s次%s。', greatest(_m.access_count, _uses.answers),
      coalesce('，最近一次用到是' || oxbow.why_day(_m.used_at, _zone), '，但没有被用到'))
    else format('It was recalled %s times%s.', greatest(_m.access_count, _uses.answers),
      coalesce(', and last used on ' || oxbow.why_day(_m.used_at, _zone), ', but no answer used it')) end
    || case when _uses.sessions = 0 then '' when _zh then format('用到它的有%s次对话。', _uses.sessions)
            when _uses.sessions = 1 then ' A conversation used it.'
            else format(' %s conversations used it.', _uses.sessions) end
    || case when _m.mention_count <= 1 then '' when _zh then format('它被提到%s次。', _m.mention_count)
            else format(' It was mentioned %s times.', _m.mention_count) end;
  return next;

  -- fades
  aspect := 'fades';
  if _m.expires_at is not null then
    sentence := case when _zh then format('它在%s到期。', oxbow.why_day(_m.expires_at, _zone))
                     else format('It expires on %s.', oxbow.why_day(_m.expires_at, _zone)) end;
    return next;
  end if;
  if oxbow.has_levels(_m, _now) then
    select c."when" into _next
      from oxbow.weight_crossings(_m.user_id, _m.id, _rules.level_summary_weight, _now, 36525) c
     where c.below order by c."when" limit 1;
    sentence := case
      when _m.level <> 'full' then case when _zh then format('它已压缩为%s；被用到时会恢复原文。',
          oxbow.why_word(_m.level::text, true))
        else format('It is compressed to a %s; a use brings its text back.', _m.level) end
      when not found then case when _zh then '一百年内它不会变弱。' else 'It does not fade within a hundred years.' end
      else case when _zh then '如果没有人用到它，它在%s之后会被压缩成摘要。'
             else 'If nobody uses it, it is compressed to a summary after %s.' end end;
    sentence := format(sentence, oxbow.why_day(greatest(_next."when", greatest(_m.activated_at, _m.created_at)
      + make_interval(secs => 86400 * _rules.level_summary_days)), _zone));
  else
    sentence := case when _zh then '它不会被压缩。' else 'It is never compressed.' end;
  end if;
  return next;
end $$;

-- why_trait explains a trait.
create or replace function oxbow.why_trait(_m oxbow.memories, _zh boolean, _zone text)
returns table (aspect text, sentence text, refs jsonb)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
declare
  _now constant timestamptz := now();
  _created oxbow.trait_events;
  _proof record;
  _confidence double precision;
  _stage text;
  _uses bigint;
begin
  select * into _created from oxbow.trait_events e
   where e.user_id = _m.user_id and e.trait_id = _m.id order by e.seq limit 1;
  select count(*) filter (where v.direction = 'supporting') as supporting,
         count(*) filter (where v.direction = 'contradicting') as contradicting,
         count(distinct v.session_key) filter (where v.direction = 'supporting') as sessions,
         jsonb_agg(v.memory_id order by v.observed_at) as ids into _proof
    from oxbow.trait_evidence v where v.user_id = _m.user_id and v.trait_id = _m.id;
  aspect := 'origin';
  refs := '[]';
  sentence := case when _zh then format('反思在%s从%s次对话中得出它。', oxbow.why_day(coalesce(_created.at, _m.created_at), _zone),
                                        _proof.sessions)
    else format('Reflection concluded it on %s, from %s conversations.',
                oxbow.why_day(coalesce(_created.at, _m.created_at), _zone), _proof.sessions) end
    || case when _m.trait_edited_at is null then ''
            when _zh then format('本人在%s修改过它。', oxbow.why_day(_m.trait_edited_at, _zone))
            else format(' The person corrected it on %s.', oxbow.why_day(_m.trait_edited_at, _zone)) end;
  return next;
  aspect := 'basis';
  refs := coalesce(_proof.ids, '[]');
  sentence := case when _zh then format('%s条记忆支持它，%s条与它矛盾。', _proof.supporting, _proof.contradicting)
    else format('%s memories support it, and %s contradict it.', _proof.supporting, _proof.contradicting) end;
  return next;
  aspect := 'kept';
  refs := '[]';
  _stage := oxbow.trait_stage_at(_m.trait_stage, _m.trait_confidence, _m.trait_subtype, _m.trait_reinforcement_count,
                                 _m.trait_confidence_at, _m.trait_window_end, _now);
  if _stage in ('trend', 'dissolved') then
    sentence := case when _stage = 'trend' and _zh then format('它还是一个趋势，观察到%s为止。', oxbow.why_day(_m.trait_window_end, _zone))
      when _stage = 'trend' then format('It is a trend, watched until %s.', oxbow.why_day(_m.trait_window_end, _zone))
      when _zh then '它已解除，只作为历史保留。' else 'It is dissolved, and kept as history.' end;
    return next;
    return;
  end if;
  _confidence := oxbow.trait_confidence_at(_m.trait_confidence, _m.trait_subtype, _m.trait_reinforcement_count,
                                           _m.trait_confidence_at, _now);
  sentence := case when _zh then format('它的置信度是%s（%s），被强化%s次。', round(_confidence::numeric, 2),
                                        oxbow.why_word(_stage, true),
                                        coalesce(_m.trait_reinforcement_count, 0))
    else format('Its confidence is %s (%s), reinforced %s times.', round(_confidence::numeric, 2), _stage,
                coalesce(_m.trait_reinforcement_count, 0)) end
    || oxbow.why_feedback(_m, _zh, _zone);
  return next;
  select count(*) into _uses from oxbow.trait_events e
   where e.user_id = _m.user_id and e.trait_id = _m.id and e.event = 'used';
  aspect := 'used';
  sentence := case when _uses = 0 and _m.access_count = 0 then case when _zh then '还没有回答用到它。'
                     else 'No answer has used it yet.' end
    when _zh then format('它被召回%s次，用到%s次。', _m.access_count, _uses)
    else format('It was recalled %s times and used %s times.', _m.access_count, _uses) end;
  return next;
  aspect := 'fades';
  sentence := case
    when _m.trait_next_transition_at is null then case when _zh then '它不会自己变弱。' else 'It does not fade by itself.' end
    when _zh then format('没有新证据的话，它在%s降到下一个阶段。', oxbow.why_day(_m.trait_next_transition_at, _zone))
    else format('Without new evidence it falls to the next stage on %s.', oxbow.why_day(_m.trait_next_transition_at, _zone))
    end;
  return next;
end $$;

-- why_other explains an adjustment, an instruction, a skill or an intention.
create or replace function oxbow.why_other(_user_id text, _id uuid, _zh boolean, _zone text)
returns table (aspect text, sentence text, refs jsonb)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
declare
  a oxbow.adjustments;
  i oxbow.instructions;
  s oxbow.skills;
  n oxbow.intentions;
  _heard text;
begin
  select * into a from oxbow.adjustments j where j.user_id = _user_id and j.id = _id;
  if found then
    return query values
      ('origin', case when _zh then format('它在%s因为反馈而产生（%s条信号）。', oxbow.why_day(a.at, _zone), cardinality(a.signals))
                   else format('It followed from feedback on %s: %s.', oxbow.why_day(a.at, _zone), a.cause) end,
                 to_jsonb(a.signals)),
      ('basis', case when a.target ->> 'steps_of' is not null then case when _zh then '它停用了技能的一个版本，恢复了之前的版本。'
                       else 'It retired a version of a skill, and brought back the one before. ' end
                     when a.target ? 'retired' then case when _zh then '它停用了一个技能。' else 'It retired a skill. ' end
                     else '' end
                || format(case when _zh then '它把%s从%s改为%s。' else 'It changed the %s from %s to %s.' end,
                       oxbow.why_word(a.kind, _zh), round(a.before::numeric, 3), round(a.after::numeric, 3)),
                case when a.memory_id is null then '[]'::jsonb else jsonb_build_array(a.memory_id) end),
      ('kept', case when a.undone_at is not null
                 then format(case when _zh then '它在%s被撤销（%s）。' else 'It was undone on %s (%s).' end,
                             oxbow.why_day(a.undone_at, _zone), a.undone_by)
                 when _zh then '它仍然有效，可以撤销。' else 'It is in force, and can be undone.' end, '[]'::jsonb),
      ('fades', case when a.undone_at is not null or a.expires_at is null
                  then case when _zh then '它不会自动到期。' else 'It does not expire.' end
                  else format(case when _zh then '它在%s到期。' else 'It expires on %s.' end,
                              oxbow.why_day(a.expires_at, _zone)) end, '[]'::jsonb);
    return;
  end if;
  _heard := case when _zh then '在%s的一段对话里说的。' else 'It was said in a conversation on %s.' end;
  select * into i from oxbow.instructions o where o.user_id = _user_id and o.id = _id;
  if found then
    return query values
      ('origin', format(case when i.source = 'conversation' then _heard when _zh then '应用在%s存入了它。'
                             else 'An application stored it on %s.' end, oxbow.why_day(i.created_at, _zone)),
                 case when i.message_id is null then '[]'::jsonb else jsonb_build_array(i.message_id) end),
      ('kept', case when i.ended_at is null then case when _zh then '它一直有效，直到有新的要求或被取消。'
                 else 'It holds until a newer one replaces it or the person takes it back.' end
                 else format(case when i.replaced_by is not null then case when _zh then '它在%s被更新的要求取代。'
                   else 'A newer one replaced it on %s.' end
                   when _zh then '它在%s结束。' else 'It ended on %s.' end, oxbow.why_day(i.ended_at, _zone)) end,
               case when i.replaced_by is null then '[]'::jsonb else jsonb_build_array(i.replaced_by) end),
      ('used', case when i.ended_at is not null then case when _zh then '它不再使用。' else 'It is not used any more.' end
                 when i.session_id is not null then case when _zh then '它只用于一次对话。' else 'It is used in one conversation only.' end
                 when i.context is not null then format(case when _zh then '它用于%s场合的每个回答。'
                   else 'It is used for every reply in the context %s.' end, oxbow.why_word(i.context, _zh))
                 when i.agent_id is not null then case when _zh then '它用于一个助手的每个回答。'
                   else 'It is used for every reply of one agent.' end
                 when _zh then '它用于每个回答。' else 'It is used for every reply.' end, '[]'::jsonb),
      ('fades', case when i.ended_at is not null then case when _zh then '它只作为历史保留。' else 'It is kept as history.' end
                 when _zh then '它不会变弱。' else 'It does not fade.' end, '[]'::jsonb);
    return;
  end if;
  select * into s from oxbow.skills k where k.user_id = _user_id and k.id = _id;
  if found then
    return query values
      ('origin', format(case when s.source = 'conversation' then _heard when _zh then '应用在%s存入了它。'
                             else 'An application stored it on %s.' end, oxbow.why_day(s.created_at, _zone)),
                 case when s.message_id is null then '[]'::jsonb else jsonb_build_array(s.message_id) end),
      ('kept', format(case when _zh then '这是第%s版，成功%s次，失败%s次。' else 'It is version %s; it worked %s times and failed %s times.' end,
                      s.version, s.successes, s.failures)
               || case when s.ended_at is null then ''
                       else format(case when s.replaced_by is not null then case when _zh then '它在%s被更新的版本取代。'
                         else ' A newer version replaced it on %s.' end
                         when _zh then '它在%s结束。' else ' It ended on %s.' end, oxbow.why_day(s.ended_at, _zone)) end,
               case when s.replaced_by is null then '[]'::jsonb else jsonb_build_array(s.replaced_by) end),
      ('used', case when s.used_at is null then case when _zh then '还没有人用到它。' else 'Nobody has used it yet.' end
                 else format(case when _zh then '最近一次用到是%s。' else 'It was last used on %s.' end,
                             oxbow.why_day(s.used_at, _zone)) end, '[]'::jsonb),
      ('fades', case when s.ended_at is not null then case when _zh then '它只作为历史保留。' else 'It is kept as history.' end
                 when _zh then '它不会变弱。' else 'It does not fade.' end, '[]'::jsonb);
    return;
  end if;
  select * into n from oxbow.intentions o where o.user_id = _user_id and o.id = _id;
  if found then
    return query values
      ('origin', format(case when n.source = 'conversation' then _heard when _zh then '应用在%s存入了它。'
                             else 'An application stored it on %s.' end, oxbow.why_day(n.created_at, _zone)),
                 case when n.message_id is null then '[]'::jsonb else jsonb_build_array(n.message_id) end),
      ('kept', case when n.closed_at is not null
                 then format(case when _zh then '它在%s结束（%s）。' else 'It was closed on %s (%s).' end,
                             oxbow.why_day(n.closed_at, _zone), oxbow.why_word(n.state, _zh))
                 when n.due_at is null then case when _zh then '它没有确定的时间。' else 'It has no time.' end
                 else format(case when _zh then '它的时间是%s（%s）。' else 'It is for %s (%s).' end,
                             oxbow.why_day(n.due_at, _zone), oxbow.why_word(n.state, _zh)) end
               || case when n.recurrence is null then '' when _zh then '它会重复。' else ' It recurs.' end, '[]'::jsonb),
      ('used', case when n.became_due_at is null then case when _zh then '它还没有提醒过。' else 'It has not been due yet.' end
                 else format(case when _zh then '它在%s提醒过。' else 'It became due on %s.' end,
                             oxbow.why_day(n.became_due_at, _zone)) end, '[]'::jsonb),
      ('fades', case when n.closed_at is not null then case when _zh then '它已经结束。' else 'It is closed.' end
                 when _zh then '它会保留，直到完成或放弃。' else 'It stays until it is done or dropped.' end, '[]'::jsonb);
  end if;
end $$;
