package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/pflag"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// value is a flag whose text is checked while the command line is parsed.
type value struct {
	kind  string
	text  string
	parse func(text string) error
}

func (v *value) Type() string   { return v.kind }
func (v *value) String() string { return v.text }

func (v *value) Set(text string) error {
	if err := v.parse(text); err != nil {
		return err
	}
	v.text = text
	return nil
}

// intFlag adds a whole number between low and high, with *into as its default.
func intFlag(f *pflag.FlagSet, into *int, name, shorthand string, low, high int, usage string) {
	check := func(text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < low || n > high {
			return fmt.Errorf("expected a whole number from %d to %d", low, high)
		}
		*into = n
		return nil
	}
	f.VarP(&value{kind: "int", text: fmt.Sprint(*into), parse: check}, name, shorthand,
		fmt.Sprintf("%s (%d to %d)", usage, low, high))
}

// durationFlag adds a duration of at least low, with *into as its default. A default of 0 is the program's.
func durationFlag(f *pflag.FlagSet, into *time.Duration, name string, low time.Duration, usage string) {
	v := &value{kind: "duration", parse: func(text string) error {
		d, err := time.ParseDuration(text)
		if err != nil || d < low {
			return fmt.Errorf("expected a duration such as 30s or 2m, at least %s", low)
		}
		*into = d
		return nil
	}}
	if *into != 0 {
		v.text = into.String()
	}
	f.Var(v, name, usage)
}

// addressFlag adds an address to listen on.
func addressFlag(f *pflag.FlagSet, into *string, name, usage string) {
	f.Var(&value{kind: "address", parse: func(text string) error {
		_, port, err := net.SplitHostPort(text)
		if err == nil {
			_, err = net.LookupPort("tcp", port)
		}
		if err != nil {
			return errors.New("expected an address such as 127.0.0.1:8080 or :8080")
		}
		*into = text
		return nil
	}}, name, usage)
}

// limitFlag adds --limit, with *into as its default.
func limitFlag(f *pflag.FlagSet, into *int, usage string) {
	intFlag(f, into, "limit", "n", 1, 1000, usage)
}

// userFlag adds --user.
func userFlag(f *pflag.FlagSet, into *string, usage string) {
	f.Var(&value{kind: "string", parse: func(text string) error {
		*into = text
		return store.ValidateUserID(text)
	}}, "user", usage)
}

// idFlag adds a flag for the id of a memory.
func idFlag(f *pflag.FlagSet, into *uuid.UUID, name, usage string) {
	f.Var(&value{kind: "id", parse: func(text string) (err error) {
		*into, err = parseID(text)
		return err
	}}, name, usage)
}

var errNoID = errors.New("expected a UUID such as 0198c2f6-7f0e-7bb2-9a52-0d7a51e9f5c1")

func parseID(text string) (uuid.UUID, error) {
	id, err := uuid.Parse(text)
	if err != nil || id == uuid.Nil {
		return uuid.Nil, errNoID
	}
	return id, nil
}

// idArgument parses an argument as the id of a memory.
func idArgument(text string) (uuid.UUID, error) {
	id, err := uuid.Parse(text) // no memory has the nil UUID, but it is a valid one
	if err != nil {
		return id, usagef("invalid memory id %q: %w", text, errNoID)
	}
	return id, nil
}

// objectFlag adds a flag for a JSON object. *into stays nil unless it is given.
func objectFlag(f *pflag.FlagSet, into *any, name, usage string) {
	f.Var(&value{kind: "json", parse: func(text string) error {
		var object map[string]any
		if err := json.Unmarshal([]byte(text), &object); err != nil || object == nil {
			return errors.New(`expected a JSON object such as {"city": "Lund"}`)
		}
		*into = json.RawMessage(text)
		return nil
	}}, name, usage)
}

// typesFlag adds --type for a list of the given memory types.
func typesFlag(f *pflag.FlagSet, into *[]oxbow.MemoryType, usage string, types ...oxbow.MemoryType) {
	f.Var(&value{kind: "strings", parse: func(text string) error {
		for _, word := range strings.Split(text, ",") {
			t := oxbow.MemoryType(strings.TrimSpace(word))
			if !slices.Contains(types, t) {
				return fmt.Errorf("expected %s", or(types))
			}
			*into = append(*into, t)
		}
		return nil
	}}, "type", fmt.Sprintf("%s: %s", usage, or(types)))
}

// typeFlag adds --type for one of the types that an application may store, with *into as its default.
func typeFlag(f *pflag.FlagSet, into *oxbow.MemoryType, usage string) {
	choiceFlag(f, into, "type", usage, oxbow.TypeFact, oxbow.TypeEpisodic, oxbow.TypeDocument)
}

