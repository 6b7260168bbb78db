package server

import (
	"maps"
	"reflect"
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
)

// inline is a registry that writes the schema of a nested type where it is used: tools have no shared schemas.
type inline struct{ huma.Registry }

func (r inline) Schema(t reflect.Type, _ bool, _ string) *huma.Schema {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[uuid.UUID]() {
		return &huma.Schema{Type: huma.TypeString, Format: "uuid"}
	}
	return huma.SchemaFromType(r, t)
}

var schemas = inline{huma.NewMapRegistry("#/", huma.DefaultSchemaNamer)}

// schemaOf returns the schema of a type, as in openapi.json.
func schemaOf[T any]() *huma.Schema { return schemas.Schema(reflect.TypeFor[T](), false, "") }

// argumentsOf returns the schema of a tool's arguments: the properties of a type that are named.
func argumentsOf[T any](names ...string) *huma.Schema {
	s := schemaOf[T]()
	maps.DeleteFunc(s.Properties, func(name string, _ *huma.Schema) bool { return !slices.Contains(names, name) })
	s.Required = slices.DeleteFunc(s.Required, func(name string) bool { return s.Properties[name] == nil })
	for _, property := range s.Properties {
		property.Nullable = false // an argument may be absent, which says the same
		property.PrecomputeMessages()
	}
	s.PrecomputeMessages()
	return s
}
