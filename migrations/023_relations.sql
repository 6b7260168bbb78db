-- The weights of links between related memories: replies that use both raise them (oxbow.link_weight).

alter table oxbow.memory_links
  add joint double precision not null default 0, -- joint uses, faded until joint_at
  add joint_at timestamptz,                      -- of the last joint use
  add constraint joint_range check (joint between 0 and 1000000
    or oxbow.reject('joint', joint::text, 'must be between 0 and 1000000'));

insert into oxbow.policy_definitions (name, "default", minimum, maximum, unit, source, meaning) values
  ('related_gain', 0.2, 0, 1, 'of the distance to 1', 'S §4.1', 'by which a reply that uses two related memories raises their weight'),
  ('related_days', 30, 0.1, 3650, 'days', 'S §4.1', 'after which joint uses of two related memories count half');

---- create above / drop below ----

alter table oxbow.memory_links drop joint, drop joint_at;
