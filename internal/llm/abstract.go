package llm

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/oxbow-memory/oxbow/internal/llm/answer"
	"github.com/oxbow-memory/oxbow/internal/llm/wording"
	"github.com/oxbow-memory/oxbow/internal/oneline"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// denseData holds the values for the prompt of a conclusion.
type denseData struct {
	Now       string
	About     []denseShown
	Fragments []fragmentShown
}

type denseShown struct {
	Topic      string              `json:"topic"`
	Denies     bool                `json:"denies"`
	According  []string            `json:"according_to"`
	Conditions reasoner.Conditions `json:"conditions"`
	Before     string              `json:"conclusion_before"`
}

type fragmentShown struct {
	Ref  string `json:"ref"`
	Time string `json:"time"`
	Text string `json:"text"`
}

// Abstract asks for a conclusion from fragments of one topic. It leaves out fragments that read as instructions, and
// drops references to fragments that were not shown.
func (r *Reasoner) Abstract(ctx context.Context, d reasoner.Dense) (c reasoner.Conclusion, err error) {
	about := denseShown{Topic: oneline.Shorten(d.Topic, maxName), Denies: d.Denies, According: []string{},
		Conditions: d.Conditions}
	for _, v := range d.According {
		if v == "" {
			v = "the user"
		}
		about.According = append(about.According, oneline.Shorten(v, maxName))
	}
	if !wording.Instructs(d.Before) {
		about.Before = d.Before
	}
	data := denseData{Now: local(d.Now), About: []denseShown{about}}
	of := map[string]reasoner.Memory{}
	var texts []string
	for _, f := range d.Fragments {
		if wording.Instructs(f.Content) {
			continue
		}
		ref := fmt.Sprintf("m%d", len(of)+1)
		of[ref] = f
		texts = append(texts, f.Content)
		data.Fragments = append(data.Fragments, fragmentShown{Ref: ref, Time: f.Time.Format("2006-01-02 15:04 Monday"),
			Text: oneline.Shorten(oneline.Of(f.Content), maxText)})
	}
	if len(of) == 0 {
		return c, nil
	}
	var refused notes
	q := question{purpose: "abstract", data: data, refused: &refused,
		bounds: boundsFor(len(of), reasoner.MaxConclusion)}
	err = ask(ctx, r, q, func(a answer.Conclusion) error {
		c, refused = reasoner.Conclusion{}, notes{}
		if strings.TrimSpace(a.Conclusion) == "" {
			return nil
		}
		text, err := wording.Statement(a.Conclusion, reasoner.MaxConclusion)
		if err != nil {
			return problemf("unusable conclusion: %s", err)
		}
		if how := wording.Translated(text, texts); how != "" {
			return problemf("unusable conclusion: %s", how)
		}
		for _, ref := range a.Sources {
			f, known := of[ref]
			if !known || slices.Contains(c.Sources, f.ID) {
				refused.drop(ref, "it is not one of the memories, or named twice")
				continue
			}
			c.Sources = append(c.Sources, f.ID)
		}
		c.Content = text
		return nil
	})
	return c, err
}
