package server

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow"
)

func (m *mcpServer) registerLearning() {
	tool(m, "give_feedback", "Give feedback", `Store what the user said of an answer: that the memories it rested on `+
		`are helpful, wrong, outdated, not about them, or too much. Name these memories.`,
		writes(false), arguments("kind", "ids", "query", "reason"), m.giveFeedback)
	tool(m, "add_instruction", "Add an instruction", `Store how the user wants to be answered from now on, such as `+
		`"Answer in German" or "Be brief", only when the user says so. get_context begins with it.`,
		writes(false), arguments("content", "aspect", "context"), m.addInstruction)
	tool(m, "end_instruction", "End an instruction", `End a standing instruction, when the user no longer wants it.`,
		writes(true), arguments("id", "reason"), m.endInstruction)
	tool(m, "add_intention", "Add a reminder or plan", `Store what the user intends or wants to be reminded of, with `+
		`its time, recurrence or condition. The time needs an offset, as in 2026-05-20T09:00:00+02:00.`,
		writes(false), arguments("content", "kind", "due_at", "precision", "recurrence", "condition"), m.addIntention)
	tool(m, "list_upcoming", "List what is due", `List the user's standing instructions, and what is open or due, the `+
		`earliest first.`,
		reads, arguments("until", "limit", "max_tokens"), m.listUpcoming)
	tool(m, "close_intention", "Close an intention", `Mark a reminder or plan as done or dropped.`,
		writes(true), arguments("id", "outcome", "reason"), m.closeIntention)
	tool(m, "predict", "Predict", `List what the user will probably do, ask or need in the next day, or until a time, with `+
		`the probability, from their own habits and plans.`,
		reads, arguments("until", "limit", "max_tokens"), m.predict)
	tool(m, "list_communities", "List groups", `List groups of people and things that belong together in the user's `+
		`life, such as a family or a team, the largest first, or those that a question names.`,
		reads, arguments("query", "limit", "max_tokens"), m.listCommunities)
	tool(m, "list_skills", "List skills", `List ways to do things that worked for the user, with their steps, those `+
		`that fit a situation first.`,
		reads, arguments("situation", "limit", "max_tokens"), m.listSkills)
	tool(m, "add_skill", "Add a skill", `Store a way to do something that worked, as named steps, or the next version of `+
		`one with the same name.`,
		writes(false), arguments("name", "situation", "steps", "preconditions", "reason"), m.addSkill)
	tool(m, "report_outcome", "Report an outcome", `Count that a skill worked or did not, after it was used.`,
		writes(false), arguments("id", "success"), m.reportOutcome)
	tool(m, "explain", "Explain", `Explain in sentences why a memory, a trait or anything else with an id is known, `+
		`what it rests on, and when it fades.`,
		reads, arguments("id", "max_tokens"), m.explain)
}

func (m *mcpServer) giveFeedback(ctx context.Context, user string, in Opinion) (Created, error) {
	return created(m.client.Feedback(ctx, user, oxbow.Feedback{Kind: in.Kind, IDs: in.IDs, Query: in.Query,
		Reason: in.Reason}))
}

func (m *mcpServer) addInstruction(ctx context.Context, user string, in NewInstruction) (Created, error) {
	return created(m.client.Instruct(ctx, user, oxbow.NewInstruction(in)))
}

func (m *mcpServer) endInstruction(ctx context.Context, user string, in forgetArguments) (Changed, error) {
	return changed(m.client.EndInstruction(ctx, user, in.ID, in.Reason.Reason))
}

func (m *mcpServer) addIntention(ctx context.Context, user string, in NewIntention) (Created, error) {
	return created(m.client.Intend(ctx, user, oxbow.NewIntention(in)))
}

type upcomingArguments struct {
	Until time.Time `json:"until,omitzero" doc:"Only what is due until then. Default: everything"`
	Limit int       `json:"limit,omitzero" minimum:"1" maximum:"1000" default:"50"`
	Budget
}

