-- Times in a question that are relative to the day on which it is asked ("last spring", 三天前), and seasons, quarters
-- and holidays. internal/reasoner/when reads them in messages.

-- times_number returns the number that a word stands for (12, twelve, 十二; few is 3, half is 0.5), or null.
create or replace function oxbow.times_number(word text) returns double precision
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  digits constant text := translate(lower(word), '一二两三四五六七八九几数', '122345678933');
begin
  return case
    when digits ~ '^[0-9]{1,4}$' then digits::double precision
    when digits ~ '^[0-9]?十[0-9]?$' then coalesce(nullif(split_part(digits, '十', 1), '')::integer, 1) * 10
      + coalesce(nullif(split_part(digits, '十', 2), '')::integer, 0)
    else ('{"a": 1, "an": 1, "half": 0.5, "half a": 0.5, "half an": 0.5, "半": 0.5, "couple": 2, "few": 3, "several": 4,
      "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
      "eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30}'::jsonb ->> digits)::double precision end;
end $$;

-- span_terms returns the date terms (see date_terms) of the days from _from to _to, at most 40: the days and their
-- months; for whole months and for more than 31 days, only the months; for whole years and for more than three years,
-- only the years.
create or replace function oxbow.span_terms(_from date, _to date) returns text[]
language sql immutable parallel safe
return case
  when _from < '0001-01-01' or _to > '9999-12-31' then '{}'
  when _to - _from > 1120 or extract(doy from _from) = 1 and extract(doy from _to + 1) = 1 then array(
    select '@' || to_char(y, 'FM0000')
      from generate_series(extract(year from _from)::integer, extract(year from _to)::integer) y limit 40)
  else case when _to - _from > 31 or extract(day from _from) = 1 and extract(day from _to + 1) = 1 then '{}'
            else array(select '@' || to_char(d, 'YYYY-MM-DD')
                         from generate_series(_from::timestamp, _to, '1 day') d) end
    || array(select '@' || to_char(m, 'YYYY-MM')
               from generate_series(date_trunc('month', _from::timestamp), _to, '1 month') m) end;

-- holidays returns a row for each holiday: names is a regular expression of its names, rule its day, and begins and ends
-- are the offsets of its first and last day from that day. The rule has two numbers (month and day), three (month, which
-- of its weekdays, -1 for the last, and the weekday, 0 for Sunday), or one for each year from 2015 to 2035
-- (month * 100 + day).
create or replace function oxbow.holidays()
returns table (names text, rule integer[], begins integer, ends integer)
language sql immutable parallel safe as $$
  values
    ('christmas(?: day)?|xmas|圣诞节?', array[12, 25], -1, 1),
    ('(?:christmas|xmas) eve|平安夜', array[12, 24], 0, 0),
    ('boxing day', array[12, 26], 0, 0),
    ('new year(?:''?s)?(?: day)?|元旦节?', array[1, 1], -1, 0),
    ('new year(?:''?s)? eve|跨年夜?', array[12, 31], 0, 0),
    ('valentine(?:''?s)?(?: day)?|情人节', array[2, 14], 0, 0),
    ('(?:st|saint) patrick''?s day', array[3, 17], 0, 0),
    ('april fool''?s''? day|愚人节', array[4, 1], 0, 0),
    ('halloween|万圣节', array[10, 31], 0, 0),
    ('bonfire night', array[11, 5], 0, 0),
    ('independence day', array[7, 4], 0, 0),
    ('martin luther king day', array[1, 3, 1], 0, 0),
    ('memorial day', array[5, -1, 1], 0, 0),
    ('labor day', array[9, 1, 1], 0, 0),
    ('thanksgiving(?: day)?|感恩节', array[11, 4, 4], 0, 0),
    ('black friday', array[11, 4, 5], 0, 0),
    ('mother''?s'' ?day|mother''?s day|母亲节', array[5, 2, 0], 0, 0),
    ('father''?s'' ?day|father''?s day|父亲节', array[6, 3, 0], 0, 0),
    ('妇女节|三八节', array[3, 8], 0, 0),
    ('植树节', array[3, 12], 0, 0),
    ('清明节?', array[4, 5], -1, 1),
    ('五一(?:劳动节)?|劳动节', array[5, 1], 0, 4),
    ('五四青年节|青年节', array[5, 4], 0, 0),
    ('六一(?:儿童节)?|儿童节', array[6, 1], 0, 0),
    ('建军节', array[8, 1], 0, 0),
    ('教师节', array[9, 10], 0, 0),
    ('国庆节?|十一(?:假期|长假|黄金周|放假)', array[10, 1], 0, 6),
    ('双11|双十一', array[11, 11], 0, 0),
    ('双十二', array[12, 12], 0, 0),
    ('good friday', array[403, 325, 414, 330, 419, 410, 402, 415, 407, 329, 418, 403, 326, 414, 330, 419, 411, 326, 415,
       407, 323], 0, 0),
    ('easter(?: sunday| monday)?', array[405, 327, 416, 401, 421, 412, 404, 417, 409, 331, 420, 405, 328, 416, 401, 421,
       413, 328, 417, 409, 325], -2, 1),
    ('(?:chinese|lunar) new year|春节|大年初一|正月初一', array[219, 208, 128, 216, 205, 125, 212, 201, 122, 210, 129,
       217, 206, 126, 213, 203, 123, 211, 131, 219, 208], -1, 6),
    ('除夕夜?|大?年三十', array[218, 207, 127, 215, 204, 124, 211, 131, 121, 209, 128, 216, 205, 125, 212, 202, 122, 210,
       130, 218, 207], 0, 0),
    ('元宵节?', array[305, 222, 211, 302, 219, 208, 226, 215, 205, 224, 212, 303, 220, 209, 227, 217, 206, 225, 214, 305,
       222], 0, 0),
    ('dragon boat festival|端午节?', array[620, 609, 530, 618, 607, 625, 614, 603, 622, 610, 531, 619, 609, 528, 616,
       605, 624, 612, 601, 620, 610], -1, 1),
    ('七夕节?', array[820, 809, 828, 817, 807, 825, 814, 804, 822, 810, 829, 819, 808, 826, 816, 805, 824, 812, 801, 820,
       810], 0, 0),
    ('mid-autumn festival|中秋节?', array[927, 915, 1004, 924, 913, 1001, 921, 910, 929, 917, 1006, 925, 915, 1003, 922,
       912, 1001, 919, 908, 927, 916], -1, 1),
    ('重阳节?', array[1021, 1009, 1028, 1017, 1007, 1025, 1014, 1004, 1023, 1011, 1029, 1018, 1008, 1026, 1016, 1005,
       1024, 1012, 1001, 1020, 1009], 0, 0)
$$;

-- holiday_on returns the day of a holiday in a year, or null if it is unknown.
create or replace function oxbow.holiday_on(_rule integer[], _year integer) returns date
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  _first date;
begin
  if _year not between 1 and 9998 then
    return null;
  elsif cardinality(_rule) = 2 then
    return make_date(_year, _rule[1], _rule[2]);
  elsif cardinality(_rule) > 3 then
    return make_date(_year, _rule[_year - 2014] / 100, _rule[_year - 2014] % 100);
  end if;
  -- the last of May, which has 31 days, is on the 25th or later
  _first := make_date(_year, _rule[1], 1) + case when _rule[2] > 0 then 7 * (_rule[2] - 1) else 24 end;
  return _first + (_rule[3] - extract(dow from _first)::integer + 7) % 7;
end $$;

-- names_holiday reports whether a query may contain a holiday.
create or replace function oxbow.names_holiday(query text) returns boolean
language sql immutable parallel safe
return lower(left(query, 2000)) like any ('{%christmas%,%xmas%,% eve%,%boxing day%,%new year%,%valentine%,%patrick%,%april fool%,
  %halloween%,%bonfire%,% day%,%thanksgiving%,%black friday%,%good friday%,%easter%,%festival%,%节%,%圣诞%,%元旦%,%除夕%,
  %平安夜%,%跨年%,%年三十%,%初一%,%国庆%,%十一%,%清明%,%端午%,%中秋%,%重阳%,%七夕%,%元宵%,%五一%,%六一%,%双1%,%双十%}'::text[]);

-- query_holidays returns the date terms of the holidays in a query. A holiday without a year counts only if the wording
-- makes it a time ("over Christmas", 国庆节我…), because a Christmas party may be planned in autumn. It is the latest that
-- has begun; the days of the previous three years and the next one are added without their months, so they count less.
create or replace function oxbow.query_holidays(query text, today date) returns text[]
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  this_year constant integer := extract(year from today);
  found text[];
  holiday record;
  y integer;
  latest integer;
  terms text[] := '{}';
begin
  for found in -- each once, and not all: a hostile query has hundreds
    select array[lower(f.found[1])]
      from regexp_matches(query, (select '(?<![期周拜第])(' || string_agg(h.names, '|') || ')' from oxbow.holidays() h), 'gi')
             with ordinality f(found, nth)
     group by lower(f.found[1]) order by min(f.nth) limit 20
  loop
    select h.* into holiday from oxbow.holidays() h where found[1] ~* ('^(?:' || h.names || ')$') limit 1;
    latest := this_year - coalesce((oxbow.holiday_on(holiday.rule, this_year) + holiday.begins > today)::integer, 0);
    y := substring(query, '(?i)([0-9]{4})(?: ?年的?)? ?' || found[1])::integer;
    y := coalesce(y, substring(query, '(?i)' || found[1] || ',? (?:of )?([0-9]{4})\M')::integer,
      case lower(substring(query, '(?i)\m(last|this|next) ' || found[1]))
        when 'last' then latest - (oxbow.holiday_on(holiday.rule, latest) + holiday.ends >= today)::integer
        when 'this' then this_year
        when 'next' then latest + 1 end);
    continue when query ~* ('\m(?:before|after) ' || found[1]) or query ~* (found[1] || '[之以]?[前后]') or y is null
      and query !~* ('(?:\m(?:over|during|on|at|around|for) (?:the )?|[我你他她们])' || found[1])
      and query !~* (found[1] || '(?:那天|当天|的时候|[我你他她])');
    terms := terms || coalesce(oxbow.span_terms(oxbow.holiday_on(holiday.rule, coalesce(y, latest)) + holiday.begins,
      oxbow.holiday_on(holiday.rule, coalesce(y, latest)) + holiday.ends), '{}');
    if y is null then
      terms := terms || array(
        select '@' || to_char(oxbow.holiday_on(holiday.rule, other) + d, 'YYYY-MM-DD')
          from generate_series(this_year + 1, this_year - 3, -1) other,
               generate_series(holiday.begins, holiday.ends) d
         where oxbow.holiday_on(holiday.rule, other) is not null and other <> latest);
    end if;
  end loop;
  return terms;
end $$;

-- weekday_number returns the number of a day of the week; Monday is 1.
create or replace function oxbow.weekday_number(name text) returns integer
language sql immutable parallel safe
return coalesce(array_position(array['mo', 'tu', 'we', 'th', 'fr', 'sa', 'su'], left(lower(name), 2)),
  nullif(strpos('一二三四五六日', name), 0), 7);

-- query_times returns the date terms of the relative times, seasons, quarters and holidays in a query. It also returns
-- the rest of the query for query_dates, in which "last year" and the like are replaced by the number of the year.
create or replace function oxbow.query_times(query text, today date, out terms text[], out rest text)
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  number constant text := '(half an?|\w+)(?: of)? ';
  chinese_number constant text := '(?<![0-9第])([0-9]{1,4}|[一二两三四五六七八九十]{1,3}|[几数半])';
  unit constant text := '(minute|hour|day|night|week|fortnight|month|quarter|year|decade)s?\M';
  chinese_unit constant text := '(分钟|个?小时|个?钟头|天|周|个?星期|个?礼拜|个月|个季度|年)';
  chinese_week constant text := '个?(?:周|星期|礼拜)';
  which constant text := '(this past|this coming|last|past|previous|this|coming|next)';
  weekday constant text := '(mon|tues|wednes|thurs|fri|satur|sun)day\M';
  month_names constant text[] := array['january', 'february', 'march', 'april', 'may', 'june', 'july', 'august',
    'september', 'october', 'november', 'december'];
  season constant text := '(spring|summer|autumn|fall|winter)\M';
  offsets constant jsonb := '{"last": -1, "past": -1, "previous": -1, "this past": -1, "this": 0, "this coming": 1,
    "coming": 1, "next": 1, "before last": -2, "after next": 2, "上上": -2, "上": -1, "本": 0, "这": 0, "今": 0,
    "下": 1, "下下": 2, "大前": -3, "前": -2, "昨": -1, "明": 1, "后": 2, "大后": 3,
    "day before yesterday": -2, "night before last": -2, "yesterday": -1, "last night": -1, "last evening": -1,
    "today": 0, "tonight": 0, "this morning": 0, "this afternoon": 0, "this evening": 0, "tomorrow": 1,
    "day after tomorrow": 2}';
  -- the first month, and the number of months
  parts constant jsonb := '{"spring": [3, 3], "summer": [6, 3], "autumn": [9, 3], "fall": [9, 3], "winter": [12, 3],
    "春": [3, 3], "夏": [6, 3], "秋": [9, 3], "冬": [12, 3], "暑假": [7, 2], "寒假": [1, 2], "上半年": [1, 6],
    "下半年": [7, 6], "年初": [1, 1], "年底": [12, 1], "年末": [12, 1], "first": [1, 3], "second": [4, 3],
    "third": [7, 3], "fourth": [10, 3], "1": [1, 3], "2": [4, 3], "3": [7, 3], "4": [10, 3], "一": [1, 3],
    "二": [4, 3], "三": [7, 3], "四": [10, 3]}';
  -- Years, and their distance from this year. They are replaced first, so that a date or season with "last year" is read
  -- as one with the number of the year.
  years constant text[] := array['(?<![以之])大前年', '-3', '(?<![以之目])前年', '-2', '\mthe year before last\M', '-2',
    '去年', '-1', '\mlast year\M(?! of)', '-1', '今年', '0', '\mthis year\M', '0', '明年', '1', '\mnext year\M', '1',
    '(?<![以之今])后年', '2'];
  -- The other forms, five texts each: patterns of LIKE of which the query must match one, a regular expression, the kind
  -- of time, the positions in the expression of the word of offsets (such as last), the number, the unit or name and the
  -- year (0: none), and what replaces the form in the rest of the query.
  forms constant text[] := array[
    '{% ago%}', '\m' || number || unit || ' ago\M', 'ago', '0,1,2,0', ' ',
    '{%前%}', chinese_number || '多?' || chinese_unit || '半?(?:之前|以前|前)(?![台面后])', 'ago', '0,1,2,0', ' ',
    '{%from now%,%from today%}', '\m' || number || unit || ' from (?:now|today)\M', 'ahead', '0,1,2,0', ' ',
    '{%will %,%going to %,is %,% is %,% are %,% am i %,%do i have %,%'' time%}',
      '\min (?:(?:about|around|a) )?' || number || unit || '(?:'' time\M)?(?! of)', 'ahead', '0,1,2,0', ' ',
    '{%后%}', '(?:^|[我咱]们?|再过)' || chinese_number || chinese_unit || '[之以]?后', 'ahead', '0,1,2,0', ' ',
    '{%再过%}', '再过' || chinese_number || chinese_unit, 'ahead', '0,1,2,0', ' ',
    '{%last%,%past%,%previous%}', '\m(?:last|past|previous) ' || number || unit || '(?! of)', 'past', '0,1,2,0', ' ',
    '{%the last%,%the past%}', '\m(?:in|over|during|within|throughout|for) the (?:last|past) ' || unit || '(?! of)',
      'past', '0,0,1,0', ' ',
    '{%近%,%过去%,%这%}', '(?:最近|过去|近|这(?!一))的?' || chinese_number || chinese_unit || '(?:以来|[里内来间中])?',
      'past', '0,1,2,0', ' ',
    '{%day%,%tomorrow%}', '\m(?:the )?(day before yesterday|yesterday|today|tomorrow|day after tomorrow)\M', 'day',
      '1,0,0,0', ' ',
    '{%night%}', '\m(last night|tonight|night before last)\M', 'day', '1,0,0,0', ' ',
    '{%this %,%last %}', '\m(this morning|this afternoon|this evening|last evening)\M', 'day', '1,0,0,0', ' ',
    '{%前%}', '(?<![以之])(大前|前)(?:天|[晚日](?!子))', 'day', '1,0,0,0', ' ',
    '{%昨%,%今%,%明%}', '([昨今明])[天日晚夜早晨儿](?!头条)', 'day', '1,0,0,0', ' ',
    '{%后天%}', '(?<![以之])(大?后)天(?![气天晴性]|的努力|形成)', 'day', '1,0,0,0', ' ',
    '{%day%week%}', '\m' || weekday || ' (?:of )?(last|this|next) week\M', 'day of week', '2,0,1,0', ' ',
    '{%week%day%}', '\m(last|this|next) week(?:''s)?(?: on)? ' || weekday, 'day of week', '1,0,2,0', ' ',
    '{%周%,%星期%,%礼拜%}', '(上上|下下|[上下本这])' || chinese_week || '([一二三四五六日天])', 'day of week', '1,0,2,0', ' ',
    '{%周末%}', '(上上|下下|[上下本这])个?周末', 'weekend', '1,0,0,0', ' ',
    '{%周%,%星期%,%礼拜%}', '(上上|下下|[上下本这])' || chinese_week || '(?![年围])', 'week', '1,0,0,0', ' ',
    '{%月%}', '(上上|下下|[上下本这])个?月(?:的?([0-9]{1,2})[日号])?', 'month', '1,2,0,0', ' ',
    '{%季度%}', '(上上|下下|[上下本这])个?季度', 'quarter', '1,0,0,0', ' ',
    '{%before last%,%after next%}', '\m(?:the )?(week|weekend|month|quarter) (before last|after next)\M', 'unit',
      '2,0,1,0', ' ',
    '{%week%,%month%,%quarter%}', '\m' || which || ' (week|weekend|month|quarter)(?:''s)?\M(?! of)', 'unit',
      '1,0,2,0', ' ',
    '{%day%}', '\m(?:on )?' || which || ' ' || weekday, 'weekday', '1,0,2,0', ' ',
    '{%on %day%}', '\mon ' || weekday, 'weekday', '0,0,1,0', ' ',
    '{%周%,%星期%,%礼拜%}', '(?<![每个一两三四五几多逢上下本这])(?:周|星期|礼拜)([一二三四五六日天])(?![、到至和都次])', 'weekday',
      '0,0,1,0', ' ',
    '{%last %,%this %,%next %}', '\m(last|this|next) (\w+)', 'named month', '1,0,2,0', ' ',
    '{%spring%,%summer%,%autumn%,%fall%,%winter%}', season || ',? (?:of )?([0-9]{4})\M', 'part', '0,0,1,2', ' \1 \2 ',
    '{%spring%,%summer%,%autumn%,%fall%,%winter%}', '\m([0-9]{4})(?:''s)? ' || season, 'part', '0,0,2,1', ' \1 \2 ',
    '{%spring%,%summer%,%autumn%,%fall%,%winter%}', which || ' ' || season, 'part', '1,0,2,0', ' \2 ',
    '{%spring%,%summer%,%autumn%,%fall%,%winter%}', '\m(?:in|during|over|throughout) (?:the )?(?:early |late |mid-?)?'
      || season || '(?! (?:rolls?|onions?|water|cleaning|chickens?))', 'part', '0,0,1,0', ' \1 ',
    '{%年%}', '([0-9]{4}) ?年的?([春夏秋冬])[天季]', 'part', '0,0,2,1', ' \1年\2 ',
    '{%年%}', '([0-9]{4}) ?年的?(暑假|寒假|年初|年底|年末|上半年|下半年)', 'part', '0,0,2,1', ' \1年\2 ',
    '{%春天%,%夏天%,%秋天%,%冬天%}', '([春夏秋冬])天', 'part', '0,0,1,0', ' \1天 ',
    '{%季度%}', '([0-9]{4}) ?年的?第?([一二三四1-4]) ?季度', 'part', '0,0,2,1', ' \1年 ',
    '{%quarter%}', '\m(first|second|third|fourth) quarter (?:of )?([0-9]{4})\M', 'part', '0,0,1,2', ' \2 ',
    '{%q_ %,%q_,%}', '\mq([1-4]),? (?:of )?([0-9]{4})\M', 'part', '0,0,1,2', ' '];
  found text[];
  place integer[];
  named boolean;
  what text;
  ahead integer; -- units from now, negative for the past
  name text;     -- of a unit, weekday, month, season or holiday
  n double precision;
  months double precision;
  days double precision;
  moment date;
  fuzzy integer; -- days before and after the day, because "three weeks ago" is not exact
  y integer;
  m integer;
  step interval;
  first date;
  last date;
  this_year constant integer := extract(year from today);
  this_month constant integer := extract(month from today);
