package oxbow

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/store"
)

// NewInstruction is a standing instruction to store: how a person wants to be answered or treated.
type NewInstruction = store.NewInstruction

// Instruction is a standing instruction. It comes first in Context.
type Instruction = store.Instruction

// NewSkill is a skill to store: named steps for a situation.
type NewSkill = store.NewSkill

// Skill is a current skill, with how often it worked.
type Skill = store.Skill

// Instruct stores a standing instruction and returns its id. It replaces the current one of the same aspect and scope,
// except of the aspects avoid and other. A worker also hears instructions in conversations. An invalid value is an
// *InvalidError.
func (c *Client) Instruct(ctx context.Context, userID string, n NewInstruction) (uuid.UUID, error) {
	return inUser(ctx, c, userID, func(tx pgx.Tx) (uuid.UUID, error) { return store.Instruct(ctx, tx, userID, "user", n) })
}

// Instructions returns the standing instructions of a user, the most important first. With ended, it also returns those
// that were replaced or ended, the latest first.
func (c *Client) Instructions(ctx context.Context, userID string, ended bool) ([]Instruction, error) {
	return inUser(ctx, c, userID, func(tx pgx.Tx) ([]Instruction, error) {
		return store.Instructions(ctx, tx, userID, ended)
	})
}

// EndInstruction ends an instruction and reports whether it was current. ErrNoInstruction if the user has none of that
// id. The reason may be empty.
func (c *Client) EndInstruction(ctx context.Context, userID string, id uuid.UUID, reason string) (bool, error) {
	return inUser(ctx, c, userID, func(tx pgx.Tx) (bool, error) {
		return store.EndInstruction(ctx, tx, userID, id, reason)
	})
}

// LearnSkill stores a skill and returns its id. A skill of the same name gets a new version, which keeps the counts of
// what worked. An invalid value is an *InvalidError.
func (c *Client) LearnSkill(ctx context.Context, userID string, n NewSkill) (uuid.UUID, error) {
	return inUser(ctx, c, userID, func(tx pgx.Tx) (uuid.UUID, error) { return store.LearnSkill(ctx, tx, userID, n) })
}

// Skills returns at most limit (1 to 1,000) skills for a situation, in words, the best first: those that share words
// with it, by how many and how reliable they are. An empty situation selects all.
func (c *Client) Skills(ctx context.Context, userID, situation string, limit int) ([]Skill, error) {
	return inUser(ctx, c, userID, func(tx pgx.Tx) ([]Skill, error) {
		return store.SkillsFor(ctx, tx, userID, situation, limit)
	})
}

// SkillOutcome counts that a skill worked or did not. ErrNoSkill if the user has no such skill.
func (c *Client) SkillOutcome(ctx context.Context, userID string, id uuid.UUID, success bool) error {
	return c.on(ctx, userID, func(tx pgx.Tx) error { return store.SkillOutcome(ctx, tx, userID, id, success) })
}

// DropSkill ends a skill and reports whether it was current. ErrNoSkill if the user has no such skill. The reason may
// be empty.
func (c *Client) DropSkill(ctx context.Context, userID string, id uuid.UUID, reason string) (bool, error) {
	return inUser(ctx, c, userID, func(tx pgx.Tx) (bool, error) { return store.DropSkill(ctx, tx, userID, id, reason) })
}
