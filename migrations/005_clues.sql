-- Clues against a pattern: a denial may be read before anything that shows the pattern.

alter table oxbow.trait_clues add column against boolean not null default false; -- content is then why it speaks against it

---- create above / drop below ----

alter table oxbow.trait_clues drop column against;
