package llm

import "github.com/tmc/langchaingo/llms/openai"

// schema is a JSON schema, in the part of the language that OpenAI's strict mode knows: every member is required, others
// are not allowed.
type schema = openai.ResponseFormatJSONSchemaProperty

// contexts are those in which a trait may show.
var contexts = []string{"work", "personal", "social", "learning", "general"}

func object(required []string, members map[string]*schema) *schema {
	return &schema{Type: "object", Properties: members, Required: required}
}

func list(of *schema) *schema { return &schema{Type: "array", Items: of} }

func text(description string) *schema { return &schema{Type: "string", Description: description} }

func choice(description string, of ...string) *schema {
	s := text(description)
	for _, value := range of {
		s.Enum = append(s.Enum, value)
	}
	return s
}

func truth(description string) *schema { return &schema{Type: "boolean", Description: description} }

var (
	evidenceSchema = list(object([]string{"memory", "stated", "context"}, map[string]*schema{
		"memory":  text("reference of a memory, such as m3"),
		"stated":  truth("the user says it outright of themselves in this memory"),
		"context": choice("where it shows in this memory; general if nowhere in particular", contexts...),
	}))

	reflectSchema = object([]string{"patterns", "reinforcements", "contradictions", "clusters"}, map[string]*schema{
		"patterns": list(object([]string{"clue", "content", "context", "emotional", "tentative", "evidence"}, map[string]*schema{
			"clue":      text("reference of the clue that this is, such as c2; empty if it is none of them"),
			"content":   text("one short sentence about the user, in the language of the memories"),
			"context":   choice("where it shows; general if in several", contexts...),
			"emotional": truth("it is a mood, which passes"),
			"tentative": truth("it is no more than a guess so far"),
			"evidence":  evidenceSchema,
		})),
		"reinforcements": list(object([]string{"trait", "evidence"}, map[string]*schema{
			"trait":    text("reference of a trait, such as t1"),
			"evidence": evidenceSchema,
		})),
		"contradictions": list(object([]string{"trait", "reason", "evidence"}, map[string]*schema{
			"trait":    text("reference of a trait, such as t1"),
			"reason":   text("what does not fit, in a few words"),
			"evidence": evidenceSchema,
		})),
		"clusters": list(object([]string{"level", "content", "traits"}, map[string]*schema{
			"level":   choice("preference: what behaviors have in common; core: what preferences have in common", "preference", "core"),
			"content": text("one short sentence about the user, in the language of the memories"),
			"traits":  list(text("reference of a trait, such as t1")),
		})),
	})

	reviewSchema = object([]string{"action", "content", "tendencies", "reason"}, map[string]*schema{
		"action":  choice("what becomes of the trait", "keep", "revise", "split", "dissolve"),
		"content": text("of revise and split: the trait in one short sentence, in its own language; otherwise empty"),
		"tendencies": list(object([]string{"context", "tendency"}, map[string]*schema{
			"context":  choice("where", contexts...),
			"tendency": text("what holds there, in a few words, in the trait's own language"),
		})),
		"reason": text("why, in one sentence"),
	})
)