// choiceFlag adds a flag for one of several words, with *into as its default.
func choiceFlag[T ~string](f *pflag.FlagSet, into *T, name, usage string, words ...T) {
	f.Var(&value{kind: "string", text: string(*into), parse: func(text string) error {
		if *into = T(text); !slices.Contains(words, *into) {
			return fmt.Errorf("expected %s", or(words))
		}
		return nil
	}}, name, fmt.Sprintf("%s: %s", usage, or(words)))
}

// modeFlag adds --mode.
func modeFlag(f *pflag.FlagSet, into *oxbow.Mode) {
	modes := []oxbow.Mode{oxbow.ModeNormal, oxbow.ModeReview, oxbow.ModeDebug}
	f.Var(&value{kind: "string", parse: func(text string) error {
		if *into = oxbow.Mode(text); !slices.Contains(modes, *into) {
			return fmt.Errorf("expected %s", or(modes))
		}
		return nil
	}}, "mode", "normal: only what matters; review: also archived memories; debug: also forgotten and ended ones, and why")
}

// moment is a flag for a time, a day, a month or a year. It is read once the user's time zone is known.
type moment struct{ value }

// momentFlag adds a moment.
func momentFlag(f *pflag.FlagSet, name, usage string) *moment {
	m := &moment{value{kind: "time"}}
	m.parse = func(text string) error {
		_, _, err := parsePeriod(text, time.UTC)
		return err
	}
	f.Var(m, name, usage)
	return m
}

// begin returns the first moment of the period, or the zero time if the flag was not given.
func (m *moment) begin(zone *time.Location) time.Time {
	begin, _, _ := parsePeriod(m.text, zone) // Set has checked the text
	return begin
}

// end returns the last moment of the period, or the zero time if the flag was not given.
func (m *moment) end(zone *time.Location) time.Time {
	_, end, _ := parsePeriod(m.text, zone)
	return end
}

// excludes is the annotation that names the flags that a flag excludes.
const excludes = "oxbow_excludes"

// exclude makes a command refuse a flag together with any of the others.
func exclude(f *pflag.FlagSet, name string, others ...string) {
	_ = f.SetAnnotation(name, excludes, others) // fails only for an unknown flag
}

// checkExcluded returns an error if flags are given that exclude each other.
func checkExcluded(f *pflag.FlagSet) (err error) {
	f.Visit(func(flag *pflag.Flag) {
		for _, other := range flag.Annotations[excludes] {
			if f.Changed(other) {
				err = fmt.Errorf("--%s and --%s exclude each other", flag.Name, other)
			}
		}
	})
	return err
}

// variable is the annotation that names a flag's environment variable.
const variable = "oxbow_variable"

// env makes an environment variable the default of a flag.
func env(f *pflag.FlagSet, name, from string) {
	f.Lookup(name).Usage += " ($" + from + ")"
	_ = f.SetAnnotation(name, variable, []string{from}) // fails only for an unknown flag
}

// envs is env for all flags with a prefix: OXBOW_EMBEDDING_URL is the default of --embedding-url.
func envs(f *pflag.FlagSet, prefix string) {
	f.VisitAll(func(flag *pflag.Flag) {
		if strings.HasPrefix(flag.Name, prefix) {
			env(f, flag.Name, "OXBOW_"+strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_")))
		}
	})
}

// readEnvironment sets the flags that the command line leaves out.
func readEnvironment(f *pflag.FlagSet) (err error) {
	f.VisitAll(func(flag *pflag.Flag) {
		from := flag.Annotations[variable]
		if err != nil || flag.Changed || len(from) == 0 {
			return
		}
		if text := os.Getenv(from[0]); text != "" {
			if cause := flag.Value.Set(text); cause != nil {
				err = invalidValue(from[0], text, flag, cause)
			}
		}
	})
	return err
}

// flagError describes a mistake in a flag.
func flagError(err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		return invalidValue("--"+invalid.GetFlag().Name, invalid.GetValue(), invalid.GetFlag(), invalid.Unwrap())
	}
	return err
}

// invalidValue describes a text that a flag refuses, from the command line or an environment variable.
func invalidValue(name, text string, flag *pflag.Flag, cause error) error {
	if _, ours := flag.Value.(*value); !ours {
		switch flag.Value.Type() {
		case "int", "int32", "int64":
			cause = errors.New("expected a whole number")
		case "float64":
			cause = errors.New("expected a number")
		case "bool":
			cause = errors.New("expected true or false")
		case "duration":
			cause = errors.New("expected a duration such as 30s or 2m")
		}
	}
	return usagef("invalid %s %q: %w", name, text, cause)
}
