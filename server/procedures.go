package server

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow"
)

// NewInstruction is a standing instruction to store.
type NewInstruction struct {
	Content    string `json:"content" minLength:"1" maxLength:"2000"`
	Aspect     string `json:"aspect,omitzero" enum:"language,length,address,tone,format,avoid,other" doc:"Default: other"`
	Context    string `json:"context,omitzero" enum:"work,personal,social,learning" doc:"Where it holds. Default: everywhere"`
	AgentID    string `json:"agent_id,omitzero" maxLength:"1024" doc:"For which agent. Default: all"`
	SessionID  string `json:"session_id,omitzero" maxLength:"1024" doc:"In which conversation. Default: all"`
	Priority   int    `json:"priority,omitzero" minimum:"-100" maximum:"100" doc:"Higher ones come first"`
	ExternalID string `json:"external_id,omitzero" maxLength:"1024" doc:"A repeated request returns the earlier one"`
}

// NewSkill is a skill to store.
type NewSkill struct {
	Name          string   `json:"name" minLength:"1" maxLength:"200" doc:"A current skill of this name becomes the previous version"`
	Situation     string   `json:"situation,omitzero" maxLength:"2000" doc:"When it applies"`
	Steps         []string `json:"steps" minItems:"1" maxItems:"50"`
	Preconditions []string `json:"preconditions,omitempty" maxItems:"20"`
	Reason        string   `json:"reason,omitzero" maxLength:"10000" doc:"Why it replaces the previous version"`
}

// Outcome says whether a skill worked.
type Outcome struct {
	Success bool `json:"success"`
}

// NewIntention is an intention to store.
type NewIntention struct {
	Content    string    `json:"content" minLength:"1" maxLength:"2000"`
	Kind       string    `json:"kind,omitzero" enum:"intention,goal,reminder" doc:"Default: intention"`
	DueAt      time.Time `json:"due_at,omitzero" doc:"When it is due. Default: no time is known"`
	Precision  string    `json:"precision,omitzero" enum:"minute,day,week,month,year" doc:"Default: minute"`
	Recurrence string    `json:"recurrence,omitzero" maxLength:"200" doc:"An RRULE of iCalendar, which begins at due_at"`
	Condition  string    `json:"condition,omitzero" maxLength:"2000" doc:"When it is due instead, in words"`
	ExternalID string    `json:"external_id,omitzero" maxLength:"1024" doc:"A repeated request returns the earlier one"`
}

// Snooze is a time.
type Snooze struct {
	Until time.Time `json:"until" doc:"When it is due again"`
}

// InstructionID, SkillID and IntentionID name one in the path.
type (
	// InstructionID names an instruction.
	InstructionID struct {
		ID uuid.UUID `path:"id" doc:"The instruction's id"`
	}
	// SkillID names a skill.
	SkillID struct {
		ID uuid.UUID `path:"id" doc:"The skill's id"`
	}
	// IntentionID names an intention.
	IntentionID struct {
		ID uuid.UUID `path:"id" doc:"The intention's id"`
	}
)

func (s *Server) registerProcedures() {
	forUser(s, op("list-instructions", http.MethodGet, "/instructions", "procedures",
		"List how the user wants to be answered, the most important first"),
		func(ctx context.Context, user string, in *struct {
			Ended bool `query:"ended" doc:"Include those that ended"`
		}) (list[oxbow.Instruction], error) {
			return listed(s.client.Instructions(ctx, user, in.Ended))
		})
	forUser(s, op("add-instruction", http.MethodPost, "/instructions", "procedures", "Store a standing instruction"),
		func(ctx context.Context, user string, in *struct{ Body NewInstruction }) (Created, error) {
			return created(s.client.Instruct(ctx, user, oxbow.NewInstruction(in.Body)))
		})
	forUser(s, op("end-instruction", http.MethodDelete, "/instructions/{id}", "procedures", "End a standing instruction"),
		func(ctx context.Context, user string, in *InstructionID) (Changed, error) {
			return changed(s.client.EndInstruction(ctx, user, in.ID, ""))
		})
	forUser(s, op("list-skills", http.MethodGet, "/skills", "procedures", "List skills for a situation, the best first"),
		func(ctx context.Context, user string, in *struct {
			Situation string `query:"situation" maxLength:"2000" doc:"In words. Default: all skills"`
			Limit     int    `query:"limit" minimum:"1" maximum:"1000" default:"20"`
		}) (list[oxbow.Skill], error) {
			return listed(s.client.Skills(ctx, user, in.Situation, in.Limit))
		})
	forUser(s, op("add-skill", http.MethodPost, "/skills", "procedures", "Store a skill, or its next version"),
		func(ctx context.Context, user string, in *struct{ Body NewSkill }) (Created, error) {
			return created(s.client.LearnSkill(ctx, user, oxbow.NewSkill(in.Body)))
		})
	forUser(s, op("report-outcome", http.MethodPost, "/skills/{id}/outcome", "procedures",
		"Count that a skill worked or did not"),
		func(ctx context.Context, user string, in *struct {
			SkillID
			Body Outcome
		}) (Done, error) {
			return Done{true}, s.client.SkillOutcome(ctx, user, in.ID, in.Body.Success)
		})
	forUser(s, op("drop-skill", http.MethodDelete, "/skills/{id}", "procedures", "End a skill"),
		func(ctx context.Context, user string, in *SkillID) (Changed, error) {
			return changed(s.client.DropSkill(ctx, user, in.ID, ""))
		})
}

func (s *Server) registerIntentions() {
	forUser(s, op("list-upcoming", http.MethodGet, "/intentions", "intentions",
		"List what is open or due, the earliest first"),
		func(ctx context.Context, user string, in *struct {
			Until time.Time `query:"until" doc:"Only what is due until then. Default: everything"`
			Limit int       `query:"limit" minimum:"1" maximum:"1000" default:"100"`
		}) (list[oxbow.Intention], error) {
			return listed(s.client.Upcoming(ctx, user, in.Until, in.Limit))
		})
	forUser(s, op("add-intention", http.MethodPost, "/intentions", "intentions", "Store a reminder, a plan or a goal"),
		func(ctx context.Context, user string, in *struct{ Body NewIntention }) (Created, error) {
			return created(s.client.Intend(ctx, user, oxbow.NewIntention(in.Body)))
		})
	forUser(s, op("complete-intention", http.MethodPost, "/intentions/{id}/done", "intentions", "Mark it as done"),
		func(ctx context.Context, user string, in *struct {
			IntentionID
			Body *Reason
		}) (Changed, error) {
			return changed(s.client.CompleteIntention(ctx, user, in.ID, in.Body.text()))
		})
	forUser(s, op("drop-intention", http.MethodPost, "/intentions/{id}/drop", "intentions", "Mark it as dropped"),
		func(ctx context.Context, user string, in *struct {
			IntentionID
			Body *Reason
		}) (Changed, error) {
			return changed(s.client.DropIntention(ctx, user, in.ID, in.Body.text()))
		})
	forUser(s, op("snooze-intention", http.MethodPost, "/intentions/{id}/snooze", "intentions", "Make it due again later"),
		func(ctx context.Context, user string, in *struct {
			IntentionID
			Body Snooze
		}) (Changed, error) {
			return changed(s.client.SnoozeIntention(ctx, user, in.ID, in.Body.Until))
		})
}