begin
  terms := '{}';
  rest := normalize(query, NFKC);
  for i in 1 .. cardinality(years) by 2 loop
    continue when lower(rest) not like case when years[i] like '%年' then '%年%' else '%year%' end;
    rest := regexp_replace(rest, '(?i)' || years[i], (this_year + years[i + 1]::integer)::text
      || case when years[i] like '%年' then '年' else '' end, 'g');
  end loop;
  terms := case when oxbow.names_holiday(rest) then oxbow.query_holidays(rest, today) else '{}' end;
  for i in 1 .. cardinality(forms) by 5 loop
    continue when not lower(rest) like any (forms[i]::text[]) or rest !~* forms[i + 1];
    place := string_to_array(forms[i + 3], ',');
    named := false;
    for found in -- each once, and not more than there can be terms: a hostile query has hundreds
      select f.found from regexp_matches(rest, forms[i + 1], 'gi') with ordinality f(found, nth)
       group by f.found order by min(f.nth) limit 40
    loop
      ahead := offsets -> lower(found[place[1]]);
      name := lower(found[place[3]]);
      y := found[place[4]];
      first := null;
      what := forms[i + 2];
      if what in ('ago', 'past', 'ahead') then
        n := oxbow.times_number(coalesce(found[place[2]], '1'));
        months := n * case when name ~ 'month|月' then 1 when name ~ 'quarter|季' then 3 when name ~ 'year|年' then 12
                           when name = 'decade' then 120 end;
        days := case when months >= 1 then null when months > 0 then 30 * months
          else n * case when name ~ 'minute|分' then 0 when name ~ 'hour|时|头' then 1 / 24.0
                        when name = 'fortnight' then 14
                        when name ~ 'week|周|星|礼' then 7 else 1 end end;
        continue when n is null or months >= 12 * (this_year - 1);
        step := case when months >= 1 then make_interval(months => months::integer)
                     else make_interval(days => ceil(days)::integer) end;
        moment := case what when 'ahead' then today + step else today - step end;
        first := least(moment, today);
        last := greatest(moment, today);
        if what <> 'past' and months >= 12 then
          first := date_trunc('year', moment::timestamp);
          last := first + interval '1 year - 1 day';
        elsif what <> 'past' and coalesce(days >= 1, true) then
          fuzzy := case when months >= 6 then 30 when months >= 1 then 15 when name ~ 'month|week|月|周|星|礼' then 3
                        when found[place[2]] ~ 'few|couple|several|[几数]' then least(2, days - 1)
                        else floor(days / 7) end;
          first := moment - fuzzy;
          last := moment + fuzzy;
        end if;
      elsif what = 'weekday' then
        m := oxbow.weekday_number(name);
        first := today - ((extract(isodow from today)::integer - m + 6) % 7 + 1); -- the last one
        if ahead is null then
          terms := terms || oxbow.span_terms(first, first);
          first := first + 7;
        elsif found[place[1]] ~* 'coming' then
          first := first + case when first + 7 > today then 7 else 14 end;
        elsif ahead >= 0 then
          first := date_trunc('week', today::timestamp)::date + 7 * ahead + m - 1;
        end if;
        last := first;
      elsif what = 'named month' then
        m := array_position(month_names, name);
        continue when m is null;
        first := make_date(this_year + case when ahead < 0 then -(m >= this_month)::integer
                                            when ahead > 0 then (m <= this_month)::integer else 0 end, m, 1);
        last := first + interval '1 month - 1 day';
      elsif what = 'part' then
        m := parts -> name -> 0;
        step := make_interval(months => (parts -> name -> 1)::integer);
        if y is null and ahead is null then -- of any year
          named := true;
          terms := terms || array(select '@' || to_char((m + k - 1) % 12 + 1, 'FM00')
                                    from generate_series(0, (parts -> name -> 1)::integer - 1) k);
          continue;
        end if;
        continue when y not between 1 and 9998;
        y := coalesce(y,
          this_year - (ahead > 0 or ahead = 0 and name = 'winter' and this_month < 6)::integer, this_year);
        loop
          first := make_date(y, m, 1);
          last := first + step - interval '1 day';
          exit when ahead is null or ahead = 0 or ahead < 0 and last < today or ahead > 0 and first > today;
          y := y + ahead;
        end loop;
      else
        what := case what when 'unit' then name when 'day of week' then 'week' else what end;
        step := case what when 'quarter' then '3 months' when 'weekend' then '1 week' else '1 ' || what end;
        first := date_trunc(case what when 'weekend' then 'week' else what end, today::timestamp) + ahead * step;
        last := first + step - interval '1 day';
        if found[place[1]] ~* 'past' and what <> 'weekend' then
          first := today - step;
          last := today;
        elsif what = 'weekend' then
          first := first + 5;
        elsif forms[i + 2] = 'day of week' then
          first := first + oxbow.weekday_number(name) - 1;
          last := first;
        elsif found[place[2]]::integer between 1 and extract(day from last) then -- a day of the month
          first := first + found[place[2]]::integer - 1;
          last := first;
        end if;
      end if;
      named := true;
      terms := terms || coalesce(oxbow.span_terms(first, last), '{}');
    end loop;
    if named then
      rest := regexp_replace(rest, forms[i + 1], forms[i + 4], 'gi');
    end if;
  end loop;
  terms := array(select t.term from unnest(terms) with ordinality t(term, nth)
                  group by t.term order by min(t.nth) limit 40);
