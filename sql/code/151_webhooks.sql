-- Webhooks: addresses to which the job notify posts due intentions. Only the owner of the tables, the worker and
-- operators may see them.

-- record_delivery notes the result of a delivery to a webhook, and disables the webhook if _gone.
create or replace function oxbow.record_delivery(_id uuid, _status text, _gone boolean) returns void
language sql set search_path = pg_catalog, pg_temp as $$
  update oxbow.webhooks w
     set deliveries = jsonb_path_query_array(
           jsonb_build_array(jsonb_build_object('at', clock_timestamp(), 'status', _status)) || w.deliveries, '$[0 to 4]'),
         disabled_at = case when _gone then coalesce(w.disabled_at, clock_timestamp()) else w.disabled_at end,
         disabled_by = case when _gone then coalesce(w.disabled_by, _status) else w.disabled_by end
   where w.id = _id;
$$;
call oxbow.grant_worker('record_delivery');
