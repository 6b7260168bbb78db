CREATE TABLE public.agents (
    id character varying NOT NULL,
    agent_type character varying,
    name character varying,
    description character varying,
    system character varying,
    message_ids json,
    response_format json,
    metadata_ json,
    llm_config json,
    embedding_config json,
    compaction_settings json,
    tool_rules json,
    message_buffer_autoclear boolean NOT NULL,
    enable_sleeptime boolean,
    last_run_completion timestamp with time zone,
    last_run_duration_ms integer,
    last_stop_reason character varying,
    timezone character varying,
    max_files_open integer,
    per_file_view_window_char_limit integer,
    hidden boolean,
    _vector_db_namespace character varying,
    created_at timestamp with time zone DEFAULT now(),
    updated_at timestamp with time zone DEFAULT now(),
    is_deleted boolean DEFAULT false NOT NULL,
    _created_by_id character varying,
    _last_updated_by_id character varying,
    organization_id character varying NOT NULL,
    project_id character varying,
    entity_id character varying,
    base_template_id character varying,
    template_id character varying,
    deployment_id character varying
);
CREATE TABLE public.archival_passages (
    id character varying NOT NULL,
    text character varying NOT NULL,
    embedding_config json,
    metadata_ json NOT NULL,
    tags json,
    embedding public.vector(4096),
    created_at timestamp with time zone DEFAULT now(),
    updated_at timestamp with time zone DEFAULT now(),
    is_deleted boolean DEFAULT false NOT NULL,
    _created_by_id character varying,
    _last_updated_by_id character varying,
    organization_id character varying NOT NULL,
    archive_id character varying NOT NULL
);
CREATE TABLE public.archives (
    id character varying NOT NULL,
    name character varying NOT NULL,
    description character varying,
    vector_db_provider text NOT NULL,
    embedding_config json,
    metadata_ json,
    _vector_db_namespace character varying,
    created_at timestamp with time zone DEFAULT now(),
    updated_at timestamp with time zone DEFAULT now(),
    is_deleted boolean DEFAULT false NOT NULL,
    _created_by_id character varying,
    _last_updated_by_id character varying,
    organization_id character varying NOT NULL
);
CREATE TABLE public.archives_agents (
    agent_id character varying NOT NULL,
    archive_id character varying NOT NULL,
    created_at timestamp with time zone DEFAULT '2026-11-26 07:51:08.280183+00'::timestamp with time zone NOT NULL,
    is_owner boolean NOT NULL
);
CREATE TABLE public.block (
    template_name character varying,
    description character varying,
    label character varying NOT NULL,
    is_template boolean NOT NULL,
    preserve_on_migration boolean,
    value character varying NOT NULL,
    "limit" integer NOT NULL,
    metadata_ json,
    read_only boolean NOT NULL,
    hidden boolean,
    current_history_entry_id character varying,
    version integer DEFAULT 1 NOT NULL,
    organization_id character varying NOT NULL,
    id character varying NOT NULL,
    created_at timestamp with time zone DEFAULT now(),
    updated_at timestamp with time zone DEFAULT now(),
    is_deleted boolean DEFAULT false NOT NULL,
    _created_by_id character varying,
    _last_updated_by_id character varying,
    project_id character varying,
    entity_id character varying,
    base_template_id character varying,
    template_id character varying,
    deployment_id character varying
);
CREATE TABLE public.blocks_agents (
    agent_id character varying NOT NULL,
    block_id character varying NOT NULL,
    block_label character varying NOT NULL
);
CREATE TABLE public.identities (
    id character varying NOT NULL,
    identifier_key character varying NOT NULL,
    name character varying NOT NULL,
    identity_type character varying NOT NULL,
    properties json NOT NULL,
    created_at timestamp with time zone DEFAULT now(),
    updated_at timestamp with time zone DEFAULT now(),
    is_deleted boolean DEFAULT false NOT NULL,
    _created_by_id character varying,
    _last_updated_by_id character varying,
    organization_id character varying NOT NULL,
    project_id character varying
);
CREATE TABLE public.identities_agents (
    identity_id character varying NOT NULL,
    agent_id character varying NOT NULL
);
CREATE TABLE public.messages (
    id character varying NOT NULL,
    role character varying NOT NULL,
    text character varying,
    content json,
    model character varying,
    name character varying,
    tool_calls json NOT NULL,
    tool_call_id character varying,
    step_id character varying,
    run_id character varying,
    otid character varying,
    tool_returns json,
    group_id character varying,
    sender_id character varying,
    batch_item_id character varying,
    conversation_id character varying,
    is_err boolean,
    approval_request_id character varying,
    approve boolean,
    denial_reason character varying,
    approvals json,
    sequence_id bigint NOT NULL,
    created_at timestamp with time zone DEFAULT now(),
    updated_at timestamp with time zone DEFAULT now(),
    is_deleted boolean DEFAULT false NOT NULL,
    _created_by_id character varying,
    _last_updated_by_id character varying,
    organization_id character varying NOT NULL,
    agent_id character varying NOT NULL
);
INSERT INTO public.agents VALUES ('agent-1', 'memgpt_v2_agent', 'Ada''s assistant', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '[]', false, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2025-03-01 09:00:00+00', '2026-11-26 07:51:08.280183+00', false, NULL, NULL, 'org-1', NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.agents VALUES ('agent-2', 'memgpt_v2_agent', '林的助手', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '[]', false, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2025-03-01 09:00:00+00', '2026-11-26 07:51:08.280183+00', false, NULL, NULL, 'org-1', NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.archival_passages VALUES ('passage-1', 'Ada is allergic to walnuts.', NULL, '{}', '["health"]', NULL, '2025-03-03 09:00:00+00', '2026-11-26 07:51:08.280183+00', false, NULL, NULL, 'org-1', 'archive-1');
INSERT INTO public.archival_passages VALUES ('passage-2', 'Ada has a cat.', NULL, '{}', '["health"]', NULL, '2025-03-03 09:00:00+00', '2026-11-26 07:51:08.280183+00', true, NULL, NULL, 'org-1', 'archive-1');
INSERT INTO public.archives VALUES ('archive-1', 'Ada', NULL, 'NATIVE', NULL, NULL, NULL, '2025-03-01 09:00:00+00', '2026-11-26 07:51:08.280183+00', false, NULL, NULL, 'org-1');
INSERT INTO public.archives_agents VALUES ('agent-1', 'archive-1', '2026-11-26 07:51:08.280183+00', true);
INSERT INTO public.block VALUES (NULL, NULL, 'human', false, false, 'Ada lives in Oslo.
Her boat is called Heron.', 5000, '{"topic": "about"}', false, NULL, NULL, 1, 'org-1', 'block-1', '2025-03-01 09:00:00+00', '2025-03-02 09:00:00+00', false, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.block VALUES (NULL, NULL, 'persona', false, false, 'I am a friendly assistant.', 5000, '{"topic": "about"}', false, NULL, NULL, 1, 'org-1', 'block-2', '2025-03-01 09:00:00+00', '2025-03-02 09:00:00+00', false, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.block VALUES (NULL, NULL, 'human', false, false, '林住在杭州。', 5000, '{"topic": "about"}', false, NULL, NULL, 1, 'org-1', 'block-3', '2025-03-01 09:00:00+00', '2025-03-02 09:00:00+00', false, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.blocks_agents VALUES ('agent-1', 'block-1', 'human');
INSERT INTO public.blocks_agents VALUES ('agent-1', 'block-2', 'persona');
INSERT INTO public.blocks_agents VALUES ('agent-2', 'block-3', 'human');
INSERT INTO public.identities VALUES ('identity-1', 'ada', 'ada', 'user', '[]', '2026-11-26 07:51:08.280183+00', '2026-11-26 07:51:08.280183+00', false, NULL, NULL, 'org-1', NULL);
INSERT INTO public.identities VALUES ('identity-2', '林', '林', 'user', '[]', '2026-11-26 07:51:08.280183+00', '2026-11-26 07:51:08.280183+00', false, NULL, NULL, 'org-1', NULL);
INSERT INTO public.identities_agents VALUES ('identity-1', 'agent-1');
INSERT INTO public.identities_agents VALUES ('identity-2', 'agent-2');
INSERT INTO public.messages VALUES ('message-0', 'user', NULL, '[{"type": "text", "text": "I moved to Oslo."}]', NULL, NULL, '[]', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, '2025-03-04 09:00:00+00', '2026-11-26 07:51:08.280183+00', false, NULL, NULL, 'org-1', 'agent-1');
INSERT INTO public.messages VALUES ('message-1', 'user', NULL, '[{"type": "text", "text": "{\"type\": \"heartbeat\", \"reason\": \"none\"}"}]', NULL, NULL, '[]', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 2, '2025-03-04 10:00:00+00', '2026-11-26 07:51:08.280183+00', false, NULL, NULL, 'org-1', 'agent-1');
INSERT INTO public.messages VALUES ('message-2', 'user', NULL, '[{"type": "text", "text": "{\"type\": \"user_message\", \"message\": \"What is my boat called?\"}"}]', NULL, NULL, '[]', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 3, '2025-03-04 11:00:00+00', '2026-11-26 07:51:08.280183+00', false, NULL, NULL, 'org-1', 'agent-1');
INSERT INTO public.messages VALUES ('message-3', 'assistant', NULL, '[{"type": "text", "text": "She asks for the boat."}]', NULL, NULL, '[{"id": "call-1", "type": "function", "function": {"name": "send_message", "arguments": "{\"message\": \"Heron.\"}"}}]', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 4, '2025-03-04 12:00:00+00', '2026-11-26 07:51:08.280183+00', false, NULL, NULL, 'org-1', 'agent-1');
INSERT INTO public.messages VALUES ('message-4', 'tool', NULL, '[{"type": "text", "text": "{\"status\": \"OK\"}"}]', NULL, NULL, '[]', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 5, '2025-03-04 13:00:00+00', '2026-11-26 07:51:08.280183+00', false, NULL, NULL, 'org-1', 'agent-1');
INSERT INTO public.messages VALUES ('message-5', 'system', NULL, '[{"type": "text", "text": "You are Letta."}]', NULL, NULL, '[]', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 6, '2025-03-04 14:00:00+00', '2026-11-26 07:51:08.280183+00', false, NULL, NULL, 'org-1', 'agent-1');
