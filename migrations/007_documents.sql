-- Documents: the files that chunks were read from.

create table oxbow.document_files (
  user_id      text not null,
  id           uuid not null default gen_random_uuid(),
  path         text not null,               -- as it was given, or an address
  media_type   text not null,
  bytes        bigint not null,
  content_hash text not null,               -- SHA-256 of the file, hexadecimal
  chunks       integer not null default 0,
  metadata     jsonb not null default '{}',
  created_at   timestamptz not null default now(),
  updated_at   timestamptz not null default now(),
  constraint user_id_length check (octet_length(user_id) between 1 and 255
    or oxbow.reject('user_id', user_id, 'must have 1 to 255 bytes')),
  constraint path_length check (octet_length(path) between 1 and 4096
    or oxbow.reject('path', path, 'must have 1 to 4096 bytes')),
  primary key (user_id, id),
  unique (user_id, path)
);

-- which memories are the chunks of a file, and in what order
create table oxbow.document_chunks (
  user_id     text not null,
  file_id     uuid not null,
  nth         integer not null,             -- from 1
  memory_type oxbow.memory_type not null default 'document' check (memory_type = 'document'),
  memory_id   uuid not null,
  primary key (user_id, file_id, nth),
  foreign key (user_id, file_id) references oxbow.document_files on delete cascade,
  foreign key (user_id, memory_type, memory_id) references oxbow.memories on delete cascade
);
create index document_chunks_memory_idx on oxbow.document_chunks (user_id, memory_type, memory_id);

---- create above / drop below ----

drop table oxbow.document_chunks, oxbow.document_files;
