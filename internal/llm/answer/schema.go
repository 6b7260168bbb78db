package answer

import (
	"reflect"

	"github.com/tmc/langchaingo/llms/openai"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// Schema is a JSON schema, limited to what OpenAI's strict mode supports: every member is required,
// and no others are allowed.
type Schema = openai.ResponseFormatJSONSchemaProperty

// NoEmotion is the label of a candidate without an emotion.
const NoEmotion = "none"

// The values that a model may choose from.
var (
	Contexts   = reasoner.Contexts
	Types      = []string{"fact", "episodic"}
	Categories = []string{string(reasoner.Identity), string(reasoner.StablePreference),
		string(reasoner.ShortPreference), string(reasoner.Objective), string(reasoner.Skill),
		string(reasoner.Temporary)}
	Kinds    = []string{"person", "place", "organization", "animal", "work", "other"}
	Emotions = []string{NoEmotion, "joy", "love", "pride", "hope", "calm", "surprise", "sadness", "fear", "anger",
		"disgust", "shame", "boredom"}
	Operations = []string{string(reasoner.Add), string(reasoner.Update), string(reasoner.Delete), string(reasoner.Noop)}
	Verdicts   = []string{string(reasoner.ReviewPromote), string(reasoner.ReviewKeep), string(reasoner.ReviewDelete),
		string(reasoner.ReviewSearch)}
	actions = []string{string(reasoner.Keep), string(reasoner.Revise), string(reasoner.Split),
		string(reasoner.Dissolve)}
	levels = []string{"preference", "core"}
)

// choices are the lists that the tag of names.
var choices = map[string][]string{"contexts": Contexts, "types": Types, "categories": Categories, "kinds": Kinds,
	"emotions": Emotions, "operations": Operations, "verdicts": Verdicts, "actions": actions, "levels": levels,
	"signalKinds": reasoner.SignalKinds, "signalTypes": reasoner.SignalTypes, "signalTargets": reasoner.SignalTargets,
	"signalHints": reasoner.SignalHints, "aspects": reasoner.InstructionAspects}

// SchemaOf returns the schema of an answer.
func SchemaOf(t reflect.Type) *Schema {
	switch t.Kind() {
	case reflect.Pointer:
		return SchemaOf(t.Elem())
	case reflect.Slice:
		return &Schema{Type: "array", Items: SchemaOf(t.Elem())}
	case reflect.Bool:
		return &Schema{Type: "boolean"}
	case reflect.Float64:
		return &Schema{Type: "number"}
	case reflect.String:
		return &Schema{Type: "string"}
	}
	object := &Schema{Type: "object", Properties: map[string]*Schema{}}
	for field := range t.Fields() {
		name, member := field.Tag.Get("json"), SchemaOf(field.Type)
		described := member
		if member.Type == "array" && member.Items.Type == "string" {
			described = member.Items
		}
		described.Description = field.Tag.Get("about")
		for _, value := range choices[field.Tag.Get("of")] {
			described.Enum = append(described.Enum, value)
		}
		object.Properties[name], object.Required = member, append(object.Required, name)
	}
	return object
}
