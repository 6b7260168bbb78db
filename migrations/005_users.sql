-- Users. A user has a row only if something differs from the default.

create table oxbow.users (
  user_id           text not null primary key,
  timezone          text, -- null: unknown; dates are then read in UTC and hours are not interpreted
  language          text,
  forgetting_factor double precision not null default 1.0,
  opted_out         boolean not null default false,
  reconcile         boolean, -- whether facts of applications replace others; null: as the setting reconcile says
  metadata          jsonb not null default '{}',
  created_at        timestamptz not null default now(),
  updated_at        timestamptz,
  constraint user_id_length check (octet_length(user_id) between 1 and 255
    or oxbow.reject('user_id', user_id, 'must have 1 to 255 bytes')),
  constraint timezone_known check (oxbow.is_timezone(timezone)
    or oxbow.reject('timezone', timezone, 'must be the name of a time zone, such as Asia/Shanghai')),
  constraint forgetting_factor_range check (forgetting_factor between 0.001 and 1000
    or oxbow.reject('forgetting_factor', forgetting_factor::text, 'must be between 0.001 and 1000')),
  constraint metadata_object check (jsonb_typeof(metadata) = 'object'
    or oxbow.reject('metadata', metadata::text, 'must be a JSON object'))
);

---- create above / drop below ----

drop table oxbow.users cascade;
