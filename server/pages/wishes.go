package pages

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow"
)

// wishes is what the page of instructions and plans shows.
type wishes struct {
	Instructions []oxbow.Instruction
	Plans        []oxbow.Intention
	Skills       []oxbow.Skill
	Adjustments  []oxbow.Adjustment
}

func (s *Site) wishes(v *visit) (err error) {
	var w wishes
	ctx, user := v.Context(), v.session.UserID
	if w.Instructions, err = s.Client.Instructions(ctx, user, false); err != nil {
		return err
	}
	if w.Plans, err = s.Client.Upcoming(ctx, user, time.Time{}, pageSize); err != nil {
		return err
	}
	if w.Skills, err = s.Client.Skills(ctx, user, "", pageSize); err != nil {
		return err
	}
	if w.Adjustments, err = s.Client.Adjustments(ctx, user, uuid.Nil, pageSize); err != nil {
		return err
	}
	return v.render("wishes", w)
}

func (s *Site) addInstruction(v *visit) error {
	_, err := s.Client.Instruct(v.Context(), v.session.UserID, oxbow.NewInstruction{Content: v.value("content")})
	if err != nil {
		return err
	}
	return v.redirect("/wishes", "instruction")
}

// addPlan stores a reminder for a day.
func (s *Site) addPlan(v *visit) error {
	n := oxbow.NewIntention{Content: v.value("content"), Kind: "reminder"}
	day, err := v.day("due")
	if err != nil {
		return err
	}
	if !day.IsZero() { // its end
		n.DueAt, n.Precision = day.Add(time.Microsecond).AddDate(0, 0, -1), "day"
	}
	if _, err := s.Client.Intend(v.Context(), v.session.UserID, n); err != nil {
		return err
	}
	return v.redirect("/wishes", "plan")
}

// endWish returns what ends the instruction, the plan or the adjustment in the path.
func endWish(done string, f func(s *Site, ctx context.Context, user string, id uuid.UUID) error) func(*Site, *visit) error {
	return func(s *Site, v *visit) error {
		id, err := v.id()
		if err == nil {
			err = f(s, v.Context(), v.session.UserID, id)
		}
		if err != nil {
			return err
		}
		return v.redirect("/wishes", done)
	}
}

var (
	endInstruction = endWish("instruction_ended", func(s *Site, ctx context.Context, user string, id uuid.UUID) error {
		_, err := s.Client.EndInstruction(ctx, user, id, "")
		return err
	})
	completePlan = endWish("plan_done", func(s *Site, ctx context.Context, user string, id uuid.UUID) error {
		_, err := s.Client.CompleteIntention(ctx, user, id, "")
		return err
	})
	dropPlan = endWish("plan_dropped", func(s *Site, ctx context.Context, user string, id uuid.UUID) error {
		_, err := s.Client.DropIntention(ctx, user, id, "")
		return err
	})
	undoAdjustment = endWish("undone", func(s *Site, ctx context.Context, user string, id uuid.UUID) error {
		return s.Client.Rollback(ctx, user, id)
	})
)

// giveFeedback stores what a person says of the memory or trait in the path, and shows it again. A trait that is not
// about the person is dissolved, and a memory forgotten.
func giveFeedback(at string) func(*Site, *visit) error {
	return func(s *Site, v *visit) error {
		id, err := v.id()
		if err != nil {
			return err
		}
		_, err = s.Client.Feedback(v.Context(), v.session.UserID, oxbow.Feedback{Kind: v.value("kind"),
			IDs: []uuid.UUID{id}, Query: v.value("question"), Reason: v.value("reason")})
		if err != nil {
			return err
		}
		return v.redirect(at+id.String(), "feedback")
	}
}
