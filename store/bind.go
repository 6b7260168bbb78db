package store

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/jackc/pgx/v5"
)

// bound are the arguments of a statement, as a pgx.QueryRewriter. In the query modes without descriptions of
// statements, which poolers in transaction mode need, pgx encodes an argument by its Go type alone. It knows no types of
// this package, and google/uuid and pgvector only on connections with RegisterTypes, so slices of them become texts.
//
// JSON is a string, a json.RawMessage or a map: pgx takes []byte for bytea.
type bound []any

// bind returns the arguments of a statement for pgx.
func bind(values []any) []any {
	if len(values) == 0 {
		return nil
	}
	return []any{bound(values)}
}

// RewriteQuery implements pgx.QueryRewriter.
func (b bound) RewriteQuery(_ context.Context, conn *pgx.Conn, sql string, _ []any) (string, []any, error) {
	values := []any(b)
	for i, v := range b {
		if _, known := conn.TypeMap().TypeForValue(v); known {
			continue
		}
		text, err := asText(v)
		if err != nil {
			return "", nil, err
		}
		if text != nil {
			if &values[0] == &b[0] {
				values = slices.Clone(values)
			}
			values[i] = text
		}
	}
	return sql, values, nil
}

// asText returns a map as JSON, a slice of strings or of values with a method String as []string, and nil for others.
func asText(v any) (any, error) {
	value := reflect.ValueOf(v)
	switch kind := value.Kind(); {
	case kind != reflect.Map && kind != reflect.Slice || value.IsNil():
		return nil, nil
	case kind == reflect.Map:
		encoded, err := json.Marshal(v)
		return string(encoded), err
	}
	element := value.Type().Elem()
	if element.Kind() != reflect.String && !element.Implements(reflect.TypeFor[fmt.Stringer]()) {
		return nil, nil
	}
	found := make([]string, value.Len())
	for i := range found {
		found[i] = fmt.Sprint(value.Index(i).Interface())
	}
	return found, nil
}
