package main

import (
	"os"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/oxbow-memory/oxbow/worker"
)

// reasonerFlags choose the reasoner. Each has an environment variable of the same name.
type reasonerFlags struct {
	now     string
	invalid error
}

func (f *reasonerFlags) add(flags *pflag.FlagSet, cfg *worker.Config) {
	text := func(name, variable, usage string, into *string) {
		flags.StringVar(into, name, os.Getenv(variable), usage+" ($"+variable+")")
		flags.Lookup(name).DefValue = ""
	}
	text("reasoner-provider", "OXBOW_REASONER_PROVIDER", "rules (the default), openai or ollama", &cfg.Reasoner.Provider)
	text("reasoner-model", "OXBOW_REASONER_MODEL", "the language model's name", &cfg.Reasoner.Model)
	text("reasoner-url", "OXBOW_REASONER_URL", "the server, if it is not the provider's usual one", &cfg.Reasoner.URL)
	flags.DurationVar(&cfg.Reasoner.Timeout, "reasoner-timeout", environment(f, "OXBOW_REASONER_TIMEOUT", "a duration such as 90s", time.ParseDuration),
		"limit of one request ($OXBOW_REASONER_TIMEOUT)")
	flags.Lookup("reasoner-timeout").DefValue = "0s"
	flags.Int64Var(&cfg.DailyTokens, "reasoner-daily-tokens", environment(f, "OXBOW_REASONER_DAILY_TOKENS", "a number",
		func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }),
		"how many tokens the reflections of a user may take in 24 hours ($OXBOW_REASONER_DAILY_TOKENS, default: any number)")
	flags.Lookup("reasoner-daily-tokens").DefValue = "0"
	flags.StringVar(&f.now, "now", "", "set the clock of reflection to a day's end (2025-12-31) or a time, in UTC, for data that lies in the past")
}

// complete sets the key, which is never a flag, and the clock.
func (f *reasonerFlags) complete(cfg *worker.Config) error {
	if f.invalid != nil {
		return f.invalid
	}
	cfg.Reasoner.APIKey = os.Getenv("OXBOW_REASONER_API_KEY")
	if cfg.Reasoner.APIKey == "" {
		cfg.Reasoner.APIKey = os.Getenv("OPENAI_API_KEY")
	}
	if f.now == "" {
		return nil
	}
	at, err := parsePeriod("now", f.now, time.UTC)
	if err != nil {
		return err
	}
	cfg.Now = func() time.Time { return at.end }
	return nil
}

func environment[T any](f *reasonerFlags, name, what string, parse func(string) (T, error)) (value T) {
	text := os.Getenv(name)
	if text == "" {
		return value
	}
	value, err := parse(text)
	if err != nil && f.invalid == nil {
		f.invalid = usagef("%s is %q, which is not %s", name, text, what)
	}
	return value
}
