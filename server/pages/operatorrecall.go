package pages

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// recallView is the page that explains a recall.
type recallView struct {
	Form     recallForm
	Asked    bool // the form names a user and a query
	Person   store.Person
	Answer   []oxbow.Considered // in order
	Missed   []missed
	Degraded bool
	Took     time.Duration // of all
}

// recallForm is what was asked, as text for the fields.
type recallForm struct {
	User, Query, Limit, Agent, MinScore, Mode, ID string
	ValidAsOf, BelievedAsOf                       string
	Types                                         []string
	WordsOnly                                     bool
}

// Has reports whether a type was chosen.
func (f recallForm) Has(kind string) bool { return slices.Contains(f.Types, kind) }

// More reports whether a field is used that is not among the first.
func (f recallForm) More() bool {
	return f.ValidAsOf+f.BelievedAsOf+f.Agent+f.MinScore+f.Mode+f.ID != "" || len(f.Types) > 0 || f.WordsOnly
}

// missed are the memories that were left out for one reason.
type missed struct {
	Reason   string // of the texts op_reason_REASON and op_reason_REASON_lead
	Stage    string // of a trait that is not sure enough
	Memories []oxbow.Considered
}

// debugRecall shows what a recall returns, why, and what it leaves out.
func (s *Site) debugRecall(v *visit) error {
	f := recallForm{User: v.value("user"), Query: v.value("q"), Limit: v.value("limit"), Agent: v.value("agent"),
		MinScore: v.value("min_score"), Mode: v.value("mode"), ID: v.value("id"), ValidAsOf: v.value("valid"),
		BelievedAsOf: v.value("believed"), Types: v.Form["type"], WordsOnly: v.value("words") != ""}
	page := recallView{Form: f, Asked: f.User != "" && f.Query != ""}
	if !page.Asked {
		return v.render("operator_recall", page)
	}
	q, ids, err := v.recallQuery(f)
	if err != nil {
		return err
	}
	v.about = []string{f.User}
	begun := time.Now()
	found, err := s.Operator.RecallDebug(v.Context(), q, ids...)
	if err != nil {
		return err
	}
	page.Took, page.Degraded = time.Since(begun), found.Degraded != nil
	if page.Person, err = store.PersonOf(v.Context(), s.Operators, f.User); err != nil {
		return err
	}
	for _, m := range found.Memories {
		if m.Place > 0 {
			page.Answer = append(page.Answer, m)
		} else {
			page.miss(m)
		}
	}
	return v.render("operator_recall", page)
}

const stageReason = "a trait in the stage "

func (r *recallView) miss(m oxbow.Considered) {
	reason, stage := strings.ReplaceAll(m.LeftOut, " ", "_"), ""
	if rest, ok := strings.CutPrefix(m.LeftOut, stageReason); ok {
		reason, stage = "stage", rest
	}
	i := slices.IndexFunc(r.Missed, func(of missed) bool { return of.Reason == reason && of.Stage == stage })
	if i < 0 {
		i = len(r.Missed)
		r.Missed = append(r.Missed, missed{Reason: reason, Stage: stage})
	}
	r.Missed[i].Memories = append(r.Missed[i].Memories, m)
}

// recallQuery returns the query of a form, and the memories to explain in any case.
func (v *visit) recallQuery(f recallForm) (q oxbow.Query, ids []uuid.UUID, err error) {
	q = oxbow.Query{UserID: f.User, Text: f.Query, AgentID: f.Agent, Mode: oxbow.Mode(f.Mode), WordsOnly: f.WordsOnly}
	limit, err := v.number("limit", 10, 1, 1000)
	if err != nil {
		return q, nil, err
	}
	q.Limit = int(limit)
	for _, t := range f.Types {
		q.Types = append(q.Types, oxbow.MemoryType(t))
	}
	if q.ValidAsOf, err = v.day("valid"); err != nil {
		return q, nil, err
	}
	if q.BelievedAsOf, err = v.day("believed"); err != nil {
		return q, nil, err
	}
	if f.MinScore != "" {
		if q.MinScore, err = strconv.ParseFloat(f.MinScore, 64); err != nil {
			return q, nil, store.Invalid("min_score", f.MinScore, "must be a number from 0 to 1")
		}
	}
	if f.ID != "" {
		id, err := uuid.Parse(f.ID)
		if err != nil {
			return q, nil, store.Invalid("id", f.ID, "must be the id of a memory")
		}
		ids = []uuid.UUID{id}
	}
	return q, ids, nil
}
