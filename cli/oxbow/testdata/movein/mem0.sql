CREATE TABLE public.mem0 (
    id uuid NOT NULL,
    vector public.vector(3),
    payload jsonb
);
INSERT INTO public.mem0 VALUES ('8b1d725a-34ea-478c-8d23-0a32b2cfe721', '[1,0,0]', '{"data": "Ada''s boat is called Heron.", "hash": "1fef02cbbf0171218de97c587e5cc8f2", "role": "user", "run_id": "chat-1", "user_id": "ada", "agent_id": "coach", "created_at": "2026-11-26T07:50:41.709464+00:00", "updated_at": "2026-11-26T07:50:41.709464+00:00", "text_lemmatized": "Ada''s boat is called Heron."}');
INSERT INTO public.mem0 VALUES ('7bd23059-549b-4800-800d-78ecf7fb61ab', '[1,0,0]', '{"data": "I am allergic to walnuts.", "hash": "6f4a53b4ff07bb555f4a90ea928ac891", "role": "user", "user_id": "ada", "actor_id": "Ada", "created_at": "2026-11-26T07:50:41.715314+00:00", "updated_at": "2026-11-26T07:50:41.715314+00:00", "text_lemmatized": "I am allergic to walnuts."}');
INSERT INTO public.mem0 VALUES ('56dcc8d6-ddfb-450c-b413-3a6b4254736e', '[1,0,0]', '{"data": "林的船叫白鹭。", "hash": "4491617ea2582916b11fb4412d7ce491", "role": "user", "来源": "微信", "user_id": "林", "created_at": "2026-11-26T07:50:41.725195+00:00", "updated_at": "2026-11-26T07:50:41.725195+00:00", "text_lemmatized": "林的船叫白鹭。"}');
INSERT INTO public.mem0 VALUES ('5ad9a832-1ef9-4dd9-a04e-d7d286d1c4e6', '[1,0,0]', '{"data": "Ada lives in Oslo.", "hash": "e5dc4c726e178dbbd6e89a2c11b2055d", "role": "user", "user_id": "ada", "category": "home", "confidence": 0.9, "created_at": "2026-11-26T07:50:41.685796+00:00", "updated_at": "2026-11-26T07:50:41.745744+00:00", "text_lemmatized": "Ada lives in Oslo."}');
INSERT INTO public.mem0 VALUES ('ffbbe034-eb3a-4e36-b313-9232ea1a546f', '[1,0,0]', '{"data": "The coach answers in short sentences.", "hash": "13437f013eca2323ac93010533cd5a39", "role": "user", "agent_id": "coach", "created_at": "2026-11-26T07:50:41.753470+00:00", "updated_at": "2026-11-26T07:50:41.753470+00:00", "text_lemmatized": "The coach answers in short sentences."}');
