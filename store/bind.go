package store

import (
	"context"
	"encoding"
	"reflect"

	"github.com/jackc/pgx/v5"
)

// bound are the arguments of a statement, as a pgx.QueryRewriter. In the query modes without descriptions of statements,
// which poolers in transaction mode need, pgx encodes an argument by its Go type alone. It knows no types of this
// package, and google/uuid only on connections with RegisterTypes, so that bound turns slices of them into text.
//
// JSON must be a json.RawMessage or a string: pgx takes []byte for bytea.
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
	var known func(any) bool
	if conn != nil {
		known = func(v any) bool { _, ok := conn.TypeMap().TypeForValue(v); return ok }
	}
	values := []any(b)
	for i, v := range b {
		if v == nil || known != nil && known(v) {
			continue
		}
		if text, ok := asTexts(v); ok {
			if &values[0] == &b[0] {
				values = append([]any(nil), b...)
			}
			values[i] = text
		}
	}
	return sql, values, nil
}

// asTexts returns a slice of strings, or of values with a text form, as strings.
func asTexts(v any) ([]string, bool) {
	slice := reflect.ValueOf(v)
	if slice.Kind() != reflect.Slice || slice.IsNil() {
		return nil, false
	}
	element := slice.Type().Elem()
	marshals := element.Implements(reflect.TypeFor[encoding.TextMarshaler]())
	if element.Kind() != reflect.String && !marshals {
		return nil, false
	}
	found := make([]string, slice.Len())
	for i := range found {
		if e := slice.Index(i); !marshals {
			found[i] = e.String()
		} else if text, err := e.Interface().(encoding.TextMarshaler).MarshalText(); err == nil {
			found[i] = string(text)
		} else {
			return nil, false // pgx says why
		}
	}
	return found, true
}
