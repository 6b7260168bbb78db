-- Parses a query into its words (at most 256 terms of the first 2,000 characters) and the dates that it
-- mentions.

-- month_number returns the month of a number, an English name, abbreviated or not, or a Chinese numeral.
create or replace function oxbow.month_number(name text) returns integer
language sql immutable parallel safe
return coalesce(
  case when name ~ '^[0-9]+$' then name::integer end,
  array_position(array['jan','feb','mar','apr','may','jun','jul','aug','sep','oct','nov','dec'], left(lower(name), 3)),
  array_position(array['一','二','三','四','五','六','七','八','九','十','十一','十二'], name));

-- month_part returns the first and the last day of a third of a month, by its name in English or Chinese.
create or replace function oxbow.month_part(name text, out first integer, out last integer)
language sql immutable parallel safe
return case when name ~* '^(初|上|early|start|beginning)' then row(1, 10) when name ~* '^(中|mid)' then row(11, 20)
            when name ~* '^(底|末|下|late|end)' then row(21, 31) end;

-- query_dates returns the date terms (see date_terms) of a query, and the query without its dates. It
-- recognizes forms such as 2025年10月3日, 3月9日至12日, 十月, 2025年, 2025-10-03, 2025-10, 3 October 2025, October
-- 3rd, in October, early October, 十月底, and 2025. A range within a month yields every day, a range across months its
-- ends. A day also yields its month, so that nearby days rank next. "may" and "march" are months only when capitalized.
create or replace function oxbow.query_dates(query text, out terms text[], out rest text)
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  month constant text := '(Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|'
    || 'Sept?(?:ember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?|jan(?:uary)?|feb(?:ruary)?|apr(?:il)?|june?|july?|'
    || 'aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)';
  -- each form, followed by the positions in it of year, month, day, last month, last day and part of the month (0: none)
  forms constant text[] := array[
    '(?:([0-9]{4}) ?年)? ?的?([0-9]{1,2}|十[一二]?|[一二三四五六七八九]) ?月份?(?: ?([0-9]{1,2})(?: ?[日号])?'
      || '(?: ?[至到~—–-]+ ?(?:([0-9]{1,2}) ?月 ?)?([0-9]{1,2})(?: ?[日号])?)?|的?([上中下]旬|[初底末]))?', '1,2,3,4,5,6',
    '([0-9]{4}) ?年', '1,0,0,0,0,0',
    '\m([0-9]{4})[-/]([0-9]{1,2})(?:[-/]([0-9]{1,2}))?(?![0-9])', '1,2,3,0,0,0',
    '\m([0-9]{1,2})(?:st|nd|rd|th)?(?: of)? ' || month || '\M(?:,? ([0-9]{4})\M)?', '3,2,1,0,0,0',
    '\m' || month || '\M\.? (\d{1,2})(?:st|nd|rd|th)?\M(?:,? ([0-9]{4})\M)?', '3,1,2,0,0,0',
    '\m((?:[Ee]arly|[Ll]ate|[Mm]id|(?:[Ss]tart|[Bb]eginning|[Ee]nd) of)[ -])' || month || '\M(?:,? (?:of )?([0-9]{4})\M)?',
      '3,2,0,0,0,1',
    '\m' || month || '\M(?:,? (?:of )?([0-9]{4})\M)?', '2,1,0,0,0,0',
    '\m((?:19|20)[0-9]{2})\M', '1,0,0,0,0,0'];
  places integer[];
  found text[];
  y integer; m integer; d integer; last_month integer; last_day integer;
  month_term text;
begin
  terms := '{}';
  rest := normalize(query, NFKC); -- full-width digits
  for f in 1 .. cardinality(forms) by 2 loop
    continue when rest !~ forms[f];
    places := string_to_array(forms[f + 1], ',');
    for found in select regexp_matches(rest, forms[f], 'g') loop
      y := found[places[1]];
      m := oxbow.month_number(found[places[2]]);
      d := found[places[3]];
      last_month := coalesce(found[places[4]]::integer, m);
      last_day := least(coalesce(found[places[5]]::integer, d), 31);
      select coalesce(p.first, d), coalesce(p.last, last_day) into d, last_day
        from oxbow.month_part(found[places[6]]) p;
      continue when m not between 1 and 12;
      month_term := '@' || coalesce(to_char(y, 'FM0000') || '-', '') || to_char(m, 'FM00');
      terms := terms || coalesce(month_term, '@' || to_char(y, 'FM0000'));
      if d between 1 and 31 then
        terms := terms || array(select month_term || '-' || to_char(day, 'FM00')
                                  from generate_series(d, case last_month when m then greatest(d, last_day)
                                                                          else d end) day);
      end if;
      if last_month between 1 and 12 and last_month <> m then
        month_term := '@' || coalesce(to_char(y + (last_month < m)::integer, 'FM0000') || '-', '')
          || to_char(last_month, 'FM00');
        terms := terms || array[month_term, month_term || '-' || to_char(last_day, 'FM00')];
      end if;
    end loop;
    rest := regexp_replace(rest, forms[f], ' ', 'g');
  end loop;
  terms := array(select distinct unnest(terms) order by 1 limit 40);
end $$;

-- term_query returns a query of the text index for a term, which is one word whatever it contains. It
-- returns null, which matches nothing, for an empty or too long term.
create or replace function oxbow.term_query(term text) returns tsquery
language sql immutable parallel safe
return case when rtrim(term, '*') = '' or octet_length(term) > 2047 then null
            else ('''' || replace(replace(rtrim(term, '*'), '\', '\\'), '''', '''''')
                  || case when term like '%*' then ''':*' else '''' end)::tsquery end;
call oxbow.grant_worker('term_query');
