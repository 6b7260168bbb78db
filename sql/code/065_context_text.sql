-- Text of the prompt block: tokens, lines and headings, in English and Chinese.

-- estimate_tokens estimates the number of tokens in a text without a model: one per Chinese, Japanese or
-- Korean character (including their punctuation and full-width forms), and one per four bytes of the rest,
-- rounded up. The sum over parts is never below the estimate for the whole.
create or replace function oxbow.estimate_tokens(content text) returns integer
language plpgsql immutable strict parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  _cjk constant text := '[\u2E80-\u9FFF\uAC00-\uD7AF\uF900-\uFAFF\uFF00-\uFFEF\U00020000-\U0003FFFF]+';
  _rest text;
begin
  if octet_length(content) = length(content) then
    return (length(content) + 3) / 4;
  end if;
  _rest := regexp_replace(content, _cjk, '', 'g');
  return length(content) - length(_rest) + (octet_length(_rest) + 3) / 4;
end $$;
call oxbow.grant_app('estimate_tokens');

-- one_line returns a text as one line. Line breaks, tabs and other control characters become a space, so
-- that the text cannot imitate a heading or an item. Characters that only change appearance (direction
-- marks, tags) are removed.
create or replace function oxbow.one_line(_text text) returns text
language sql immutable parallel safe
return btrim(regexp_replace(
  regexp_replace(_text, '[\u200E\u200F\u202A-\u202E\u2060-\u206F\uFEFF\uFFF9-\uFFFB\U000E0000-\U000E007F]+', '', 'g'),
  '[\u0001-\u0020\u007F-\u00A0\u1680\u2000-\u200B\u2028\u2029\u202F\u205F\u3000]+', ' ', 'g'));
call oxbow.grant_worker('one_line');

-- shorten returns a text as one line of at most _tokens estimated tokens: the whole text, its first
-- sentences if they fill at least half of the limit, or its first words and "…".
create or replace function oxbow.shorten(_text text, _tokens integer) returns text
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  _line constant text := oxbow.one_line(left(_text, 8 * _tokens));
  _low integer := 0;
  _high integer;
  _middle integer;
  _sentences text;
begin
  if length(_text) <= 8 * _tokens and oxbow.estimate_tokens(_line) <= _tokens then
    return _line;
  end if;
  -- the most characters that fit; a token has at most four
  _high := least(length(_line), 4 * _tokens);
  while _low < _high loop
    _middle := (_low + _high + 1) / 2;
    if oxbow.estimate_tokens(left(_line, _middle) || '…') <= _tokens then
      _low := _middle;
    else
      _high := _middle - 1;
    end if;
  end loop;
  -- a full stop ends a sentence if a space follows
  _sentences := rtrim(substring(
    left(_line, _low) || case substr(_line, _low + 1, 1) when ' ' then ' ' else '' end, '^.*(?:[.!?](?= )|[。！？])'));
  if length(_sentences) * 2 >= _low then
    return _sentences;
  end if;
  return rtrim(regexp_replace(left(_line, _low), ' [^ ]{0,20}$', ''), E' \u200D') || '…';
end $$;
call oxbow.grant_worker('shorten');

-- context_heading returns the heading of a section.
create or replace function oxbow.context_heading(_section text, _chinese boolean) returns text
language sql immutable parallel safe
return '## ' || case _section
  when 'instruction' then case when _chinese then '用户的要求' else 'How the user wants to be answered' end
  when 'due' then case when _chinese then '到期和即将到来的事' else 'Due and coming up' end
  when 'community' then case when _chinese then '彼此有关的人和事' else 'People and things that belong together' end
  when 'skill' then case when _chinese then '做事的步骤' else 'How to do it' end
  when 'profile' then case when _chinese then '用户资料' else 'Profile' end
  when 'emotion' then case when _chinese then '情绪' else 'Emotions' end
  when 'core' then case when _chinese then '核心特质' else 'Core traits' end
  when 'preference' then case when _chinese then '偏好' else 'Preferences' end
  when 'behavior' then case when _chinese then '行为习惯' else 'Behaviors' end
  else case when _chinese then '相关的事实与经历' else 'Facts and events' end end;

