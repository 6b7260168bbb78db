package movein

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTimes(t *testing.T) {
	t.Parallel()
	nine := time.Date(2025, 3, 10, 9, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		`"2025-03-10T09:00:00Z"`:                          nine,
		`"2025-03-10T09:00:00.250+00:00"`:                 nine.Add(250 * time.Millisecond),
		`"2025-03-10T10:00+01:00[Europe/Oslo]"`:           nine, // Neo4j
		`"2025-03-10T09:00"`:                              nine,
		`"2025-03-10 09:00:00.5"`:                         nine.Add(500 * time.Millisecond), // SQLite
		`"2025-03-10 17:00:00+08"`:                        nine,                             // PostgreSQL
		`"2025-03-10"`:                                    nine.Add(-9 * time.Hour),
		`1741597200`:                                      nine,
		`1741597200500`:                                   nine.Add(500 * time.Millisecond),
		`"1741597200.25"`:                                 nine.Add(250 * time.Millisecond),
		`-62135596800`:                                    time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC),
		`"9999-12-31T23:59:59Z"`:                          time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
		`"2025-03-10T04:00:00-05:00[America/New_York]  "`: nine,
	} {
		at, err := parseTime(json.RawMessage(text))
		require.NoError(t, err, text)
		require.True(t, want.Equal(at), "%s: %s", text, at)
	}
	for text, want := range map[string]error{`"yesterday"`: errTime, `""`: errTime, `true`: errTime, `{}`: errTime,
		`"2025-13-01"`: errTime, `"infinity"`: errYears, `"NaN"`: errYears, `1e300`: errYears, `-1e15`: errYears,
		`"0000-01-01"`: errYears} {
		_, err := parseTime(json.RawMessage(text))
		require.ErrorIs(t, err, want, text)
	}
}

func TestObjects(t *testing.T) {
	t.Parallel()
	read := func(text string, lists ...string) (found []string, err error) {
		err = objects(strings.NewReader(text), lists, func(list string, o object) error {
			raw, err := json.Marshal(o)
			found = append(found, list+string(raw))
			return err
		})
		return found, err
	}
	for text, want := range map[string][]string{
		`{"a":1}`:                                       {`{"a":1}`},
		"\ufeff{\"a\":1}\n{\"a\":2} {\"a\":3}\n":        {`{"a":1}`, `{"a":2}`, `{"a":3}`},
		`[{"a":1},{"a":[{"b":2}]}]`:                     {`{"a":1}`, `{"a":[{"b":2}]}`},
		`{"n":1,"list":[{"a":1},{"a":2}],"other":[{}]}`: {`list{"a":1}`, `list{"a":2}`},
		`{"list":["x","y"],"a":1}`:                      {`{"a":1,"list":["x","y"]}`}, // a member of the object
		`{"list":[],"a":1}`:                             {`{"a":1}`},
		`{"list":null,"a":1}`:                           {`{"a":1}`},
		`{"list":[]}`:                                   nil,
		``:                                              nil,
		`[]`:                                            nil,
	} {
		found, err := read(text, "list")
		require.NoError(t, err, text)
		require.Equal(t, want, found, text)
	}
	for text, want := range map[string]string{
		`[{"a":1},{"a"`:       "the file is cut off after object 1",
		`{"list":[{"a":1}`:    "the file is cut off after object 1",
		`{"a":`:               "the file is cut off after no object",
		`hello`:               "not JSON at byte 1, after no object",
		`[{"a":1} {"a":2}]`:   "not JSON at byte 9, after object 1",
		`7`:                   "expected an object or an array, found 7",
		`[1]`:                 "expected an array of objects, found 1 in it",
		`{"list":{"a":1}}`:    "list: expected an array, found an object",
		"\x1f\x8bnot gzip at": "the file begins like one compressed with gzip, but",
	} {
		_, err := read(text, "list")
		require.ErrorContains(t, err, want, text)
	}
}

// A file is read as it is imported: one object is in memory.
func TestObjectsStream(t *testing.T) {
	t.Parallel()
	enough := errors.New("enough")
	n := 0
	endless := io.MultiReader(strings.NewReader(`{"list":[{"a":1}`), repeated(`,{"a":1}`))
	err := objects(endless, []string{"list"}, func(string, object) error {
		if n++; n == 10_000 {
			return enough
		}
		return nil
	})
	require.ErrorIs(t, err, enough)
}

type repeated string

func (r repeated) Read(p []byte) (int, error) {
	whole := len(p) / len(r) * len(r)
	return copy(p, bytes.Repeat([]byte(r), whole/len(r))), nil
}

func FuzzObjects(f *testing.F) {
	for _, text := range []string{`{"a":1}`, `[{"a":1}]`, `{"list":[{"at":"2025-03-10T09:00Z[x]"}],"b":{}}`, "\x1f\x8b",
		`{"at": 1e400}`, `{"list":["x",{}]}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		_ = objects(bytes.NewReader(file), []string{"list"}, func(_ string, o object) error {
			o.path("a.b.c", "d")
			for _, name := range o.names() {
				if at, err := parseTime(o[name]); err == nil {
					require.True(t, at.Year() >= 1 && at.Year() <= 9999, "%s", o[name])
				}
			}
			return nil
		})
	})
}
