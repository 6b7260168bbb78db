package llm

import (
	"reflect"

	"github.com/tmc/langchaingo/llms/openai"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// schema is a JSON schema, limited to what OpenAI's strict mode supports: every member is required,
// and no others are allowed.
type schema = openai.ResponseFormatJSONSchemaProperty

const noEmotion = "none"

// The values that a model may choose from.
var (
	contexts   = []string{"work", "personal", "social", "learning", "general"} // contexts of a trait
	types      = []string{"fact", "episodic"}
	categories = []string{string(reasoner.Identity), string(reasoner.StablePreference),
		string(reasoner.ShortPreference),
		string(reasoner.Objective), string(reasoner.Skill), string(reasoner.Temporary)}
	kinds    = []string{"person", "place", "organization", "animal", "work", "other"}
	emotions = []string{noEmotion, "joy", "love", "pride", "hope", "calm", "surprise", "sadness", "fear", "anger",
		"disgust", "shame", "boredom"}
	operations = []string{string(reasoner.Add), string(reasoner.Update), string(reasoner.Delete), string(reasoner.Noop)}
	actions    = []string{string(reasoner.Keep), string(reasoner.Revise), string(reasoner.Split),
		string(reasoner.Dissolve)}
	levels = []string{"preference", "core"}
)

// choices are the lists that the tag of names.
var choices = map[string][]string{"contexts": contexts, "types": types, "categories": categories, "kinds": kinds,
	"emotions": emotions, "operations": operations, "actions": actions, "levels": levels}

// schemaOf returns the schema of an answer's type. In its fields, the tag about describes the member for the model, and
// of names its possible values. A member with the tag none may not be missing; the tag says what to write instead.
func schemaOf(t reflect.Type) *schema {
	switch t.Kind() {
	case reflect.Pointer:
		return schemaOf(t.Elem())
	case reflect.Slice:
		return &schema{Type: "array", Items: schemaOf(t.Elem())}
	case reflect.Bool:
		return &schema{Type: "boolean"}
	case reflect.Float64:
		return &schema{Type: "number"}
	case reflect.String:
		return &schema{Type: "string"}
	}
	object := &schema{Type: "object", Properties: map[string]*schema{}}
	for field := range t.Fields() {
		name, member := field.Tag.Get("json"), schemaOf(field.Type)
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
