package jobs

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/store"
)

// learn stores a version of a skill.
func (d *dispatching) learn(steps ...string) uuid.UUID {
	d.Helper()
	id, err := store.LearnSkill(d.Context(), d.pool, "ann", store.NewSkill{Name: "Report", Steps: steps})
	require.NoError(d, err)
	return id
}

// saysOf stores a signal about an answer that used these.
func (d *dispatching) saysOf(direction string, confidence float64, target string, used ...uuid.UUID) {
	d.Helper()
	answer, err := store.RecordAnswer(d.Context(), d.pool, "ann", store.Answer{Query: "The report?", Used: used})
	require.NoError(d, err)
	_, err = d.pool.Exec(d.Context(), `
		insert into oxbow.feedback_signals (user_id, source, kind, type, confidence, targets, answer_id, message_id, at)
		values ('ann', 'judge', 'complaint', $1, $2, array[$3], $4, gen_random_uuid(), $5)`,
		direction, confidence, target, answer, d.now)
	require.NoError(d, err)
}

// skill returns the current version with its steps and counts.
func (d *dispatching) skill() (now string) {
	d.Helper()
	require.NoError(d, d.pool.QueryRow(d.Context(), `
		select coalesce(string_agg(format('%s %s: %s worked, %s failed', version, steps, successes, failures), '; '), 'none')
		  from oxbow.skills_for('ann')`).Scan(&now))
	return now
}

// What agreeing signals say of reasoning, style and tools counts for the skills that the answer used, not for its
// memories; what they say of the answer itself does not.
func TestDispatchSkill(t *testing.T) {
	t.Parallel()
	d := newDispatching(t)
	id := d.learn("write")
	d.saysOf("negative", 0.9, "final_answer", id)
	d.saysOf("negative", 0.9, "final_answer", id)
	d.saysOf("negative", 0.5, "reasoning", id) // not sure enough
	d.now = d.now.AddDate(0, 0, -8)            // too long ago to agree with the next
	d.saysOf("negative", 0.9, "style", id, d.id)
	d.now = d.now.AddDate(0, 0, 8)
	d.saysOf("negative", 0.9, "reasoning", id, d.id)
	require.Empty(t, d.dispatch())
	d.saysOf("negative", 0.9, "tool_choice", id, d.id)
	lowered := d.dispatch()
	require.Len(t, lowered, 1)
	require.Equal(t, []any{"skill", id, "Report", 0.5, 0.25, "2 signals against it", d.now.AddDate(0, 0, 90).Unix()},
		[]any{lowered[0].Kind, lowered[0].About, lowered[0].Content, lowered[0].Before, lowered[0].After, lowered[0].Cause,
			lowered[0].ExpiresAt.Unix()})
	require.Equal(t, "1 {write}: 0 worked, 2 failed", d.skill())
	require.Equal(t, 1.0, d.strength())

	d.saysOf("positive", 0.9, "final_answer", id) // the way to a good answer is good
	d.saysOf("positive", 0.9, "final_answer", id)
	require.Equal(t, "worse", d.dispatch()[0].UndoneBy)
	d.saysOf("positive", 0.9, "final_answer", id)
	require.Equal(t, 0.8, d.dispatch()[0].After)
	require.Equal(t, "1 {write}: 3 worked, 0 failed", d.skill())
	d.now = d.now.AddDate(0, 0, 91)
	require.Equal(t, "expiry", d.dispatch()[0].UndoneBy)
	require.Equal(t, "1 {write}: 0 worked, 0 failed", d.skill())
}

// A signal about an answer that rests on several skills is shared among them.
func TestDispatchSkillShares(t *testing.T) {
	t.Parallel()
	d := newDispatching(t)
	var ids []uuid.UUID
	for i := range 4 {
		id, err := store.LearnSkill(t.Context(), d.pool, "ann", store.NewSkill{Name: fmt.Sprint("Skill ", i), Steps: []string{"do"}})
		require.NoError(t, err)
		ids = append(ids, id)
	}
	d.saysOf("negative", 0.9, "reasoning", ids...)
	d.saysOf("negative", 0.9, "reasoning", ids...)
	require.Empty(t, d.dispatch())
	d.saysOf("negative", 0.9, "reasoning", ids...)
	require.Len(t, d.dispatch(), 4)
	require.Equal(t, "1 {do}: 0 worked, 1 failed; 1 {do}: 0 worked, 1 failed; 1 {do}: 0 worked, 1 failed; 1 {do}: 0 worked, "+
		"1 failed", d.skill())
}

// A version that keeps failing gives way to the one before, which did better. When that fails as well, the change is
// undone, not tried again, and the skill ends until a person or time undoes that.
func TestDispatchRetiresSkill(t *testing.T) {
	t.Parallel()
	d := newDispatching(t)
	first := d.learn("collect", "write")
	require.NoError(t, store.SkillOutcome(t.Context(), d.pool, "ann", first, true))
	second := d.learn("write")
	fails := func(id uuid.UUID) []store.Adjusted {
		t.Helper()
		d.now = time.Now()
		d.saysOf("negative", 0.9, "reasoning", id)
		d.saysOf("negative", 0.9, "reasoning", id)
		return d.dispatch()
	}
	fails(second)
	require.Equal(t, "2 {write}: 1 worked, 2 failed", d.skill())
	changed := fails(second)
	require.Equal(t, "3 {collect,write}: 1 worked, 4 failed", d.skill())
	require.Len(t, changed, 3)
	require.Equal(t, []any{1. / 6, 2. / 3, true},
		[]any{changed[0].Before, changed[0].After, changed[0].ExpiresAt.IsZero()})
	said, err := store.Why(t.Context(), d.pool, "ann", changed[0].ID, "en")
	require.NoError(t, err)
	require.Equal(t, "It retired a version of a skill, and brought back the one before. "+
		"It changed the reliability of a skill from 0.167 to 0.667.", said[1].Sentence)
	said, err = store.Why(t.Context(), d.pool, "ann", changed[1].ID, "zh")
	require.NoError(t, err)
	require.Equal(t, "它把技能可靠度从0.400改为0.286。", said[1].Sentence)

	require.Equal(t, "worse", fails(changed[0].About)[0].UndoneBy)
	require.Equal(t, "2 {write}: 1 worked, 4 failed", d.skill())
	ended := fails(second)
	require.Equal(t, "none", d.skill())
	require.Zero(t, ended[0].After)
	require.NoError(t, store.Rollback(t.Context(), d.pool, "ann", ended[0].ID))
	require.Equal(t, "2 {write}: 1 worked, 6 failed", d.skill())
	fails(second)
	require.Equal(t, "none", d.skill())
	d.now = d.now.AddDate(0, 0, 91)
	d.dispatch()
	require.Equal(t, "2 {write}: 1 worked, 0 failed", d.skill())
}

// What a person changed since stays.
func TestUndoKeepsLearnedSkill(t *testing.T) {
	t.Parallel()
	d := newDispatching(t)
	id := d.learn("write")
	for range 4 {
		d.saysOf("negative", 0.9, "style", id)
	}
	ended := d.dispatch()
	require.Len(t, ended, 2)
	require.Equal(t, "none", d.skill())
	d.learn("draw")
	require.NoError(t, store.Rollback(t.Context(), d.pool, "ann", ended[0].ID))
	require.Equal(t, "1 {draw}: 0 worked, 0 failed", d.skill())
}