// upcoming is what the user wants: instructions, and what is open or due.
type upcoming struct {
	Kind      string    `json:"kind" doc:"instruction, intention, goal or reminder"`
	ID        uuid.UUID `json:"id"`
	Content   string    `json:"content"`
	Shortened bool      `json:"shortened,omitzero"`
	DueAt     time.Time `json:"due_at,omitzero"`
	Precision string    `json:"precision,omitzero" doc:"minute, day, week, month, year or none"`
	Condition string    `json:"condition,omitzero"`
	State     string    `json:"state,omitzero" doc:"open or due"`
	Inferred  bool      `json:"inferred,omitzero" doc:"The user did not say so: the instruction is a trait, whose id it has"`
}

func (u *upcoming) content() (*string, *bool) { return &u.Content, &u.Shortened }

type upcomingList struct {
	Items   []upcoming `json:"items"`
	LeftOut int        `json:"left_out,omitzero" doc:"How many max_tokens left out"`
}

func (m *mcpServer) listUpcoming(ctx context.Context, user string, in upcomingArguments) (out upcomingList, err error) {
	standing, err := m.client.Instructions(ctx, user, false)
	if err != nil {
		return out, err
	}
	due, err := m.client.Upcoming(ctx, user, in.Until, cmp.Or(in.Limit, 50))
	if err != nil {
		return out, err
	}
	var all []upcoming
	for _, i := range standing {
		all = append(all, upcoming{Kind: "instruction", ID: i.ID, Content: i.Content, Inferred: i.Inferred})
	}
	for _, i := range due {
		all = append(all, upcoming{Kind: i.Kind, ID: i.ID, Content: i.Content, DueAt: i.DueAt, Precision: i.Precision,
			Condition: i.Condition, State: i.State})
	}
	out.Items, out.LeftOut = fit(all, in.tokens())
	return out, nil
}

type closeArguments struct {
	IDArgument
	Outcome string `json:"outcome" enum:"done,dropped"`
	Reason
}

func (m *mcpServer) closeIntention(ctx context.Context, user string, in closeArguments) (Changed, error) {
	if in.Outcome == "dropped" {
		return changed(m.client.DropIntention(ctx, user, in.ID, in.Reason.Reason))
	}
	return changed(m.client.CompleteIntention(ctx, user, in.ID, in.Reason.Reason))
}

// why is a sentence of an explanation.
type why struct {
	Aspect    string `json:"aspect" doc:"origin, basis, kept, used or fades"`
	Sentence  string `json:"sentence"`
	Shortened bool   `json:"shortened,omitzero"`
}

func (w *why) content() (*string, *bool) { return &w.Sentence, &w.Shortened }

type explanation struct {
	Sentences []why `json:"sentences"`
	LeftOut   int   `json:"left_out,omitzero" doc:"How many max_tokens left out"`
}

func (m *mcpServer) explain(ctx context.Context, user string, in idArguments) (out explanation, err error) {
	said, err := m.client.Why(ctx, user, in.ID)
	if err != nil {
		return out, err
	}
	all := make([]why, len(said))
	for i, s := range said {
		all[i] = why{Aspect: s.Aspect, Sentence: s.Sentence}
	}
	out.Sentences, out.LeftOut = fit(all, in.tokens())
	return out, nil
}

// prediction is something that the user will probably do, ask or need.
type prediction struct {
	Kind        string    `json:"kind" doc:"activity, topic, question or intention"`
	Content     string    `json:"content"`
	Shortened   bool      `json:"shortened,omitzero"`
	Probability float64   `json:"probability" doc:"0 to 1"`
	StartsAt    time.Time `json:"starts_at,omitzero" doc:"With ends_at, when it is likeliest"`
	EndsAt      time.Time `json:"ends_at,omitzero"`
}

func (p *prediction) content() (*string, *bool) { return &p.Content, &p.Shortened }

type predictions struct {
	Predictions []prediction `json:"predictions"`
	LeftOut     int          `json:"left_out,omitzero" doc:"How many max_tokens left out"`
}

