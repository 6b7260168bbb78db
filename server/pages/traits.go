package pages

import (
	"html/template"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// traitGroup is a part of the first page.
type traitGroup struct {
	Name  string // of the texts group_NAME and group_NAME_text
	Items []traitItem
}

// traitItem is a trait with its curve.
type traitItem struct {
	oxbow.Trait
	Curve store.TraitCurve
	Chart template.HTML // "" without a confidence
}

// groupOf returns the group of a trait: what it is about if apps are told of it, or that they are not.
func groupOf(t oxbow.Trait) string {
	switch t.Stage {
	case "emerging", "established", "core":
		return t.Subtype
	case "dissolved":
		return "dissolved"
	}
	return "unsure"
}

// Unused is when apps are no longer told of it, and Gone when it is given up, if nothing supports it until then.
func (t traitItem) Unused() time.Time { return t.becomes("candidate", "dissolved") }

// Gone is when the trait is given up if nothing supports it until then.
func (t traitItem) Gone() time.Time { return t.becomes("dissolved") }

func (t traitItem) becomes(stages ...string) time.Time {
	for _, s := range t.Curve.Stages {
		if slices.Contains(stages, s.Stage) {
			return s.At
		}
	}
	return time.Time{}
}

// traitList is what the first page shows.
type traitList struct {
	Groups   []traitGroup
	Presence store.TraitsPresence
}

func (s *Site) traits(v *visit) error {
	var list traitList
	traits, err := s.Client.Traits(v.Context(), v.session.UserID, oxbow.TraitsOptions{IncludeHidden: true})
	if err != nil {
		return err
	}
	var curves map[uuid.UUID]store.TraitCurve
	err = s.Client.InTx(v.Context(), v.session.UserID, func(tx pgx.Tx) (err error) {
		if list.Presence, err = store.UserTraitsPresence(v.Context(), tx, v.session.UserID); err == nil {
			curves, err = store.TraitCurves(v.Context(), tx, v.session.UserID, uuid.Nil)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, name := range []string{"core", "preference", "behavior", "unsure", "dissolved"} {
		group := traitGroup{Name: name}
		for _, t := range traits {
			if groupOf(t) == name {
				item := traitItem{Trait: t, Curve: curves[t.ID]}
				item.Chart = v.confidence(item, true)
				group.Items = append(group.Items, item)
			}
		}
		if len(group.Items) > 0 {
			list.Groups = append(list.Groups, group)
		}
	}
	return v.render("traits", list)
}

// confidence draws the curve of a trait.
func (v *visit) confidence(t traitItem, small bool) template.HTML {
	p := view{words: v.words, v: v}
	past, ahead := chartLine{area: true}, chartLine{class: "ahead"}
	c := chart{id: "curve-" + t.ID.String(), title: p.T("curve_title", t.Content), max: 1, now: time.Now(),
		nowName: p.T("curve_now"), lines: []chartLine{past, ahead}}
	for i, part := range t.Curve.Past {
		curve := points(part)
		line, moved := &c.lines[0], true
		if n := len(line.parts); i > 0 && part[0].At.Equal(last(t.Curve.Past[i-1]).At) {
			line.parts[n-1] = append(line.parts[n-1], curve...)
			moved = math.Abs(part[0].Confidence-last(t.Curve.Past[i-1]).Confidence) > 0.001
		} else {
			line.parts = append(line.parts, curve)
		}
		if moved { // by an event
			line.dots = append(line.dots, curve[0])
		}
	}
	c.lines[1].parts = [][]chartPoint{points(t.Curve.Ahead)}
	c.from, c.to = time.Now().AddDate(0, -1, 0), time.Now().AddDate(0, 1, 0)
	if len(t.Curve.Past) == 0 {
		return ""
	}
	c.from = t.Curve.Past[0][0].At
	if len(t.Curve.Ahead) > 0 {
		c.to = last(t.Curve.Ahead).At
	}
	c.text = p.T("curve_text", p.Date(c.from), p.Percent(t.Curve.Past[0][0].Confidence), p.Percent(t.Confidence))
	if gone := t.Gone(); !gone.IsZero() {
		c.text += " " + p.T("curve_gone", p.Date(gone))
	}
	c.levels = []chartLevel{{t.Curve.Told, ""}}
	if small {
		c.width, c.height, c.lines[0].dots = 240, 72, nil
		return c.svg()
	}
	c.date, c.value = p.Date, p.Percent
	c.levels = []chartLevel{{t.Curve.Told, p.T("curve_told")}, {1, ""}}
	return c.svg()
}

func last(part []store.CurvePoint) store.CurvePoint { return part[len(part)-1] }

func points(part []store.CurvePoint) (all []chartPoint) {
	for _, point := range part {
		all = append(all, chartPoint{point.At, point.Confidence, ""})
	}
	return all
}

// traitPage is what the page of a trait shows.
type traitPage struct {
	traitItem
	Details  oxbow.TraitDetails
	Evidence []traitEvidence
	Why      []oxbow.Sentence
}

// traitEvidence is a memory that speaks for or against a trait, with the messages in which it was said.
type traitEvidence struct {
	oxbow.TraitEvidence
	Said []oxbow.Origin
}

func (s *Site) trait(v *visit) error {
	id, err := v.id()
	if err != nil {
		return err
	}
	ctx, user := v.Context(), v.session.UserID
	details, err := s.Client.Trait(ctx, user, id)
	if err != nil {
		return err
	}
	origins, err := s.Client.Provenance(ctx, user, id, 1000)
	if err != nil {
		return err
	}
	slices.Reverse(details.Events) // the latest first, as everywhere
	page := traitPage{traitItem: traitItem{Trait: details.TraitSummary}, Details: details}
	for _, e := range slices.Backward(details.Evidence) {
		evidence := traitEvidence{TraitEvidence: e}
		for _, o := range origins {
			if o.OriginOf == e.MemoryID && o.MessageID != uuid.Nil {
				evidence.Said = append(evidence.Said, o)
			}
		}
		page.Evidence = append(page.Evidence, evidence)
	}
	err = s.Client.InTx(ctx, user, func(tx pgx.Tx) error {
		curves, err := store.TraitCurves(ctx, tx, user, id)
		page.Curve = curves[id]
		return err
	})
	if err != nil {
		return err
	}
	if page.Why, err = s.why(v, id); err != nil {
		return err
	}
	page.Chart = v.confidence(page.traitItem, false)
	return v.render("trait", page)
}

// confirmTrait raises the confidence to what a person's word is worth.
func (s *Site) confirmTrait(v *visit) error {
	return s.editTrait(v, "trait_confirmed", func(t oxbow.TraitDetails) oxbow.TraitEdit {
		confidence := max(t.Confidence, 0.9)
		return oxbow.TraitEdit{Confidence: &confidence}
	})
}

func (s *Site) correctTrait(v *visit) error {
	return s.editTrait(v, "corrected", func(oxbow.TraitDetails) oxbow.TraitEdit {
		return oxbow.TraitEdit{Content: v.value("content"), Reason: v.value("reason")}
	})
}

func (s *Site) editTrait(v *visit, done string, edit func(oxbow.TraitDetails) oxbow.TraitEdit) error {
	id, err := v.id()
	if err != nil {
		return err
	}
	t, err := s.Client.Trait(v.Context(), v.session.UserID, id)
	if err != nil {
		return err
	}
	if id, err = s.Client.EditTrait(v.Context(), v.session.UserID, id, edit(t)); err != nil {
		return err
	}
	return v.redirect("/traits/"+id.String(), done)
}

func (s *Site) dissolveTrait(v *visit) error {
	id, err := v.id()
	if err != nil {
		return err
	}
	if err := s.Client.DissolveTrait(v.Context(), v.session.UserID, id, v.value("reason")); err != nil {
		return err
	}
	return v.redirect("/traits/"+id.String(), "dissolved")
}

func (s *Site) askDeleteTrait(v *visit) error {
	id, err := v.id()
	if err != nil {
		return err
	}
	t, err := s.Client.Trait(v.Context(), v.session.UserID, id)
	if err != nil {
		return err
	}
	at := "/traits/" + id.String()
	return v.render("ask", question{Name: "delete_trait", Quoted: t.Content, Action: at + "/delete", Back: at})
}

func (s *Site) deleteTrait(v *visit) error {
	if v.value("sure") == "" {
		return s.askDeleteTrait(v)
	}
	id, err := v.id()
	if err != nil {
		return err
	}
	if _, err := s.Client.DeleteTrait(v.Context(), v.session.UserID, id); err != nil {
		return err
	}
	return v.redirect("/", "trait_deleted")
}