-- due_remark returns when an intention is due, in the user's time.
create or replace function oxbow.due_remark(_at timestamp, _precision text, _due boolean, _chinese boolean) returns text
language sql immutable parallel safe
return case when _at is null then ''
  else case when _chinese then '（' else ' (' end
    || case when _due then case when _chinese then '已到期，' else 'due since ' end
            else case when _chinese then '' else 'due ' end end
    || to_char(_at, case _precision when 'minute' then 'YYYY-MM-DD HH24:MI' when 'month' then 'YYYY-MM'
                                    when 'year' then 'YYYY' else 'YYYY-MM-DD' end)
    || case when _precision = 'week' then case when _chinese then '那一周' else ', that week' end else '' end
    || case when _chinese then '）' else ')' end end;

-- emotion_line describes a row of an emotional profile.
create or replace function oxbow.emotion_line(_aspect text, _name text, _valence double precision,
  _shift double precision, _chinese boolean) returns text
language sql immutable parallel safe
return case _aspect
  when 'baseline' then case when _chinese then '总体心情：' else 'Usually ' end
  when 'mood' then case when _chinese then '最近心情：' else 'Lately ' end
  when 'trigger' then case when _chinese then '谈到' || _name || '时：' else 'When it is about ' || _name || ': ' end
  else case when _chinese then '能让心情好转：' || _name else 'Gets calmer with ' || _name end end
  || case when _aspect = 'calms' then '' when _chinese
       then case when _valence > 0.2 then '愉快' when _valence < -0.2 then '低落' else '平静' end
       else case when _valence > 0.2 then 'in good spirits' when _valence < -0.2 then 'in low spirits' else 'even' end end;

-- skill_line describes a skill: its name, when it applies, what it requires, and its steps.
create or replace function oxbow.skill_line(_name text, _situation text, _preconditions text[], _steps text[],
  _chinese boolean) returns text
language sql stable parallel safe
return _name
  || case when _situation = '' then '' when _chinese then '（' || _situation || '）' else ' (' || _situation || ')' end
  || case when cardinality(_preconditions) = 0 then ''
          when _chinese then '，需要' || array_to_string(_preconditions, '、')
          else ', requires ' || array_to_string(_preconditions, ', ') end
  || case when _chinese then '：' else ': ' end
  || (select string_agg(s.nth || '. ' || s.step, case when _chinese then '；' else '; ' end order by s.nth)
        from unnest(_steps) with ordinality s(step, nth));

-- is_style reports whether a trait says how its person likes to be answered, such as "Prefers short answers".
create or replace function oxbow.is_style(_content text) returns boolean
language sql immutable parallel safe
return _content ~* ('(prefers?|likes?|wants?|values?|appreciates?) .{0,30}(answers?|replies|responses|explanations|brevity'
    '|conciseness|bluntness|directness|to be (addressed|called))')
  or _content ~ '(偏好|喜欢|希望|习惯|更爱|讨厌|不喜欢).{0,12}(回答|回复|答复|解释|答案|说话方式|语气|简洁|简短|直接|称呼)';

-- context_name returns the name of a trait's context.
create or replace function oxbow.context_name(_context text, _chinese boolean) returns text
language sql immutable parallel safe
return case when not _chinese then _context else case _context
  when 'work' then '工作' when 'personal' then '个人' when 'social' then '社交'
  when 'learning' then '学习' when 'general' then '一般' else _context end end;

-- context_mark returns the mark before a memory in the block, such as "[image] "; it is empty for text.
create or replace function oxbow.context_mark(_modality text, _chinese boolean) returns text
language sql immutable parallel safe
return case when _modality = 'text' then '' when not _chinese then '[' || _modality || '] ' else case _modality
  when 'image' then '[图片] ' when 'audio' then '[音频] ' when 'video' then '[视频] ' when 'code' then '[代码] '
  else '[文件] ' end end;

-- trait_remark returns the note that follows a trait in the block: that it is uncertain, and what it
-- depends on.
create or replace function oxbow.trait_remark(_stage text, _tendencies jsonb, _contexts text[], _chinese boolean)
returns text
language sql immutable parallel safe
return coalesce((
  select case when _chinese then '（' || string_agg(r.remark, '；' order by r.nth) || '）'
              else ' (' || string_agg(r.remark, '; ' order by r.nth) || ')' end
    from (select 0 as nth, case when _chinese then '可能' else 'probably' end as remark where _stage = 'emerging'
          union all
          select row_number() over (order by t.key),
                 oxbow.shorten(oxbow.context_name(t.key, _chinese), 10) || case when _chinese then '：' else ': ' end
                 || oxbow.shorten(t.value ->> 'tendency', 20)
            from jsonb_each(_tendencies) t
           where (_contexts is null or t.key = any(_contexts)) and t.value ->> 'tendency' ~ '\S') r), '');