func (m *mcpServer) predict(ctx context.Context, user string, in upcomingArguments) (out predictions, err error) {
	found, err := m.client.Predict(ctx, user, time.Time{}, in.Until, cmp.Or(in.Limit, 50))
	if err != nil {
		return out, err
	}
	all := make([]prediction, len(found))
	for i, p := range found {
		all[i] = prediction{Kind: p.Kind, Content: p.Content, Probability: p.Probability, StartsAt: p.StartsAt, EndsAt: p.EndsAt}
	}
	out.Predictions, out.LeftOut = fit(all, in.tokens())
	return out, nil
}

type communityArguments struct {
	Query string `json:"query,omitzero" doc:"Only groups with something that it names"`
	Limit int    `json:"limit,omitzero" minimum:"1" maximum:"1000" default:"10"`
	Budget
}

// community is a group of people and things that belong together.
type community struct {
	Content   string `json:"content" doc:"At most 8 names, the most connected first, then the memories that connect most of them"`
	Members   int    `json:"members"`
	Shortened bool   `json:"shortened,omitzero"`
}

func (c *community) content() (*string, *bool) { return &c.Content, &c.Shortened }

type communities struct {
	Communities []community `json:"communities"`
	LeftOut     int         `json:"left_out,omitzero" doc:"How many max_tokens left out"`
}

func (m *mcpServer) listCommunities(ctx context.Context, user string, in communityArguments) (out communities, err error) {
	found, err := m.client.Communities(ctx, user, in.Query, cmp.Or(in.Limit, 10))
	if err != nil {
		return out, err
	}
	all := make([]community, len(found))
	for i, c := range found {
		all[i] = community{Content: strings.Join(c.Names, ", ") + ":\n" + c.Summary, Members: c.Members}
	}
	out.Communities, out.LeftOut = fit(all, in.tokens())
	return out, nil
}

type skillArguments struct {
	Situation string `json:"situation,omitzero" doc:"In words. Default: all skills"`
	Limit     int    `json:"limit,omitzero" minimum:"1" maximum:"1000" default:"20"`
	Budget
}

// skill is a way to do something.
type skill struct {
	ID        uuid.UUID `json:"id"`
	Content   string    `json:"content" doc:"The name, the situation, what it requires, and the steps"`
	Shortened bool      `json:"shortened,omitzero"`
	Successes int       `json:"successes" doc:"How often it worked"`
	Failures  int       `json:"failures"`
}

func (s *skill) content() (*string, *bool) { return &s.Content, &s.Shortened }

// skillText describes a skill: a line for the name and the situation, one for what it requires, and one for each step.
func skillText(s oxbow.Skill) string {
	lines := []string{s.Name}
	if s.Situation != "" {
		lines[0] += ": " + s.Situation
	}
	if len(s.Preconditions) > 0 {
		lines = append(lines, "Requires: "+strings.Join(s.Preconditions, "; "))
	}
	for i, step := range s.Steps {
		lines = append(lines, fmt.Sprintf("%d. %s", i+1, step))
	}
	return strings.Join(lines, "\n")
}

type skills struct {
	Skills  []skill `json:"skills"`
	LeftOut int     `json:"left_out,omitzero" doc:"How many max_tokens left out"`
}

func (m *mcpServer) listSkills(ctx context.Context, user string, in skillArguments) (out skills, err error) {
	found, err := m.client.Skills(ctx, user, in.Situation, cmp.Or(in.Limit, 20))
	if err != nil {
		return out, err
	}
	all := make([]skill, len(found))
	for i, s := range found {
		all[i] = skill{ID: s.ID, Content: skillText(s), Successes: s.Successes, Failures: s.Failures}
	}
	out.Skills, out.LeftOut = fit(all, in.tokens())
	return out, nil
}

func (m *mcpServer) addSkill(ctx context.Context, user string, in NewSkill) (Created, error) {
	return created(m.client.LearnSkill(ctx, user, oxbow.NewSkill(in)))
}

type outcomeArguments struct {
	IDArgument
	Outcome
}

func (m *mcpServer) reportOutcome(ctx context.Context, user string, in outcomeArguments) (Done, error) {
	return Done{true}, m.client.SkillOutcome(ctx, user, in.ID, in.Success)
}