end $$;

-- day_of returns the day of a moment in the user's time zone; null outside the years 10 to 9998, so that query_times
-- finds years around it.
create or replace function oxbow.day_of(_user_id text, _at timestamptz) returns date
language sql stable parallel safe
return case when _at >= '0010-01-01' and _at < '9999-01-01' then
  (_at at time zone coalesce((select u.timezone from oxbow.users u where u.user_id = _user_id), 'UTC'))::date end;

-- names_time reports whether a query may contain a time that query_times reads.
create or replace function oxbow.names_time(query text) returns boolean
language sql immutable parallel safe
return lower(left(query, 2000)) like any ('{% ago%,%last %,%past %,%previous %,%this %,%next %,%coming %,%before last%,
  %after next%,%day%,%tomorrow%,%tonight%,%night %,%spring%,%summer%,%autumn%,%fall%,%winter%,% quarter%,%q_ %,
  %年%,%月%,%周%,%星期%,%礼拜%,%季%,%前%,%昨%,%今%,%明%,
  %后%,%再过%,%近%,%过去%,%这%,%春天%,%夏天%,%秋天%,%冬天%,
  %from now%,%in % minute%,%in % hour%,%in % week%,%in % fortnight%,%in % month%,%in % year%,%in % decade%}'::text[])
  or oxbow.names_holiday(query);

