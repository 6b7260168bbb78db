package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/jackc/pgx/v5"
)

// WithMeter returns a context in which Collect calls meter with the bytes of each row before it keeps the row. An error of
// meter ends the query. Without a meter, nothing is counted.
func WithMeter(ctx context.Context, meter func(bytes int) error) context.Context {
	return context.WithValue(ctx, meterKey{}, meter)
}

type meterKey struct{}

// query returns the rows of a query. If it fails, the rows return the same error.
func query(ctx context.Context, db DB, sql string, args ...any) pgx.Rows {
	rows, _ := db.Query(ctx, sql, bind(args)...)
	if meter, ok := ctx.Value(meterKey{}).(func(int) error); ok && meter != nil {
		return &metered{Rows: rows, meter: meter}
	}
	return rows
}

// metered are rows that a meter counts.
type metered struct {
	pgx.Rows
	meter func(bytes int) error
	err   error
}

// Next advances to the next row, unless the meter refuses it.
func (m *metered) Next() bool {
	if !m.Rows.Next() {
		return false
	}
	bytes := 0
	for _, value := range m.RawValues() {
		bytes += len(value)
	}
	if m.err = m.meter(bytes); m.err != nil {
		m.Close()
	}
	return m.err == nil
}

// Err returns the error of the meter or the query.
func (m *metered) Err() error {
	if m.err != nil {
		return m.err
	}
	return m.Rows.Err()
}

// Collect runs a query and returns its rows: structs by the names of the columns, or the values of
// a single column. Null is the zero value. It maps errors with Explain.
func Collect[T any](ctx context.Context, db DB, sql string, args ...any) ([]T, error) {
	found, err := pgx.CollectRows(query(ctx, db, sql, args...), rowTo[T])
	return found, Explain(err)
}

// CollectOne is Collect for a query that returns exactly one row. It returns ErrNotFound if the
// query returns no row.
func CollectOne[T any](ctx context.Context, db DB, sql string, args ...any) (T, error) {
	found, err := pgx.CollectExactlyOneRow(query(ctx, db, sql, args...), rowTo[T])
	return found, Explain(err)
}

// Exec runs a statement and returns the number of rows affected. It maps errors with Explain.
func Exec(ctx context.Context, db DB, sql string, args ...any) (int64, error) {
	tag, err := db.Exec(ctx, sql, bind(args)...)
	return tag.RowsAffected(), Explain(err)
}

// list, one and run are Collect, CollectOne and Exec with errors that say what failed.
func list[T any](ctx context.Context, db DB, what, sql string, args ...any) ([]T, error) {
	found, err := Collect[T](ctx, db, sql, args...)
	return found, failed(what, err)
}

func one[T any](ctx context.Context, db DB, what, sql string, args ...any) (T, error) {
	found, err := CollectOne[T](ctx, db, sql, args...)
	return found, failed(what, err)
}

func run(ctx context.Context, db DB, what, sql string, args ...any) (int64, error) {
	n, err := Exec(ctx, db, sql, args...)
	return n, failed(what, err)
}

func failed(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// collectWithModel is like Collect and also returns the embedding model of the database. Both
// queries share one round trip and, if db is a transaction with a fixed snapshot, one snapshot.
func collectWithModel[T any](ctx context.Context, db DB, sql string, args ...any) (
	found []T, model EmbeddingModel, err error,
) {
	batch := &pgx.Batch{}
	batch.Queue(`select value from oxbow.settings where key = 'embedding'`).QueryRow(func(row pgx.Row) error {
		return row.Scan(&model)
	})
	batch.Queue(sql, bind(args)...).Query(func(rows pgx.Rows) (err error) {
		found, err = pgx.CollectRows(rows, rowTo[T])
		return err
	})
	err = db.SendBatch(ctx, batch).Close()
	return found, model, Explain(err)
}

// rowTo scans a row into a struct by the names of the columns, like pgx.RowToStructByName, or into
// a single value. Null becomes the zero value, and a struct may have fields without a column.
func rowTo[T any](row pgx.CollectableRow) (value T, err error) {
	into := reflect.ValueOf(&value).Elem()
	columns := row.FieldDescriptions()
	fields := make([]reflect.Value, len(columns))
	scanned := make([]any, len(columns)) // pointers to pointers, which null sets to nil
	for i, column := range columns {
		if fields[i] = into; isStruct(into.Type()) {
			index, ok := fieldsOf(into.Type())[column.Name]
			if !ok {
				return value, fmt.Errorf("%T has no field for the column %q", value, column.Name)
			}
			fields[i] = into.FieldByIndex(index)
		}
		kind := fields[i].Type()
		if kind == reflect.TypeFor[map[string]any]() {
			kind = reflect.TypeFor[object]()
		}
		scanned[i] = reflect.New(reflect.PointerTo(kind)).Interface()
	}
	if err := row.Scan(scanned...); err != nil {
		return value, err
	}
	for i, field := range fields {
		if found := reflect.ValueOf(scanned[i]).Elem(); !found.IsNil() {
			field.Set(found.Elem().Convert(field.Type()))
		}
	}
	return value, nil
}

// object is a JSON object whose numbers may be beyond the range of float64, as jsonb's may: those remain json.Number.
type object map[string]any

// UnmarshalJSON decodes an object.
func (o *object) UnmarshalJSON(text []byte) error {
	var plain map[string]any
	err := json.Unmarshal(text, &plain)
	if beyond, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && strings.HasPrefix(beyond.Value, "number") {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		plain = nil
		err = decoder.Decode(&plain)
		for key, value := range plain {
			plain[key] = floats(value)
		}
	}
	*o = plain
	return err
}

// floats replaces those numbers in a decoded JSON value that are in the range of float64.
func floats(value any) any {
	switch v := value.(type) {
	case json.Number:
		if f, err := v.Float64(); err == nil {
			return f
		}
	case map[string]any:
		for key, element := range v {
			v[key] = floats(element)
		}
	case []any:
		for i, element := range v {
			v[i] = floats(element)
		}
	}
	return value
}

// isStruct reports whether the columns of a row are the fields of a type.
func isStruct(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t != reflect.TypeFor[time.Time]()
}

var structs sync.Map // reflect.Type to the index of each field, by the name of its column

// fieldsOf returns the exported fields of a struct, and those of embedded structs, by the names of
// their columns.
func fieldsOf(t reflect.Type) map[string][]int {
	if known, ok := structs.Load(t); ok {
		return known.(map[string][]int)
	}
	fields := map[string][]int{}
	for _, f := range reflect.VisibleFields(t) {
		if f.IsExported() && !f.Anonymous {
			fields[columnOf(f.Name)] = f.Index
		}
	}
	structs.Store(t, fields)
	return fields
}

// columnOf returns the name of a column in the style of SQL: UserID is user_id.
func columnOf(field string) string {
	var b strings.Builder
	runes := []rune(strings.ReplaceAll(field, "IDs", "Ids"))
	for i, r := range runes {
		begins := i > 0 && unicode.IsUpper(r) &&
			(!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]))
		if begins {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
