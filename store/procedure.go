package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// NewInstruction is a standing instruction to store.
type NewInstruction struct {
	Content    string // at most 2,000 bytes
	Aspect     string // language, length, address, tone, format, avoid, other; empty: other
	Context    string // work, personal, social, learning; empty: everywhere
	AgentID    string // empty: all agents
	SessionID  string // empty: all conversations
	Priority   int    // -100 to 100; higher ones come first
	ExternalID string // makes a repeated call return the earlier one
}

// Instruction is a standing instruction.
type Instruction struct {
	ID         uuid.UUID `json:"id"`
	Content    string    `json:"content"`
	Aspect     string    `json:"aspect"`
	Context    string    `json:"context,omitzero"`
	AgentID    string    `json:"agent_id,omitzero"`
	Session    string    `json:"session_id,omitzero"`
	Priority   int       `json:"priority"`
	Inferred   bool      `json:"inferred,omitzero"` // not said: a trait, whose id it has
	CreatedAt  time.Time `json:"created_at"`
	EndedAt    time.Time `json:"ended_at,omitzero"`
	ReplacedBy uuid.UUID `json:"replaced_by,omitzero"`
	Reason     string    `json:"reason,omitzero"` // why it ended
}

// Instruct stores a standing instruction and returns its id.
func Instruct(ctx context.Context, db DB, userID, actor string, n NewInstruction) (uuid.UUID, error) {
	return one[uuid.UUID](ctx, db, "store the instruction",
		`select oxbow.instruct($1, $2, coalesce($3, 'other'), $4, $5, $6, $7, $8, $9)`, userID, n.Content,
		pointer(n.Aspect), pointer(n.Context), pointer(n.AgentID), pointer(n.SessionID), n.Priority,
		pointer(n.ExternalID), actor)
}

// Instructions returns a user's instructions, the most important first. With ended it also returns those that ended.
func Instructions(ctx context.Context, db DB, userID string, ended bool) ([]Instruction, error) {
	return list[Instruction](ctx, db, "read the instructions", `
		select id, content, aspect, context, agent_id, session, priority, inferred, created_at, ended_at, replaced_by, reason
		  from oxbow.instructions_of($1, ended => $2)`, userID, ended)
}

// EndInstruction ends an instruction, and reports whether it was current.
func EndInstruction(ctx context.Context, db DB, userID string, id uuid.UUID, reason string) (bool, error) {
	return one[bool](ctx, db, "end the instruction", `select oxbow.end_instruction($1, $2, $3)`, userID, id,
		pointer(reason))
}

// hearInstructions stores the instructions and skills of an extraction.
func hearInstructions(ctx context.Context, db DB, e Extraction) error {
	for _, p := range e.Procedures {
		_, err := run(ctx, db, "store the skill", `
			select oxbow.add_skill(jsonb_populate_record(null::oxbow.skills, jsonb_build_object('user_id', $1::text,
			         'name', $2::text, 'situation', $3::text, 'steps', $4::text[], 'preconditions', '{}'::text[],
			         'source', 'conversation', 'message_id', $5::uuid, 'said_in', $6::text)), 'taught anew')`,
			e.Session.UserID, plain(p.Name), plain(p.Situation), p.Steps, p.Source, e.Session.ID)
		if err != nil {
			return err
		}
	}
	if len(e.Instructions) == 0 {
		return nil
	}
	type row struct {
		Content string    `json:"content"`
		Aspect  string    `json:"aspect"`
		Context string    `json:"context"`
		Here    bool      `json:"here"`
		Ends    bool      `json:"ends"`
		Message uuid.UUID `json:"message"`
	}
	rows := make([]row, len(e.Instructions))
	for i, n := range e.Instructions {
		rows[i] = row{plain(n.Text), n.Aspect, n.Context, n.Here, n.Ends, n.Source}
	}
	encoded, err := json.Marshal(rows)
	if err != nil {
		return err
	}
	_, err = run(ctx, db, "store the instructions", `select oxbow.hear_instructions($1, $2, $3, $4)`, e.Session.UserID,
		e.Session.ID, e.Actor, string(encoded))
	return err
}

// NewSkill is a skill to store.
type NewSkill struct {
	Name          string   // at most 200 bytes; a current skill of this name becomes the previous version
	Situation     string   // when it applies, in words, at most 2,000 bytes
	Steps         []string // 1 to 50
	Preconditions []string // at most 20
	Reason        string   // why it replaces the previous version
}

// Skill is a current skill.
type Skill struct {
	ID            uuid.UUID `json:"id"`
	Name          string    `json:"name"`
	Situation     string    `json:"situation,omitzero"`
	Steps         []string  `json:"steps"`
	Preconditions []string  `json:"preconditions,omitempty"`
	Version       int       `json:"version"`
	Successes     int       `json:"successes"`
	Failures      int       `json:"failures"`
	Relevance     float64   `json:"relevance"`   // 0 to 1: words of the situation asked for that it has; 1 if none was
	Reliability   float64   `json:"reliability"` // (successes + 1) / (successes + failures + 2)
	CreatedAt     time.Time `json:"created_at"`
	UsedAt        time.Time `json:"used_at,omitzero"`
}

// LearnSkill stores a skill, or its next version, and returns its id.
func LearnSkill(ctx context.Context, db DB, userID string, n NewSkill) (uuid.UUID, error) {
	return one[uuid.UUID](ctx, db, "store the skill", `select oxbow.learn_skill($1, $2, $3, $4, $5, $6)`, userID, n.Name,
		n.Steps, pointer(n.Situation), n.Preconditions, pointer(n.Reason))
}

// SkillsFor returns at most limit skills for a situation, the best first; all kinds if it is empty.
func SkillsFor(ctx context.Context, db DB, userID, situation string, limit int) ([]Skill, error) {
	return list[Skill](ctx, db, "read the skills", `
		select id, name, "when" as situation, steps, preconditions, version, successes, failures, relevance, reliability,
		       created_at, used_at
		  from oxbow.skills_for($1, $2, $3)`, userID, pointer(situation), limit)
}

// SkillOutcome counts that a skill worked or did not.
func SkillOutcome(ctx context.Context, db DB, userID string, id uuid.UUID, success bool) error {
	_, err := run(ctx, db, "count the outcome", `select oxbow.skill_outcome($1, $2, $3)`, userID, id, success)
	return err
}

// DropSkill ends a skill, and reports whether it was current.
func DropSkill(ctx context.Context, db DB, userID string, id uuid.UUID, reason string) (bool, error) {
	return one[bool](ctx, db, "drop the skill", `select oxbow.drop_skill($1, $2, $3)`, userID, id, pointer(reason))
}
