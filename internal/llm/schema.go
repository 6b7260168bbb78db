package llm

import (
	"github.com/tmc/langchaingo/llms/openai"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// schema is a JSON schema, limited to what OpenAI's strict mode supports: every member is required,
// and no others are allowed.
type schema = openai.ResponseFormatJSONSchemaProperty

// The values that a model may choose from.
var (
	contexts   = []string{"work", "personal", "social", "learning", "general"} // contexts of a trait
	types      = []string{"fact", "episodic"}
	categories = []string{string(reasoner.Identity), string(reasoner.StablePreference), string(reasoner.ShortPreference),
		string(reasoner.Objective), string(reasoner.Skill), string(reasoner.Temporary)}
	kinds      = []string{"person", "place", "organization", "animal", "work", "other"}
	emotions   = []string{noEmotion, "joy", "love", "pride", "hope", "calm", "surprise", "sadness", "fear", "anger", "disgust", "shame", "boredom"}
	operations = []string{string(reasoner.Add), string(reasoner.Update), string(reasoner.Delete), string(reasoner.Noop)}
)

const noEmotion = "none"

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

func number(description string) *schema { return &schema{Type: "number", Description: description} }

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

	extractSchema = object([]string{"candidates", "used"}, map[string]*schema{
		"candidates": list(object([]string{"content", "type", "category", "importance", "context", "emotion", "entities", "relations", "time", "negates", "sources"}, map[string]*schema{
			"content":    text("one statement in one line, in the language of its messages and close to their words"),
			"type":       choice("fact: what is so; episodic: what happened, or will", types...),
			"category":   choice("what it is about", categories...),
			"importance": number("how much it matters to remember it, 0 to 1"),
			"context":    choice("where in the user's life it belongs; general if nowhere in particular", contexts...),
			"emotion": object([]string{"label", "valence", "arousal"}, map[string]*schema{
				"label":   choice("what the user feels about it; none if that is not said", emotions...),
				"valence": number("-1 (unpleasant) to 1 (pleasant)"),
				"arousal": number("0 (calm) to 1 (excited)"),
			}),
			"entities": list(object([]string{"name", "kind"}, map[string]*schema{
				"name": text("the name as the content writes it"),
				"kind": choice("what has that name; work is a book, a film, a song, a game", kinds...),
			})),
			"relations": list(object([]string{"from", "relation", "to"}, map[string]*schema{
				"from":     text("name of one of these entities; empty: who says it"),
				"relation": text("what to is to from, such as sister, friend, pet, works_at, lives_in, studies_at, owns"),
				"to":       text("name of another of these entities; empty: who says it"),
			})),
			"time":    text("when it was true or happened, such as 2025-10-29 or 2025-10-29T18:30; empty: when it was said, or not known"),
			"negates": truth("it says that something is so no longer, or was wrong"),
			"sources": list(text("reference of a new message of the user that says it, such as m3")),
		})),
		"used": list(object([]string{"memory", "reply"}, map[string]*schema{
			"memory": text("reference of a recalled memory, such as h1"),
			"reply":  text("reference of the assistant's new message that rests on it, such as m4"),
		})),
	})

	resolveSchema = object([]string{"resolutions"}, map[string]*schema{
		"resolutions": list(object([]string{"conflict", "operation", "target", "reason"}, map[string]*schema{
			"conflict":  text("reference of a conflict, such as c1"),
			"operation": choice("what becomes of its candidate", operations...),
			"target":    text("reference of one of the memories of that conflict, such as h2; empty for ADD"),
			"reason":    text("why, in a few words"),
		})),
	})

	summarizeSchema = object([]string{"summary"}, map[string]*schema{
		"summary": text("what the conversation was about, in one line and in its language; empty if there is nothing to tell"),
	})
)
