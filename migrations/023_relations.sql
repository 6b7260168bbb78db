-- The weights of links between related memories: replies that use both raise them (oxbow.link_weight). Communities of
-- entities.

alter table oxbow.memory_links
  add joint double precision not null default 0, -- joint uses, faded until joint_at
  add joint_at timestamptz,                      -- of the last joint use
  add constraint joint_range check (joint between 0 and 1000000
    or oxbow.reject('joint', joint::text, 'must be between 0 and 1000000'));

alter table oxbow.entities
  add community_id uuid,                            -- the community that most of its edges lead to
  add community_due boolean not null default true;  -- its edges changed
create index entities_community_idx on oxbow.entities (user_id, community_id) where community_id is not null;
create index entities_due_idx on oxbow.entities (user_id, id) where community_due;

-- Communities of entities, without texts. The id is that of the entity with which it began.
create table oxbow.communities (
  user_id    text not null,
  id         uuid not null,
  members    integer not null default 0,   -- counted up to 1,000
  central    uuid[] not null default '{}', -- members with most edges to others, at most 8
  sources    uuid[] not null default '{}', -- memories that connect most of them, at most 5
  version    integer not null default 0,   -- of the sources
  due        boolean not null default true, -- its members changed
  updated_at timestamptz not null default now(),
  primary key (user_id, id)
);
create index communities_members_idx on oxbow.communities (user_id, members desc, id);
create index communities_due_idx on oxbow.communities (user_id, id) where due;

---- create above / drop below ----

drop table oxbow.communities;
drop index oxbow.entities_due_idx, oxbow.entities_community_idx;
alter table oxbow.entities drop community_id, drop community_due;
alter table oxbow.memory_links drop joint, drop joint_at;
