CREATE TABLE public.store (
    prefix text NOT NULL,
    key text NOT NULL,
    value jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP,
    updated_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP,
    expires_at timestamp with time zone,
    ttl_minutes integer
);
INSERT INTO public.store VALUES ('memories.ada', '1', '{"kind": "Memory", "content": {"content": "Ada''s boat is called Heron."}}', '2026-11-26 07:50:42.775109+00', '2026-11-26 07:50:42.775109+00', NULL, NULL);
INSERT INTO public.store VALUES ('memories.ada', '2', '{"text": "Ada is allergic to walnuts.", "source": "chat"}', '2026-11-26 07:50:42.775686+00', '2026-11-26 07:50:42.775686+00', NULL, NULL);
INSERT INTO public.store VALUES ('memories.林', '1', '{"data": "林的船叫白鹭。"}', '2026-11-26 07:50:42.775855+00', '2026-11-26 07:50:42.775855+00', NULL, NULL);
INSERT INTO public.store VALUES ('profiles.ada', 'profile', '{"age": 36, "home": {"city": "Oslo"}, "name": "Ada"}', '2026-11-26 07:50:42.775998+00', '2026-11-26 07:50:42.775998+00', NULL, NULL);
INSERT INTO public.store VALUES ('settings', 'theme', '{"text": "dark"}', '2026-11-26 07:50:42.776264+00', '2026-11-26 07:50:42.776264+00', NULL, NULL);
INSERT INTO public.store VALUES ('memories.ada', '3', '{"text": "Ada waits for a parcel."}', '2026-11-26 07:50:42.77663+00', '2026-11-26 07:50:42.77663+00', '2026-11-26 08:50:42.77663+00', 60);
