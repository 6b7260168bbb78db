-- What a trait may be: an import, or an INSERT, could say anything until now. Not validated: rows from before stay as they are.
alter table oxbow.memories_trait
  add constraint trait_stage_known check (trait_stage is null or trait_stage in ('trend', 'candidate', 'emerging', 'established', 'core', 'dissolved')
    or oxbow.reject('trait_stage', trait_stage, 'must be trend, candidate, emerging, established, core or dissolved')) not valid,
  add constraint trait_subtype_known check (trait_subtype is null or trait_subtype in ('behavior', 'preference', 'core')
    or oxbow.reject('trait_subtype', trait_subtype, 'must be behavior, preference or core')) not valid,
  add constraint trait_confidence_range check (trait_confidence is null or trait_confidence between 0 and 1
    or oxbow.reject('trait_confidence', trait_confidence::text, 'must be between 0 and 1')) not valid;

---- create above / drop below ----

alter table oxbow.memories_trait drop constraint trait_stage_known, drop constraint trait_subtype_known, drop constraint trait_confidence_range;