-- query_terms returns the words and dates to search for. Chinese bigrams that contain a pronoun, a function
-- word or a question word match everywhere and are dropped, except 住在 (to live in), unless the query
-- consists only of them. A single Chinese, Japanese or Korean character matches the bigrams that begin with
-- it: '茶*'. Relative times are read only if today is given.
drop function if exists oxbow.query_terms(text);
create or replace function oxbow.query_terms(query text, today date default null, out words text[], out dates text[])
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  empty constant text := '[的了什么吗呢哪是在和与及其何如怎谁几我你您他她它们]';
  asked text := left(coalesce(query, ''), 2000);
  relative text[] := '{}';
  rest text;
  lexemes text[];
begin
  if today between '0010-01-01' and '9998-12-31' then
    select t.terms, t.rest into relative, rest from oxbow.query_times(asked, today) t;
  end if;
  select (relative || d.terms)[:40] into dates from oxbow.query_dates(coalesce(rest, asked)) d;
  lexemes := array(select case when length(l) = 1 and ascii(l) > 127 then l || '*' else l end
                     from unnest(tsvector_to_array((oxbow.terms(asked)).tsv)) l where left(l, 1) <> '+');
  words := array(select l from unnest(lexemes) l where length(l) <> 2 or l !~ empty or l = '住在' limit 256);
  if words = '{}' then
    words := lexemes[1:256];
  end if;
end $$;

