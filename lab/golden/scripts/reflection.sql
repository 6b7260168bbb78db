-- Reflection day by day: trends and candidates, hours, time zones, what does not count.

-- name: five people
insert into oxbow.users (user_id, timezone, language) values ('vik', 'Europe/Stockholm', 'en'), ('小满',
  'Asia/Shanghai', 'zh'), ('tess', 'Europe/Dublin', 'en');
create function golden.say(_user text, _n integer, _at timestamptz, _content text) returns void language sql as $$
  insert into oxbow.memories (user_id, memory_type, id, seq, session_id, valid_at, created_at, content)
  values (_user, 'episodic', golden.id(_n), _n, _user || _n, _at, _at, _content) $$;
create view golden.held as
  select user_id, content, subtype, stored_stage as stage, stored_confidence as confidence, context, supporting,
    contradicting, reinforcement_count as reinforced,
         window_end, key, derived_from from oxbow.traits;

-- name: four walks at 09:10 in China, of somebody without a time zone
select golden.say('una', 5100 + n, timestamptz '2024-03-01 01:10+00' + n * interval '2 days',
  'Went for a walk by the lake.') from generate_series(1, 4) n;

-- name: two evenings of chess within a week
select golden.say('tess', 5201, '2024-03-02 18:00+00', 'Played chess at the club, and lost.');
select golden.say('tess', 5202, '2024-03-05 18:00+00', 'Chess with Rory tonight.');

-- name: two games of badminton, a month apart
select golden.say('小满', 5301, '2024-02-01 19:00+08', '晚上打羽毛球。');
select golden.say('小满', 5302, '2024-03-05 19:00+08', '又去打羽毛球了。');

-- name: traits at first
-- $ oxbow work --until-idle --now 2024-03-10
-- $ for u in una tess 小满 vik; do oxbow reflect $u --now 2024-03-10; done
select * from golden.held order by user_id, content;

-- name: trends are never recalled
select memory_type, content from oxbow.recall('tess', 'chess', now => '2024-03-11');

-- name: a third and a fourth evening
select golden.say('tess', 5203, '2024-03-12 18:00+00', 'Chess in the park, a draw.');

-- name: traits after the third evening
-- $ oxbow work --until-idle --now 2024-03-13
-- $ for u in una tess 小满 vik; do oxbow reflect $u --now 2024-03-13; done
select * from golden.held where user_id = 'tess' order by content;
select golden.say('tess', 5204, '2024-03-19 18:00+00', 'Played chess with Rory again.');

-- name: traits after the fourth evening
-- $ oxbow work --until-idle --now 2024-03-20
-- $ for u in una tess 小满 vik; do oxbow reflect $u --now 2024-03-20; done
select * from golden.held where user_id = 'tess' order by content;
select t.content, e.seq, e.event, e.at, e.factor, e.confidence, e.stage, e.reason from oxbow.trait_events e
  join oxbow.memories t on t.user_id = e.user_id and t.id = e.trait_id
 where e.user_id = 'tess' order by 1, 2;

-- name: eight nights, stored on eight days
select golden.say('vik', 5401, '2024-03-01 23:30+01', 'Still coding the scheduler.');

-- name: the second
-- $ oxbow work --until-idle --now 2024-03-02
-- $ for u in una tess 小满 vik; do oxbow reflect $u --now 2024-03-02; done
select golden.say('vik', 5402, '2024-03-02 23:40+01', 'Fixing the tests of the scheduler.');
-- name: the third
-- $ oxbow work --until-idle --now 2024-03-03
-- $ for u in una tess 小满 vik; do oxbow reflect $u --now 2024-03-03; done
select golden.say('vik', 5403, '2024-03-03 23:50+01', 'Reading about queues.');
-- name: the fourth
-- $ oxbow work --until-idle --now 2024-03-04
-- $ for u in una tess 小满 vik; do oxbow reflect $u --now 2024-03-04; done
select golden.say('vik', 5404, '2024-03-05 00:20+01', 'Wrote a letter to my aunt.');
-- name: the fifth
-- $ oxbow work --until-idle --now 2024-03-06
-- $ for u in una tess 小满 vik; do oxbow reflect $u --now 2024-03-06; done
select golden.say('vik', 5405, '2024-03-07 00:30+01', 'Cleaned the desk.');
-- name: the sixth
-- $ oxbow work --until-idle --now 2024-03-08
-- $ for u in una tess 小满 vik; do oxbow reflect $u --now 2024-03-08; done
select golden.say('vik', 5406, '2024-03-09 00:40+01', 'Played chess against the machine.');
-- name: the seventh
-- $ oxbow work --until-idle --now 2024-03-10
-- $ for u in una tess 小满 vik; do oxbow reflect $u --now 2024-03-10; done
select golden.say('vik', 5407, '2024-03-11 01:10+01', 'Sorted old photographs.');
-- name: the eighth
-- $ oxbow work --until-idle --now 2024-03-12
-- $ for u in una tess 小满 vik; do oxbow reflect $u --now 2024-03-12; done
select golden.say('vik', 5408, '2024-03-13 00:10+01', 'Listened to the radio.');

-- name: traits after eight nights
-- $ oxbow work --until-idle --now 2024-03-14
-- $ for u in una tess 小满 vik; do oxbow reflect $u --now 2024-03-14; done
select * from golden.held where user_id = 'vik' order by content;
select key, count(*) from oxbow.trait_clues where user_id = 'vik' group by 1 order by 1;

-- name: recalling is not a use
select id from oxbow.recall('vik', 'scheduler', now => '2024-03-15');

-- name: traits after recalling
-- $ oxbow recall vik scheduler
-- $ oxbow work --until-idle --now 2024-03-16
-- $ for u in una tess 小满 vik; do oxbow reflect $u --now 2024-03-16; done
select content, access_count from oxbow.memories where user_id = 'vik' and access_count > 0 order by content;
select e.event, e.factor, e.actor, count(*) from oxbow.trait_events e where e.user_id = 'vik' group by 1, 2, 3
  order by 1, 2, 3;

-- name: after the windows have ended
select settled > 0 as settled, dissolved from oxbow.settle_traits('2024-06-01', 1000);
select * from golden.held order by user_id, content;

-- name: a trait that a person dissolves is not revived
select oxbow.delete_trait('tess', golden.trait('tess', 'chess')) > 0 as deleted;
select golden.say('tess', 5205, '2024-06-02 18:00+00', 'Chess again, at the club.');

-- name: nor with more evidence
-- $ oxbow work --until-idle --now 2024-06-03
-- $ for u in una tess 小满 vik; do oxbow reflect $u --now 2024-06-03; done
select content from golden.held where user_id = 'tess' and content ilike '%chess%';

-- name: check finds nothing
-- $ oxbow check
select count(*) > 0 as there from oxbow.trait_events;
