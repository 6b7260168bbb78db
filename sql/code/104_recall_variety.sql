-- Variety: finding results of recall that say the same as a better one. They are compared by their words, and by marks
-- that change the meaning of the same words: numbers, names, persons, negations and plans.

-- filler returns words without meaning of their own, as terms or single Chinese characters.
create or replace function oxbow.filler() returns text[]
language sql immutable parallel safe
return '{also,alway,anoth,ate,back,eat,eaten,enjoy,even,ever,final,get,go,gone,got,grab,just,kind,later,like,made,make,
  mayb,note,ok,okay,quit,realli,regular,right,routin,simpli,sort,still,take,taken,thing,time,today,tonight,took,usual,
  well,went,yesterday,yet,的,了,是,在,又,再,还,也,就,都,很,去,到,着,过,来,吧,啊,呢,吗,嘛,和,跟,地,得,把,被,给,个,这,那,照,旧,今,昨,
  天,然,而,样,同,次,用,我,们,自,己,刚,才,好,像,有,说}'::text[];

-- mark_of returns the mark of a word: the word itself for numbers and words that contrast like them, "-" for negations,
-- ">" for words of planning, and the person for pronouns.
create or replace function oxbow.mark_of(_word text) returns text
language sql immutable parallel safe
return case
  when _word ~ '^([0-9?].*|[零〇一二两三四五六七八九十百千万亿半几第]+|[小老阿].)$' then _word
  when position(' ' || lower(_word) || ' ' in ' no not never none nobody nothing nowhere neither nor without cannot '
    'hardly barely except instead stop stops stopped quits avoid avoids avoided hate hates hated dislike dislikes '
    'disliked refuse refuses refused skip skips skipped cancel cancels canceled cancelled unable fail fails failed '
    '不 没 无 未 别 非 勿 莫 戒 讨厌 停止 取消 放弃 拒绝 避免 除了 ') > 0 or right(_word, 3) in ('n''t', 'n’t') then '-'
  when position(' ' || lower(_word) || ' ' in ' will shall would could should may might must plan plans planned '
    'planning want wants wanted hope hopes hoped tomorrow soon next 会 将 想 要 打算 明天 下周 计划 准备 ') > 0
    or right(_word, 3) in ('''ll', '’ll') then '>'
  when position(' ' || lower(_word) || ' ' in ' i me my mine we us our ours i''m i''ve i''d we''re we''ve we''d '
    '我 我们 咱 咱们 ') > 0 then 'I'
  when position(' ' || lower(_word) || ' ' in ' he him his he''s he''d 他 ') > 0 then 'he'
  when position(' ' || lower(_word) || ' ' in ' she her hers she''s she''d 她 ') > 0 then 'she'
  when position(' ' || lower(_word) || ' ' in ' they them their theirs they''re they''ve they''d 他们 她们 ') > 0
    then 'they'
  when position(' ' || lower(_word) || ' ' in ' you your yours you''re 你 您 ') > 0 then 'you'
  when position(' ' || lower(_word) || ' ' in ' one two three four five six seven eight nine ten eleven twelve '
    'thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty '
    'ninety hundred thousand million half quarter dozen double once twice first second third before after off out up '
    'down over under above below against ') > 0 then lower(_word) end;

-- statement returns the statement of a text: its content words, as single characters in Chinese, Japanese and Korean;
-- the content words that begin with a capital; and its marks in order, except the speaker at the beginning. It reads
-- the first 1,000 characters.
create or replace function oxbow.statement(_text text, out words tsvector, out names tsvector, out marks text)
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  _cjk constant text := '\u3005-\u3007\u3040-\u30FF\u3400-\u4DBF\u4E00-\u9FFF\uAC00-\uD7AF';
  _plain text := left(_text, 1000);
  _characters text[];
begin
  if octet_length(_plain) > length(_plain) then -- not only ASCII
    _plain := normalize(_plain, NFKC);
    _plain := regexp_replace(_plain, '[再又]?一[次回]|一如既往|老样子|今[天早晚]|昨[天晚]|前天|照[例旧]|依[旧然]|仍[旧然]|还是|总是|一直|又是|差不多|大概'
      '|大约|左右|不过|来(?=分|个|块|岁|天|点)', '', 'g');
    _characters := regexp_split_to_array(regexp_replace(_plain, '[^' || _cjk || ']+', '', 'g'), '');
    _plain := regexp_replace(_plain, '[零〇一二两三四五六七八九十百千万亿半几第]+(?![起样直下些点般定边])|[0-9]+|[我咱他她]们?|[你您不没无未别非勿莫戒会将想要]'
      '|讨厌|停止|取消|放弃|拒绝|避免|除了|打算|明天|下周|计划|准备|[小老阿][' || _cjk || ']|？', ' \& ', 'g');
  end if;
  _plain := regexp_replace(_plain,
    '\m(once more|once again|as usual|as always|this time|last night|one more|some more)\M', '', 'gi');
  words := ts_delete(to_tsvector('pg_catalog.english', regexp_replace(_plain,
    '[\u0001-\u002F\u003A-\u0040\u005B-\u0060\u007B-\u007F\u2010-\u206F\u3000-\u303F' || _cjk || ']+', ' ', 'g')),
    oxbow.filler());
  if _characters is not null then
    words := words || ts_delete(array_to_tsvector(array_remove(_characters, '')), oxbow.filler());
  end if;
  select to_tsvector('pg_catalog.english', coalesce(string_agg(t.word, ' ') filter (where t.word ~ '^[A-Z]'), '')),
         coalesce(string_agg(coalesce(oxbow.mark_of(t.word),
           case when t.word ~ '^[A-Z]' and t.before !~ '[.!?:。！？]' then lower(t.word) end), ' ' order by t.nth), '')
    into names, marks
    from (select case when w = '?' then w else btrim(w, '.,;:!?…"“”‘()[]。，；：！、—-') end as word,
                 lag(w, 1, '.') over (order by nth) as before, nth
            from string_to_table(regexp_replace(_plain, '\?\s*$', ' ?'), ' ') with ordinality t(w, nth)
           where w <> '') t;
  marks := regexp_replace(marks, '^I( I)*( |$)', '');
end $$;

-- says_more reports whether a text certainly has words, or characters of Chinese, Japanese or Korean, that another text
-- and statements lack. The planner inlines it, so it takes a tenth of the time of a statement or less. It is declared
-- stable, because the planner does not inline an immutable function that calls a stable one, here array_to_string.
create or replace function oxbow.says_more(_terms tsvector, _text text, _other_terms tsvector, _other text)
returns boolean
language sql stable parallel safe
return array_to_string(tsvector_to_array(ts_delete(ts_delete(_terms, tsvector_to_array(_other_terms)),
    oxbow.filler() || '{last,night,one}')), ' ')
    ~ case when octet_length(_text) = length(_text) and octet_length(_other) = length(_other) -- only ASCII
      then '(^| )[^+]' else '(^| )[a-z]+( |$)' end -- statements cut 3pm
  or octet_length(_text) > length(_text)
    and translate(translate(_text, _other, ''),
    '的了是在又再还也就都很去到着过来吧啊呢吗嘛和跟地得把被给个这那照旧今昨天然而样同次用我们自己刚才好像有说一回如既往老子早晚前例依仍总直差不多大概约左右', '')
    ~ '[\u3005-\u3007\u3040-\u30FF\u3400-\u4DBF\u4E00-\u9FFF\uAC00-\uD7AF]';

-- repeated returns the number, from 1, of the better result that a result repeats, or null. The two texts have the same
-- marks and almost the same content words, and the result has no name of its own. words, names and marks cache the
-- statements of the better results between calls, for the few whose terms resemble those of a result.
create or replace function oxbow.repeated(_terms tsvector, _content text, _speaker text, _better_terms tsvector[],
  _better text[], _speakers text[], inout words tsvector[], inout names tsvector[], inout marks text[], out nth integer)
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  -- family names and relatives, of which one more makes another statement
  _persons constant text[] := string_to_array('王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏'
    '薛叶阎余潘杜戴夏汪田任姜范方石姚谭廖邹熊金陆郝孔白崔康毛邱秦江史顾侯邵孟龙段钱汤尹黎易武乔贺赖龚文爸妈爷奶公婆哥姐弟妹叔姨舅姑儿女', null);
  _count constant integer := cardinality(_better);
  _long constant boolean := length(_content) > 1000; -- repeats only a text that is the same
  _new record;
  _old record;
  _both integer;
  _more integer; -- content words that only this result has
  _less integer; -- and those that only the other has
  _unit constant integer := case when octet_length(_content) > 2 * length(_content) then 6 else 4 end;
begin
  if _long and array_position(_better, _content) is null then
    return;
  end if;
  for _nth in 1 .. _count loop
    continue when _speaker <> _speakers[_nth];
    if _content = _better[_nth] then
      nth := _nth;
      return;
    end if;
    continue when _long or length(_better[_nth]) > 1000
      or 5 * (length(_terms) + length(_better_terms[_nth]) - length(_terms || _better_terms[_nth]))
         < 2 * least(length(_terms), length(_better_terms[_nth]))
      or _speaker is not distinct from _speakers[_nth]
     and oxbow.says_more(_terms, _content, _better_terms[_nth], _better[_nth])
     and oxbow.says_more(_better_terms[_nth], _better[_nth], _terms, _content);
    _new := coalesce(_new, oxbow.statement(_content));
    if marks[_nth] is null then
      _old := oxbow.statement(_better[_nth]);
      words[_nth] := _old.words; names[_nth] := _old.names; marks[_nth] := _old.marks;
    end if;
    continue when _new.marks <> marks[_nth];
    _both := length(_new.words) + length(words[_nth]) - length(_new.words || words[_nth]);
    _more := length(_new.words) - _both;
    _less := length(words[_nth]) - _both;
    if _both > 0 and (_more = 0 and _less * _unit <= 2 * _both or _less = 0 and _more * _unit <= _both)
       and (_more + _less = 0 or length(ts_delete(_new.words || words[_nth], _persons
         || tsvector_to_array(case when _more = 0 then _new.words else words[_nth] end)
         || tsvector_to_array(_new.names || names[_nth]))) = _more + _less) then
      nth := _nth;
      return;
    end if;
  end loop;
  if marks is not null and _new is not null then
    words[_count + 1] := _new.words; names[_count + 1] := _new.names; marks[_count + 1] := _new.marks;
  end if;
end $$;
