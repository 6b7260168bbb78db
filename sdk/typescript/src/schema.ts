// Generated from server/openapi.json by scripts/generate.mjs. Do not edit.

/** The fields whose keys are the user's own: they keep their names. */
export const freeForm: ReadonlySet<string> = new Set(["details","metadata","new_metadata","old_metadata","settings","tendencies","value"])

export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        Access: {
            /** Format: date-time */
            at: string;
            id: string;
            keyId?: string;
            operation: string;
            role: string;
            /** Format: int64 */
            status: number;
            target?: string;
            userId: string;
        };
        Added: {
            id: string;
            /** @description GET /operations/{id} tells what became of it */
            operationId: string;
        };
        Adjusted: {
            about?: string;
            /** Format: double */
            after: number;
            /** Format: date-time */
            at: string;
            /** Format: double */
            before: number;
            cause: string;
            content?: string;
            /** Format: date-time */
            expiresAt?: string;
            id: string;
            kind: string;
            memoryType?: string;
            signals: string[];
            /** Format: date-time */
            undoneAt?: string;
            undoneBy?: string;
        };
        Attachment: {
            /** Format: date-time */
            at: string;
            caption: string;
            id: string;
            modality: string;
            reference: string;
        };
        Change: {
            actor?: string;
            /** Format: date-time */
            at: string;
            event: string;
            memoryId: string;
            memoryType: string;
            messages?: components["schemas"]["Message"][];
            newContent?: string;
            newMetadata?: {
                [key: string]: unknown;
            };
            oldContent?: string;
            oldMetadata?: {
                [key: string]: unknown;
            };
            reason?: string;
            /** Format: int64 */
            version: number;
        };
        Changed: {
            /** @description False if it had ended already */
            changed: boolean;
        };
        ChannelScore: {
            /** Format: int64 */
            rank: number;
            /** Format: double */
            score: number;
        };
        Community: {
            id: string;
            /** Format: int64 */
            members: number;
            names: string[];
            sources: string[];
            summary: string;
            /** Format: date-time */
            updatedAt: string;
            /** Format: int64 */
            version: number;
        };
        Conclusion: {
            conditions: components["schemas"]["Conditions"];
            /** Format: double */
            confidence: number;
            conflicts?: string[];
            content: string;
            /** Format: date-time */
            createdAt: string;
            denies?: boolean;
            /** Format: date-time */
            endedAt?: string;
            id: string;
            madeBy: string;
            reason?: string;
            /** Format: int64 */
            sessions: number;
            sources: string[];
            supersededBy?: string;
            topic: string;
            /** Format: date-time */
            updatedAt: string;
            /** Format: int64 */
            version: number;
            voices: string[];
        };
        Conditions: {
            context?: string;
            partOfDay?: string;
            season?: string;
            weekday?: string;
            where?: string[];
            with?: string[];
        };
        Confirmation: {
            /** @description The user to erase, again */
            userId: string;
        };
        ContextPart: {
            /** Format: date-time */
            at?: string;
            id: string;
            line: string;
            memoryType: string;
            modality: string;
            reference?: string;
            section: string;
            stage?: string;
            text: string;
            /** Format: int64 */
            tokens: number;
        };
        ContextQuery: {
            agentId?: string;
            /** @description Of traits, or of the metadata of other memories */
            contexts?: string[];
            /** @description What else to include. Default: none of these */
            include?: ("profile" | "emotion" | "communities" | "skills")[];
            /**
             * Format: int64
             * @default 1000
             */
            maxTokens?: number;
            /** @description The topic of the next turn, such as the user's message */
            query?: string;
            /** @description The conversation, for instructions that hold in it alone */
            sessionId?: string;
            /** @description Default: facts, episodes and traits */
            types?: ("fact" | "episodic" | "trait" | "document")[];
            /** @description Do not search by vectors */
            wordsOnly?: boolean;
        };
        Created: {
            id: string;
        };
        Deleted: {
            /** Format: int64 */
            rows: number;
        };
        Done: {
            /** @description Whether anything changed */
            done: boolean;
        };
        Edge: {
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            expiredAt?: string;
            from: components["schemas"]["EntityEnd"];
            holds: boolean;
            /** Format: date-time */
            invalidAt?: string;
            memoryId: string;
            memoryType: string;
            relation: string;
            to: components["schemas"]["EntityEnd"];
            /** Format: date-time */
            validAt: string;
        };
        Edited: {
            /** @description A new one if the wording changed */
            id: string;
        };
        EmbeddingModel: {
            /** Format: int64 */
            dimension: number;
            model: string;
            passagePrefix?: string;
            queryPrefix?: string;
        };
        Enabled: {
            enabled: boolean;
        };
        EntityEnd: {
            id: string;
            kind: string;
            name: string;
        };
        Erased: {
            /** Format: int64 */
            rows: number;
            table: string;
        };
        ErrorDetail: {
            /** @description Where the error occurred, e.g. 'body.items[3].tags' or 'path.thing-id' */
            location?: string;
            /** @description Error message text */
            message?: string;
            /** @description The value at the given location */
            value?: unknown;
        };
        ErrorModel: {
            /**
             * @description A human-readable explanation specific to this occurrence of the problem.
             * @example Property foo is required but is missing.
             */
            detail?: string;
            /** @description Optional list of individual error details */
            errors?: components["schemas"]["ErrorDetail"][];
            /**
             * Format: uri
             * @description A URI reference that identifies the specific occurrence of the problem.
             * @example https://example.com/error-log/abc123
             */
            instance?: string;
            /**
             * Format: int64
             * @description HTTP status code
             * @example 400
             */
            status?: number;
            /**
             * @description A short, human-readable summary of the problem type. This value should not change between occurrences of the error.
             * @example Bad Request
             */
            title?: string;
            /**
             * Format: uri
             * @description A URI reference to human-readable documentation for the error.
             * @default about:blank
             * @example https://example.com/errors/example
             */
            type?: string;
        };
        Explanation: {
            /** Format: double */
            confidence?: number;
            /** Format: int64 */
            contradicting?: number;
            entity?: components["schemas"]["ChannelScore"];
            /** Format: double */
            importance: number;
            leftOut?: string;
            level?: string;
            /** Format: double */
            modality?: number;
            /** Format: double */
            recency: number;
            /** Format: double */
            relevance: number;
            repeats?: string;
            reranked?: components["schemas"]["Reranked"];
            session?: string;
            /** Format: double */
            speaker?: number;
            stage?: string;
            /** Format: double */
            stageBoost?: number;
            subtype?: string;
            /** Format: int64 */
            supporting?: number;
            text?: components["schemas"]["ChannelScore"];
            vector?: components["schemas"]["ChannelScore"];
            weight?: components["schemas"]["WeightFactors"];
        };
        Facts: {
            /**
             * Format: int64
             * @description Facts that were stored, replaced or ended because of it
             */
            facts: number;
        };
        Feeling: {
            /** Format: double */
            arousal: number;
            aspect: string;
            evidence: string[];
            /** Format: int64 */
            memories: number;
            name?: string;
            /** Format: double */
            shift: number;
            /** Format: double */
            valence: number;
        };
        File: {
            /** Format: int64 */
            bytes: number;
            /** Format: int64 */
            chunks: number;
            contentHash: string;
            /** Format: date-time */
            createdAt: string;
            id: string;
            mediaType: string;
            metadata: unknown;
            path: string;
            settings: unknown;
            /** Format: date-time */
            updatedAt: string;
        };
        Health: {
            /** @enum {string} */
            status: "ok";
            /** @description Whether the database takes changes now */
            writes: boolean;
        };
        Imported: {
            /**
             * Format: int64
             * @description Lines that were skipped
             */
            bad: number;
            /**
             * Format: int64
             * @description Read, including blank ones
             */
            lines: number;
            /**
             * Format: int64
             * @description Lines with a memory
             */
            memories: number;
            /**
             * Format: int64
             * @description Memories that did not exist
             */
            new: number;
        };
        IndexedUser: {
            memoryType: string;
            /** Format: date-time */
            since: string;
            /** Format: int64 */
            slot: number;
            state: string;
            userId: string;
            /** Format: int64 */
            vectors: number;
            /** Format: int64 */
            waiting: number;
        };
        Instruction: {
            agentId?: string;
            aspect: string;
            content: string;
            context?: string;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            endedAt?: string;
            id: string;
            inferred?: boolean;
            /** Format: int64 */
            priority: number;
            reason?: string;
            replacedBy?: string;
            sessionId?: string;
        };
        Intention: {
            /** Format: date-time */
            becameDueAt?: string;
            condition?: string;
            content: string;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            dueAt?: string;
            id: string;
            kind: string;
            precision: string;
            recurrence?: string;
            /** Format: date-time */
            remindAt?: string;
            state: string;
        };
        Job: {
            /** Format: int64 */
            attempt: number;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            finalizedAt?: string;
            /** Format: int64 */
            id: number;
            kind: string;
            lastError?: string;
            /** Format: int64 */
            maxAttempts: number;
            /** Format: date-time */
            scheduledAt: string;
            state: string;
        };
        JobCount: {
            /** Format: int64 */
            jobs: number;
            kind: string;
            lastError?: string;
            /** Format: double */
            oldestSeconds: number;
            state: string;
        };
        KnownFact: {
            category?: string;
            content: string;
            id: string;
            /** Format: date-time */
            invalidAt?: string;
            /** Format: date-time */
            validAt: string;
        };
        ListAccess: {
            items: components["schemas"]["Access"][];
            /** @description The cursor of the next page; absent on the last */
            nextCursor?: string;
        };
        ListAdded: {
            items: components["schemas"]["Added"][];
            /** @description The cursor of the next page; absent on the last */
            nextCursor?: string;
        };
        ListAdjusted: {
            items: components["schemas"]["Adjusted"][];
            /** @description The cursor of the next page; absent on the last */
            nextCursor?: string;
        };
        ListChange: {
            items: components["schemas"]["Change"][];
            /** @description The cursor of the next page; absent on the last */
            nextCursor?: string;
        };
        ListCommunity: {
            items: components["schemas"]["Community"][];
            /** @description The cursor of the next page; absent on the last */
            nextCursor?: string;
        };
        ListConclusion: {
            items: components["schemas"]["Conclusion"][];
            /** @description The cursor of the next page; absent on the last */
            nextCursor?: string;
        };
        ListFeeling: {
            items: components["schemas"]["Feeling"][];
            /** @description The cursor of the next page; absent on the last */
            nextCursor?: string;
        };
        ListFile: {
            items: components["schemas"]["File"][];
            /** @description The cursor of the next page; absent on the last */
            nextCursor?: string;
        };
        ListInstruction: {
            items: components["schemas"]["Instruction"][];
            /** @description The cursor of the next page; absent on the last */
            nextCursor?: string;
        };
        ListIntention: {
            items: components["schemas"]["Intention"][];
            /** @description The cursor of the next page; absent on the last */
            nextCursor?: string;
        };
        ListKnownFact: {
            items: components["schemas"]["KnownFact"][];
            /** @description The cursor of the next page; absent on the last */
            nextCursor?: string;
        };
        ListMemory: {
            items: components["schemas"]["Memory"][];
            /** @description The cursor of the next page; absent on the last */
            nextCursor?: string;
        };
        ListMessage: {
            items: components["schemas"]["Message"][];
            /** @description The cursor of the next page; absent on the last */
            nextCursor?: string;
        };
        ListNamedEntity: {
            items: components["schemas"]["NamedEntity"][];
            /** @description The cursor of the next page; absent on the last */
            nextCursor?: string;
        };
        ListOrigin: {
            items: components["schemas"]["Origin"][];
            /** @description The cursor of the next page; absent on the last */
            nextCursor?: string;
        };
        ListPrediction: {
            items: components["schemas"]["Prediction"][];
            /** @description The cursor of the next page; absent on the last */
            nextCursor?: string;
        };
        ListProfileValue: {
            items: components["schemas"]["ProfileValue"][];
            /** @description The cursor of the next page; absent on the last */
            nextCursor?: string;
        };
        ListRelated: {
            items: components["schemas"]["Related"][];
            /** @description The cursor of the next page; absent on the last */
            nextCursor?: string;
        };
        ListResult: {
            items: components["schemas"]["Result"][];
            /** @description The cursor of the next page; absent on the last */
            nextCursor?: string;
        };
        ListSentence: {
            items: components["schemas"]["Sentence"][];
            /** @description The cursor of the next page; absent on the last */
            nextCursor?: string;
        };
        ListSkill: {
            items: components["schemas"]["Skill"][];
            /** @description The cursor of the next page; absent on the last */
            nextCursor?: string;
        };
        ListStrategy: {
            items: components["schemas"]["Strategy"][];
            /** @description The cursor of the next page; absent on the last */
            nextCursor?: string;
        };
        ListString: {
            items: string[];
            /** @description The cursor of the next page; absent on the last */
            nextCursor?: string;
        };
        ListTraitSummary: {
            items: components["schemas"]["TraitSummary"][];
            /** @description The cursor of the next page; absent on the last */
            nextCursor?: string;
        };
        ListUUID: {
            items: string[];
            /** @description The cursor of the next page; absent on the last */
            nextCursor?: string;
        };
        ListWebhook: {
            items: components["schemas"]["Webhook"][];
            /** @description The cursor of the next page; absent on the last */
            nextCursor?: string;
        };
        Memory: {
            /** Format: int64 */
            accessCount: number;
            agentId?: string;
            attachments?: components["schemas"]["Attachment"][];
            category?: string;
            content: string;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            expiredAt?: string;
            /** Format: date-time */
            expiresAt?: string;
            externalId?: string;
            /** Format: date-time */
            forgottenAt?: string;
            forgottenBy?: string;
            id: string;
            /** Format: double */
            importance: number;
            /** Format: date-time */
            invalidAt?: string;
            /** Format: date-time */
            lastAccessedAt?: string;
            level: string;
            memoryType: string;
            /** Format: int64 */
            mentionCount: number;
            metadata: {
                [key: string]: unknown;
            };
            modality: string;
            reference?: string;
            sealedKey?: string;
            /** Format: int64 */
            sensitivity?: number;
            /** Format: int64 */
            seq: number;
            sessionId?: string;
            source?: string;
            speaker?: string;
            /** Format: double */
            strength: number;
            supersededBy?: string;
            tier: string;
            topic?: string;
            trait?: components["schemas"]["TraitState"];
            /** Format: date-time */
            updatedAt?: string;
            userId: string;
            /** Format: date-time */
            validAt?: string;
            verified?: boolean;
            /** Format: int64 */
            version: number;
        };
        MemoryV1: {
            content: string;
            /**
             * @description general is fact; insight becomes a trend without evidence, which is never recalled
             * @default general
             * @enum {string}
             */
            memoryType?: "general" | "fact" | "episodic" | "document" | "insight";
            metadata?: {
                [key: string]: unknown;
            };
        };
        Merging: {
            /** @description Default: the text of the last */
            content?: string;
            ids: string[];
        };
        Message: {
            /** Format: date-time */
            at: string;
            content: string;
            /** Format: date-time */
            extractedAt?: string;
            id: string;
            metadata?: {
                [key: string]: unknown;
            };
            role: string;
            sealedKey?: string;
            /** Format: int64 */
            sensitivity?: number;
            sessionId: string;
            speaker?: string;
        };
        MessageCount: {
            /** Format: int64 */
            failing: number;
            /** Format: int64 */
            failures: number;
            lastError?: string;
            /** Format: int64 */
            waiting: number;
        };
        MoltMode: {
            /**
             * @description off; suggest: it tries changes of policies; auto: it adopts those that gain
             * @enum {string}
             */
            mode: "off" | "suggest" | "auto";
        };
        NamedEntity: {
            /** Format: date-time */
            createdAt: string;
            edges: components["schemas"]["Edge"][];
            /** Format: date-time */
            expiredAt?: string;
            id: string;
            /** Format: date-time */
            invalidAt?: string;
            kind: string;
            /** Format: date-time */
            lastSeen: string;
            /** Format: int64 */
            memories: number;
            /** Format: int64 */
            mentions: number;
            name: string;
            namedBy: components["schemas"]["Naming"][];
            /** Format: date-time */
            validAt: string;
        };
        Naming: {
            /** Format: date-time */
            at: string;
            content: string;
            /** Format: date-time */
            expiredAt?: string;
            id: string;
            /** Format: date-time */
            invalidAt?: string;
            memoryType: string;
        };
        NewDocument: {
            /**
             * Format: int64
             * @description Maximum length of a chunk in characters. Default: 1000
             */
            chunkSize?: number;
            content: string;
            /**
             * @description Default: by the path and the content
             * @enum {string}
             */
            mediaType?: "text/plain" | "text/markdown" | "text/html";
            metadata?: {
                [key: string]: unknown;
            };
            /**
             * Format: int64
             * @description Characters that a chunk repeats. Default: a tenth of chunk_size
             */
            overlap?: number;
            /** @description A path or URL. The file replaces one with the same path */
            path: string;
        };
        NewInstruction: {
            /** @description For which agent. Default: all */
            agentId?: string;
            /**
             * @description Default: other
             * @enum {string}
             */
            aspect?: "language" | "length" | "address" | "tone" | "format" | "avoid" | "other";
            content: string;
            /**
             * @description Where it holds. Default: everywhere
             * @enum {string}
             */
            context?: "work" | "personal" | "social" | "learning";
            /** @description A repeated request returns the earlier one */
            externalId?: string;
            /**
             * Format: int64
             * @description Higher ones come first
             */
            priority?: number;
            /** @description In which conversation. Default: all */
            sessionId?: string;
        };
        NewIntention: {
            /** @description When it is due instead, in words */
            condition?: string;
            content: string;
            /**
             * Format: date-time
             * @description When it is due. Default: no time is known
             */
            dueAt?: string | Date;
            /** @description A repeated request returns the earlier one */
            externalId?: string;
            /**
             * @description Default: intention
             * @enum {string}
             */
            kind?: "intention" | "goal" | "reminder";
            /**
             * @description Default: minute
             * @enum {string}
             */
            precision?: "minute" | "day" | "week" | "month" | "year";
            /** @description An RRULE of iCalendar, which begins at due_at */
            recurrence?: string;
        };
        NewMemories: {
            memories: components["schemas"]["NewMemory"][];
        };
        NewMemory: {
            agentId?: string;
            /**
             * @description Default: the worker gives one to a fact
             * @enum {string}
             */
            category?: "identity" | "stable_preference" | "short_preference" | "fact" | "skill" | "temporary";
            /** @description The text, or the caption of an image */
            content: string;
            /**
             * Format: date-time
             * @description When it expires, in the future. Default: never
             */
            expiresAt?: string | Date;
            /** @description Your own id: adding it again adds nothing */
            externalId?: string;
            /** @description Default: a new one */
            id?: string;
            /**
             * Format: double
             * @description Default: 0.5
             */
            importance?: number;
            /**
             * Format: date-time
             * @description When it ceased to be true. Default: never
             */
            invalidAt?: string | Date;
            /**
             * @description Only reflection makes traits
             * @default fact
             * @enum {string}
             */
            memoryType?: "fact" | "episodic" | "document";
            metadata?: {
                [key: string]: unknown;
            };
            /**
             * @description Default: text
             * @enum {string}
             */
            modality?: "text" | "image" | "audio" | "video" | "code" | "file";
            /** @description Where you keep the image, recording or file */
            reference?: string;
            /**
             * Format: int64
             * @description 2 is never recalled
             */
            sensitivity?: number;
            /** @description The conversation */
            sessionId?: string;
            source?: string;
            /** @description Who said it */
            speaker?: string;
            topic?: string;
            /**
             * Format: date-time
             * @description When it became true. Default: now
             */
            validAt?: string | Date;
            /** @description A person confirmed it */
            verified?: boolean;
        };
        NewMessage: {
            content: string;
            /**
             * Format: date-time
             * @description Default: now
             */
            createdAt?: string | Date;
            /** @description Default: a new one. A message whose id exists is not added again */
            id?: string;
            /** @description recalled: the ids of the memories that were recalled for it */
            metadata?: {
                [key: string]: unknown;
            };
            /**
             * @default user
             * @enum {string}
             */
            role?: "user" | "assistant" | "system" | "tool";
            /**
             * Format: int64
             * @description Nothing is extracted from a message of level 2
             */
            sensitivity?: number;
            /** @description The conversation */
            sessionId: string;
            /** @description Default: implied by the role */
            speaker?: string;
        };
        NewMessages: {
            messages: components["schemas"]["NewMessage"][];
        };
        NewSkill: {
            /** @description A current skill of this name becomes the previous version */
            name: string;
            preconditions?: string[];
            /** @description Why it replaces the previous version */
            reason?: string;
            /** @description When it applies */
            situation?: string;
            steps: string[];
        };
        NewWebhook: {
            id: string;
            secret: string;
        };
        Operation: {
            /** @description The history of the memory, with what reconciliation did to it */
            changes: components["schemas"]["Change"][];
            embedded: boolean;
            id: string;
            jobs: components["schemas"]["Job"][];
            links: components["schemas"]["OperationLink"][];
            refused?: string;
            searchable: boolean;
            /** @enum {string} */
            state: "pending" | "running" | "done" | "failed";
        };
        OperationLink: {
            /** Format: date-time */
            at: string;
            fromId: string;
            /** @enum {string} */
            relation: "supersedes" | "contradicts" | "merged_from";
            toId: string;
        };
        Opinion: {
            /** @description The answer that it is about */
            answerId?: string;
            /** @description A repeated request returns the earlier signal */
            externalId?: string;
            /** @description The memories and traits. Default: those of the answer */
            ids?: string[];
            /** @enum {string} */
            kind: "helpful" | "wrong" | "outdated" | "not_about_me" | "too_much";
            /** @description The question, if there is no answer_id */
            query?: string;
            /** @description What the user said */
            reason?: string;
        };
        Origin: {
            /** Format: date-time */
            at: string;
            content?: string;
            memoryId?: string;
            memoryType?: string;
            messageId?: string;
            originOf: string;
            relation: string;
            sessionId?: string;
            speaker?: string;
            /** Format: int64 */
            step: number;
        };
        Outcome: {
            success: boolean;
        };
        Overview: {
            embedding: components["schemas"]["EmbeddingModel"];
            /** Format: double */
            embeddingLagSeconds: number;
            indexed: components["schemas"]["IndexedUser"][];
            jobs: components["schemas"]["JobCount"][];
            memories: components["schemas"]["TypeCount"][];
            messages: components["schemas"]["MessageCount"];
            oldestWaiting: components["schemas"]["WaitingJob"] | null;
            reasoner: components["schemas"]["ReasonerState"] | null;
        };
        PatternAccount: {
            /** Format: double */
            budget: number;
            /** Format: date-time */
            dueAt?: string;
            enabled: boolean;
            /** Format: double */
            epsilon: number;
            patterns: components["schemas"]["PatternCount"][];
            /** Format: int64 */
            perUser: number;
            /** Format: date-time */
            releasedAt?: string;
            /** Format: double */
            spent: number;
            /** Format: double */
            usersMin: number;
        };
        PatternCount: {
            context: string;
            pattern: string;
            /** Format: int64 */
            users: number;
        };
        PolicyChange: {
            name: string;
            /** Format: double */
            previous?: number;
            /** Format: double */
            value: number;
        };
        Posted: {
            /** Format: date-time */
            at: string;
            status: string;
        };
        Prediction: {
            /** Format: double */
            baseRate: number;
            content: string;
            /** Format: int64 */
            days: number;
            /** Format: date-time */
            endsAt: string;
            evidence: string[];
            kind: string;
            /** Format: double */
            probability: number;
            /** Format: date-time */
            startsAt: string;
            topic?: string;
        };
        ProfileValue: {
            /** Format: int64 */
            facts: number;
            key: string;
            namespace: string;
            /** Format: date-time */
            updatedAt: string;
            value: unknown;
        };
        PromptContext: {
            /** @description Why only words were searched */
            degraded?: string;
            /** @description The lines of the block, each with its memory */
            parts: components["schemas"]["ContextPart"][];
            /** @description The block. Tell the model that it is data */
            text: string;
            /**
             * Format: int64
             * @description The estimated length
             */
            tokens: number;
        };
        ProofOf: {
            /** @description The memory that was erased. Default: the user */
            id?: string;
            proof: string;
        };
        Query: {
            agentId?: string;
            /**
             * Format: date-time
             * @description What Oxbow believed then. Default: now
             */
            believedAsOf?: string | Date;
            /** @description Of traits, or of the metadata of other memories */
            contexts?: string[];
            /**
             * Format: int64
             * @default 10
             */
            limit?: number;
            /** @description What the metadata must contain */
            metadata?: {
                [key: string]: unknown;
            };
            /** Format: double */
            minScore?: number;
            /**
             * @description Default: all current memories
             * @enum {string}
             */
            mode?: "normal" | "review";
            /** @description The question or the topic */
            query: string;
            /** @description Default: all */
            types?: ("fact" | "episodic" | "trait" | "document")[];
            /**
             * Format: date-time
             * @description What was true then. Default: now
             */
            validAsOf?: string | Date;
            /** @description Do not search by vectors */
            wordsOnly?: boolean;
        };
        Queue: {
            /** @description Jobs by kind and state */
            counts: components["schemas"]["QueueGauge"][];
            /** @description Jobs that failed, the latest first */
            failed: components["schemas"]["QueuedJob"][];
            /**
             * Format: int64
             * @description The parameter before of the next page
             */
            nextBefore?: number;
        };
        QueueGauge: {
            /** Format: double */
            ageSeconds: number;
            /** Format: double */
            dueSeconds: number;
            /** Format: int64 */
            jobs: number;
            kind: string;
            /** Format: int64 */
            putOff: number;
            state: string;
        };
        QueuedJob: {
            /** Format: int64 */
            attempt: number;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            finalizedAt?: string;
            /** Format: int64 */
            id: number;
            kind: string;
            lastError?: string;
            /** Format: int64 */
            maxAttempts: number;
            /** Format: date-time */
            scheduledAt: string;
            state: string;
            userId?: string;
        };
        Reason: {
            /** @description Stored in the history */
            reason?: string;
        };
        ReasonerState: {
            /** Format: date-time */
            downSince: string | null;
            /** Format: int64 */
            failures: number;
            lastError?: string;
            model: string;
            /** Format: int64 */
            waiting: number;
            /** Format: date-time */
            workedAt: string | null;
        };
        Recalled: {
            /** @description Why only words were searched */
            degraded?: string;
            /** @description Best first */
            memories: components["schemas"]["Result"][];
        };
        Receipt: {
            actor: string;
            /** Format: date-time */
            at: string;
            /** Format: date-time */
            completedAt?: string;
            erased: components["schemas"]["Erased"][];
            id: string;
            kind: string;
            proof: string;
        };
        RecordedEvent: {
            actor: string;
            /** Format: date-time */
            at: string;
            /** Format: double */
            before?: number;
            /** Format: double */
            confidence?: number;
            cycleId?: string;
            details?: {
                [key: string]: unknown;
            };
            event: string;
            /** Format: double */
            factor?: number;
            /** Format: int64 */
            memories: number;
            reason?: string;
            /** Format: int64 */
            seq: number;
            /** Format: double */
            sets?: number;
            stage: string;
        };
        RecordedEvidence: {
            /** Format: date-time */
            at: string;
            content?: string;
            context?: string;
            cycleId?: string;
            direction: string;
            /** Format: int64 */
            eventSeq: number;
            /** Format: date-time */
            forgottenAt?: string;
            memoryId: string;
            memoryType: string;
            quality: string;
            session: string;
            stated: boolean;
        };
        Related: {
            content: string;
            id: string;
            /** Format: date-time */
            invalidAt?: string;
            memoryType: string;
            /** Format: date-time */
            validAt: string;
            /** Format: double */
            weight: number;
        };
        Replacement: {
            content: string;
            /** @description Default: the earlier version's */
            metadata?: {
                [key: string]: unknown;
            };
            /** @description Stored in the history */
            reason?: string;
            /**
             * Format: date-time
             * @description When it became true. Default: now
             */
            validAt?: string | Date;
        };
        Reply: {
            /** @description The question */
            query: string;
            /** @description The recalled memories, best first */
            recalled: string[];
            /** @description The conversation */
            sessionId?: string;
            /** @description Those that the reply used, and the skills. Absent: unknown */
            used?: string[];
        };
        Report: {
            /** Format: int64 */
            added: number;
            /** Format: int64 */
            bytes: number;
            /** Format: int64 */
            chunks: number;
            fileId: string;
            /** Format: int64 */
            kept: number;
            mediaType: string;
            path: string;
            /** Format: int64 */
            removed: number;
            unchanged: boolean;
        };
        Reranked: {
            failed?: string;
            /** Format: int64 */
            from: number;
            /** Format: double */
            score?: number;
        };
        Result: {
            agentId?: string;
            attachments?: components["schemas"]["Attachment"][];
            category?: string;
            content: string;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            expiredAt?: string;
            explain: components["schemas"]["Explanation"];
            externalId?: string;
            id: string;
            /** Format: double */
            importance: number;
            /** Format: date-time */
            invalidAt?: string;
            memoryType: string;
            metadata: {
                [key: string]: unknown;
            };
            modality: string;
            reference?: string;
            /** Format: double */
            score: number;
            /** Format: int64 */
            seq: number;
            sessionId?: string;
            speaker?: string;
            /** Format: date-time */
            validAt?: string;
        };
        Retried: {
            /** Format: int64 */
            jobs: number;
        };
        SearchV1: {
            /**
             * Format: int64
             * @default 10
             */
            limit?: number;
            memoryTypes?: ("general" | "fact" | "episodic" | "document" | "insight" | "trait")[];
            query: string;
        };
        Sentence: {
            aspect: string;
            refs?: string[];
            sentence: string;
        };
        SessionID: {
            sessionId: string;
        };
        Skill: {
            /** Format: date-time */
            createdAt: string;
            /** Format: int64 */
            failures: number;
            id: string;
            name: string;
            preconditions?: string[];
            /** Format: double */
            relevance: number;
            /** Format: double */
            reliability: number;
            situation?: string;
            steps: string[];
            /** Format: int64 */
            successes: number;
            /** Format: date-time */
            usedAt?: string;
            /** Format: int64 */
            version: number;
        };
        Snooze: {
            /**
             * Format: date-time
             * @description When it is due again
             */
            until: string | Date;
        };
        Strategy: {
            about: string;
            actor: string;
            /** Format: date-time */
            adoptedAt?: string;
            /** Format: int64 */
            answers?: number;
            /** Format: date-time */
            at: string;
            cause: string;
            changes: components["schemas"]["PolicyChange"][];
            /** Format: date-time */
            endedAt?: string;
            /** Format: date-time */
            judgedAt?: string;
            /** Format: double */
            liveAfter?: number;
            /** Format: double */
            liveBefore?: number;
            /** Format: double */
            low?: number;
            metric?: string;
            /** Format: double */
            metricAfter?: number;
            /** Format: double */
            metricBefore?: number;
            state: string;
            /** Format: int64 */
            version: number;
        };
        Tendency: {
            /** Format: double */
            confidence: number;
            tendency: string;
        };
        Tier: {
            /** @description Stored in the history */
            reason?: string;
            /**
             * @description The strength of core and system memories never falls
             * @enum {string}
             */
            tier: "normal" | "core" | "system";
        };
        Timeline: {
            /** @description Why only words were searched */
            degraded?: string;
            /** @description In the order in which they became true or happened */
            entries: components["schemas"]["TimelineEntry"][];
        };
        TimelineEntry: {
            category?: string;
            content: string;
            contradictedBy?: string;
            /** Format: date-time */
            createdAt: string;
            current: boolean;
            /** Format: date-time */
            expiredAt?: string;
            id: string;
            /** Format: date-time */
            invalidAt?: string;
            memoryType: string;
            modality: string;
            reference?: string;
            /** Format: double */
            score: number;
            sessionId?: string;
            speaker?: string;
            supersededBy?: string;
            /** Format: date-time */
            validAt: string;
        };
        TimelineQuery: {
            /**
             * Format: int64
             * @default 50
             */
            limit?: number;
            topic: string;
            /** @description Default: both */
            types?: ("fact" | "episodic")[];
            /** @description Do not search by vectors */
            wordsOnly?: boolean;
        };
        TraitDetails: {
            children: components["schemas"]["TraitSummary"][];
            /** Format: double */
            confidence?: number;
            /** Format: date-time */
            confidenceAt?: string;
            content: string;
            context?: string;
            /** Format: int64 */
            contradicting: number;
            /** Format: int64 */
            contradictionCount: number;
            /** Format: date-time */
            createdAt: string;
            derivedFrom?: string;
            /** Format: date-time */
            editedAt?: string;
            events: components["schemas"]["RecordedEvent"][];
            evidence: components["schemas"]["RecordedEvidence"][];
            /** Format: date-time */
            firstObserved?: string;
            id: string;
            /** Format: date-time */
            lastReinforced?: string;
            nextStage?: string;
            /** Format: date-time */
            nextTransition?: string;
            parent?: components["schemas"]["TraitSummary"];
            parentId?: string;
            /** Format: int64 */
            reinforcementCount: number;
            stage: string;
            /** Format: double */
            storedConfidence?: number;
            storedStage?: string;
            subtype: string;
            /** Format: int64 */
            supporting: number;
            tendencies?: {
                [key: string]: components["schemas"]["Tendency"];
            };
            /** Format: date-time */
            windowEnd?: string;
            wordings: components["schemas"]["TraitWording"][];
        };
        TraitEdit: {
            /**
             * Format: double
             * @description Default: at least 0.9
             */
            confidence?: number;
            /** @description The new wording */
            content?: string;
            /** @enum {string} */
            context?: "work" | "personal" | "social" | "learning" | "general";
            /** @description Stored with the change */
            reason?: string;
        };
        TraitState: {
            /** Format: double */
            confidence: number;
            /** Format: date-time */
            confidenceAt?: string;
            context?: string;
            /** Format: int64 */
            contradictionCount: number;
            derivedFrom?: string;
            /** Format: date-time */
            firstObserved?: string;
            /** Format: date-time */
            lastReinforced?: string;
            parentId?: string;
            /** Format: int64 */
            reinforcementCount: number;
            stage?: string;
            subtype?: string;
            /** Format: date-time */
            windowEnd?: string;
            /** Format: date-time */
            windowStart?: string;
        };
        TraitSummary: {
            /** Format: double */
            confidence?: number;
            /** Format: date-time */
            confidenceAt?: string;
            content: string;
            context?: string;
            /** Format: int64 */
            contradicting: number;
            /** Format: int64 */
            contradictionCount: number;
            /** Format: date-time */
            createdAt: string;
            derivedFrom?: string;
            /** Format: date-time */
            editedAt?: string;
            /** Format: date-time */
            firstObserved?: string;
            id: string;
            /** Format: date-time */
            lastReinforced?: string;
            nextStage?: string;
            /** Format: date-time */
            nextTransition?: string;
            parentId?: string;
            /** Format: int64 */
            reinforcementCount: number;
            stage: string;
            /** Format: double */
            storedConfidence?: number;
            storedStage?: string;
            subtype: string;
            /** Format: int64 */
            supporting: number;
            tendencies?: {
                [key: string]: components["schemas"]["Tendency"];
            };
            /** Format: date-time */
            windowEnd?: string;
        };
        TraitWording: {
            content: string;
            /** Format: date-time */
            from: string;
            id: string;
            /** Format: date-time */
            until: string;
        };
        TypeCount: {
            /** Format: int64 */
            current: number;
            /** Format: int64 */
            embedded: number;
            estimated: boolean;
            /** Format: int64 */
            forgotten: number;
            memoryType: string;
            /** Format: int64 */
            superseded: number;
            /** Format: int64 */
            waiting: number;
        };
        Used: {
            ids: string[];
        };
        UserSettings: {
            /** @description Such as zh. Absent: unknown */
            language?: string;
            /** @description Nothing is inferred about the user */
            optedOut?: boolean;
            /** @description Whether facts of applications replace others. Absent: as configured */
            reconcile?: boolean;
            /** @description The user agrees to be counted, with noise, in patterns across users */
            sharePatterns?: boolean;
            /** @description Such as Asia/Shanghai. Absent: unknown, and dates are read in UTC */
            timezone?: string;
        };
        Value: {
            /** @description Any JSON; null deletes it */
            value: unknown;
        };
        Verification: {
            /** @description Stored in the history */
            reason?: string;
            /** @description false withdraws the confirmation */
            verified: boolean;
        };
        WaitingJob: {
            /** Format: int64 */
            attempt: number;
            /** Format: int64 */
            id: number;
            kind: string;
            /** Format: double */
            waitingSeconds: number;
        };
        Webhook: {
            /** Format: date-time */
            createdAt: string;
            deliveries: components["schemas"]["Posted"][];
            /** Format: date-time */
            disabledAt?: string;
            disabledBy?: string;
            id: string;
            url: string;
        };
        WebhookURL: {
            /** @description An http or https address */
            url: string;
        };
        WeightFactors: {
            /** Format: double */
            conflict: number;
            /** Format: double */
            importance: number;
            /** Format: double */
            momentum: number;
            /** Format: double */
            reinforcement: number;
            /** Format: double */
            share: number;
            /** Format: double */
            strength: number;
            /** Format: double */
            time: number;
        };
        ListAdjustmentsQuery: {
            /** @description Only of this memory, trait or skill */
            memoryId?: string;
            /**
             * Format: int64
             * @default 100
             */
            limit?: number;
        };
        ListCommunitiesQuery: {
            /** @description Only those with something that it names */
            query?: string;
            /**
             * Format: int64
             * @default 10
             */
            limit?: number;
        };
        ListConclusionsQuery: {
            /** @description Only of this topic */
            topic?: string;
            /** @description Include earlier versions */
            versions?: boolean;
            /**
             * Format: int64
             * @default 100
             */
            limit?: number;
        };
        GetEmotionsQuery: {
            /**
             * Format: date-time
             * @description The moment of the profile. Default: now
             */
            now?: string | Date;
        };
        ListEntitiesQuery: {
            /** @description Only with this name, with ended edges and the memories that mention them */
            name?: string;
        };
        ListFactsQuery: {
            /**
             * Format: date-time
             * @description Default: now
             */
            validAsOf?: string | Date;
            /**
             * Format: date-time
             * @description Default: now
             */
            believedAsOf?: string | Date;
        };
        ImportQuery: {
            /** @description Skip and count bad lines, such as traits and the history of an export */
            skipBad?: boolean;
            /**
             * @description Of lines that do not say
             * @default episodic
             * @enum {string}
             */
            memoryType?: "fact" | "episodic" | "document";
        };
        ListInstructionsQuery: {
            /** @description Include those that ended */
            ended?: boolean;
        };
        ListUpcomingQuery: {
            /**
             * Format: date-time
             * @description Only what is due until then. Default: everything
             */
            until?: string | Date;
            /**
             * Format: int64
             * @default 100
             */
            limit?: number;
        };
        ListLogQuery: {
            /**
             * Format: int64
             * @default 50
             */
            limit?: number;
            /** @description next_cursor of the previous page */
            cursor?: string;
        };
        ListMemoriesQuery: {
            /**
             * Format: int64
             * @default 50
             */
            limit?: number;
            /** @description next_cursor of the previous page */
            cursor?: string;
            /** @description Only these types, separated by commas */
            type?: ("fact" | "episodic" | "trait" | "document")[];
            /** @description Only of this conversation */
            sessionId?: string;
            /** @description Only of this agent */
            agentId?: string;
            /** @description Also superseded, expired and forgotten memories */
            all?: boolean;
        };
        ListProvenanceQuery: {
            /**
             * Format: int64
             * @default 50
             */
            limit?: number;
        };
        ListRelatedQuery: {
            /**
             * Format: int64
             * @default 50
             */
            limit?: number;
        };
        DeleteMessagesQuery: {
            /** @description The messages, separated by commas */
            id?: string[];
            /** @description All messages of the conversation */
            all?: boolean;
        };
        PredictQuery: {
            /**
             * Format: date-time
             * @description The beginning of the period. Default: now
             */
            fromAt?: string | Date;
            /**
             * Format: date-time
             * @description Its end, at most 31 days later. Default: a day later
             */
            until?: string | Date;
            /**
             * Format: int64
             * @default 20
             */
            limit?: number;
        };
        GetQueueQuery: {
            /**
             * Format: int64
             * @description Only failed jobs with a lower id
             */
            before?: number;
            /**
             * Format: int64
             * @default 50
             */
            limit?: number;
        };
        ListSkillsQuery: {
            /** @description In words. Default: all skills */
            situation?: string;
            /**
             * Format: int64
             * @default 20
             */
            limit?: number;
        };
        ListStrategiesQuery: {
            /**
             * Format: int64
             * @default 50
             */
            limit?: number;
        };
        ExplainStrategyQuery: {
            /**
             * @default en
             * @enum {string}
             */
            language?: "en" | "zh";
        };
        ListTraitsQuery: {
            /** @description Default: emerging, established and core */
            stage?: ("trend" | "candidate" | "emerging" | "established" | "core" | "dissolved")[];
            /** @description All stages */
            hidden?: boolean;
            /**
             * Format: date-time
             * @description The traits and wordings of that time. Default: now
             */
            asOf?: string | Date;
        };
        ListUsersQuery: {
            /**
             * Format: int64
             * @default 50
             */
            limit?: number;
            /** @description next_cursor of the previous page */
            cursor?: string;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type Access = components['schemas']['Access'];
export type Added = components['schemas']['Added'];
export type Adjusted = components['schemas']['Adjusted'];
export type Attachment = components['schemas']['Attachment'];
export type Change = components['schemas']['Change'];
export type Changed = components['schemas']['Changed'];
export type ChannelScore = components['schemas']['ChannelScore'];
export type Community = components['schemas']['Community'];
export type Conclusion = components['schemas']['Conclusion'];
export type Conditions = components['schemas']['Conditions'];
export type Confirmation = components['schemas']['Confirmation'];
export type ContextPart = components['schemas']['ContextPart'];
export type ContextQuery = components['schemas']['ContextQuery'];
export type Created = components['schemas']['Created'];
export type Deleted = components['schemas']['Deleted'];
export type Done = components['schemas']['Done'];
export type Edge = components['schemas']['Edge'];
export type Edited = components['schemas']['Edited'];
export type EmbeddingModel = components['schemas']['EmbeddingModel'];
export type Enabled = components['schemas']['Enabled'];
export type EntityEnd = components['schemas']['EntityEnd'];
export type Erased = components['schemas']['Erased'];
export type ErrorDetail = components['schemas']['ErrorDetail'];
export type ErrorModel = components['schemas']['ErrorModel'];
export type Explanation = components['schemas']['Explanation'];
export type Facts = components['schemas']['Facts'];
export type Feeling = components['schemas']['Feeling'];
export type File = components['schemas']['File'];
export type Health = components['schemas']['Health'];
export type Imported = components['schemas']['Imported'];
export type IndexedUser = components['schemas']['IndexedUser'];
export type Instruction = components['schemas']['Instruction'];
export type Intention = components['schemas']['Intention'];
export type Job = components['schemas']['Job'];
export type JobCount = components['schemas']['JobCount'];
export type KnownFact = components['schemas']['KnownFact'];
export type ListAccess = components['schemas']['ListAccess'];
export type ListAdded = components['schemas']['ListAdded'];
export type ListAdjusted = components['schemas']['ListAdjusted'];
export type ListChange = components['schemas']['ListChange'];
export type ListCommunity = components['schemas']['ListCommunity'];
export type ListConclusion = components['schemas']['ListConclusion'];
export type ListFeeling = components['schemas']['ListFeeling'];
export type ListFile = components['schemas']['ListFile'];
export type ListInstruction = components['schemas']['ListInstruction'];
export type ListIntention = components['schemas']['ListIntention'];
export type ListKnownFact = components['schemas']['ListKnownFact'];
export type ListMemory = components['schemas']['ListMemory'];
export type ListMessage = components['schemas']['ListMessage'];
export type ListNamedEntity = components['schemas']['ListNamedEntity'];
export type ListOrigin = components['schemas']['ListOrigin'];
export type ListPrediction = components['schemas']['ListPrediction'];
export type ListProfileValue = components['schemas']['ListProfileValue'];
export type ListRelated = components['schemas']['ListRelated'];
export type ListResult = components['schemas']['ListResult'];
export type ListSentence = components['schemas']['ListSentence'];
export type ListSkill = components['schemas']['ListSkill'];
export type ListStrategy = components['schemas']['ListStrategy'];
export type ListString = components['schemas']['ListString'];
export type ListTraitSummary = components['schemas']['ListTraitSummary'];
export type ListUuid = components['schemas']['ListUUID'];
export type ListWebhook = components['schemas']['ListWebhook'];
export type Memory = components['schemas']['Memory'];
export type MemoryV1 = components['schemas']['MemoryV1'];
export type Merging = components['schemas']['Merging'];
export type Message = components['schemas']['Message'];
export type MessageCount = components['schemas']['MessageCount'];
export type MoltMode = components['schemas']['MoltMode'];
export type NamedEntity = components['schemas']['NamedEntity'];
export type Naming = components['schemas']['Naming'];
export type NewDocument = components['schemas']['NewDocument'];
export type NewInstruction = components['schemas']['NewInstruction'];
export type NewIntention = components['schemas']['NewIntention'];
export type NewMemories = components['schemas']['NewMemories'];
export type NewMemory = components['schemas']['NewMemory'];
export type NewMessage = components['schemas']['NewMessage'];
export type NewMessages = components['schemas']['NewMessages'];
export type NewSkill = components['schemas']['NewSkill'];
export type NewWebhook = components['schemas']['NewWebhook'];
export type Operation = components['schemas']['Operation'];
export type OperationLink = components['schemas']['OperationLink'];
export type Opinion = components['schemas']['Opinion'];
export type Origin = components['schemas']['Origin'];
export type Outcome = components['schemas']['Outcome'];
export type Overview = components['schemas']['Overview'];
export type PatternAccount = components['schemas']['PatternAccount'];
export type PatternCount = components['schemas']['PatternCount'];
export type PolicyChange = components['schemas']['PolicyChange'];
export type Posted = components['schemas']['Posted'];
export type Prediction = components['schemas']['Prediction'];
export type ProfileValue = components['schemas']['ProfileValue'];
export type PromptContext = components['schemas']['PromptContext'];
export type ProofOf = components['schemas']['ProofOf'];
export type Query = components['schemas']['Query'];
export type Queue = components['schemas']['Queue'];
export type QueueGauge = components['schemas']['QueueGauge'];
export type QueuedJob = components['schemas']['QueuedJob'];
export type Reason = components['schemas']['Reason'];
export type ReasonerState = components['schemas']['ReasonerState'];
export type Recalled = components['schemas']['Recalled'];
export type Receipt = components['schemas']['Receipt'];
export type RecordedEvent = components['schemas']['RecordedEvent'];
export type RecordedEvidence = components['schemas']['RecordedEvidence'];
export type Related = components['schemas']['Related'];
export type Replacement = components['schemas']['Replacement'];
export type Reply = components['schemas']['Reply'];
export type Report = components['schemas']['Report'];
export type Reranked = components['schemas']['Reranked'];
export type Result = components['schemas']['Result'];
export type Retried = components['schemas']['Retried'];
export type SearchV1 = components['schemas']['SearchV1'];
export type Sentence = components['schemas']['Sentence'];
export type SessionId = components['schemas']['SessionID'];
export type Skill = components['schemas']['Skill'];
export type Snooze = components['schemas']['Snooze'];
export type Strategy = components['schemas']['Strategy'];
export type Tendency = components['schemas']['Tendency'];
export type Tier = components['schemas']['Tier'];
export type Timeline = components['schemas']['Timeline'];
export type TimelineEntry = components['schemas']['TimelineEntry'];
export type TimelineQuery = components['schemas']['TimelineQuery'];
export type TraitDetails = components['schemas']['TraitDetails'];
export type TraitEdit = components['schemas']['TraitEdit'];
export type TraitState = components['schemas']['TraitState'];
export type TraitSummary = components['schemas']['TraitSummary'];
export type TraitWording = components['schemas']['TraitWording'];
export type TypeCount = components['schemas']['TypeCount'];
export type Used = components['schemas']['Used'];
export type UserSettings = components['schemas']['UserSettings'];
export type Value = components['schemas']['Value'];
export type Verification = components['schemas']['Verification'];
export type WaitingJob = components['schemas']['WaitingJob'];
export type Webhook = components['schemas']['Webhook'];
export type WebhookUrl = components['schemas']['WebhookURL'];
export type WeightFactors = components['schemas']['WeightFactors'];
export type ListAdjustmentsQuery = components['schemas']['ListAdjustmentsQuery'];
export type ListCommunitiesQuery = components['schemas']['ListCommunitiesQuery'];
export type ListConclusionsQuery = components['schemas']['ListConclusionsQuery'];
export type GetEmotionsQuery = components['schemas']['GetEmotionsQuery'];
export type ListEntitiesQuery = components['schemas']['ListEntitiesQuery'];
export type ListFactsQuery = components['schemas']['ListFactsQuery'];
export type ImportQuery = components['schemas']['ImportQuery'];
export type ListInstructionsQuery = components['schemas']['ListInstructionsQuery'];
export type ListUpcomingQuery = components['schemas']['ListUpcomingQuery'];
export type ListLogQuery = components['schemas']['ListLogQuery'];
export type ListMemoriesQuery = components['schemas']['ListMemoriesQuery'];
export type ListProvenanceQuery = components['schemas']['ListProvenanceQuery'];
export type ListRelatedQuery = components['schemas']['ListRelatedQuery'];
export type DeleteMessagesQuery = components['schemas']['DeleteMessagesQuery'];
export type PredictQuery = components['schemas']['PredictQuery'];
export type GetQueueQuery = components['schemas']['GetQueueQuery'];
export type ListSkillsQuery = components['schemas']['ListSkillsQuery'];
export type ListStrategiesQuery = components['schemas']['ListStrategiesQuery'];
export type ExplainStrategyQuery = components['schemas']['ExplainStrategyQuery'];
export type ListTraitsQuery = components['schemas']['ListTraitsQuery'];
export type ListUsersQuery = components['schemas']['ListUsersQuery'];
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
