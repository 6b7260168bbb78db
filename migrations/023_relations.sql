-- The weights of links between related memories: replies that use both raise them (oxbow.link_weight).

alter table oxbow.memory_links
  add joint double precision not null default 0, -- joint uses, faded until joint_at
  add joint_at timestamptz,                      -- of the last joint use
  add constraint joint_range check (joint between 0 and 1000000
    or oxbow.reject('joint', joint::text, 'must be between 0 and 1000000'));

---- create above / drop below ----

alter table oxbow.memory_links drop joint, drop joint_at;
