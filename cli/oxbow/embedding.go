package main

import (
	"os"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/oxbow-memory/oxbow/internal/embedding/providers"
)

// embeddingFlags choose the embedding provider. Each defaults to an environment variable.
type embeddingFlags struct {
	cfg     providers.Config
	invalid error // an invalid environment variable
}

// add adds the flags to a command. prefix distinguishes them from the command's other flags.
func (f *embeddingFlags) add(flags *pflag.FlagSet) {
	f.cfg.APIKey = os.Getenv("OXBOW_EMBEDDING_API_KEY") // not a flag: other users could see it in the process list
	flags.StringVar(&f.cfg.Provider, "embedding-provider", os.Getenv("OXBOW_EMBEDDING_PROVIDER"),
		"local, openai (any server with OpenAI's API) or ollama ($OXBOW_EMBEDDING_PROVIDER, default local)")
	flags.StringVar(&f.cfg.Model, "embedding-model", os.Getenv("OXBOW_EMBEDDING_MODEL"),
		"the provider's model ($OXBOW_EMBEDDING_MODEL)")
	flags.IntVar(&f.cfg.Dimension, "embedding-dimension", f.number("OXBOW_EMBEDDING_DIMENSION"),
		"the length of its vectors ($OXBOW_EMBEDDING_DIMENSION)")
	flags.StringVar(&f.cfg.URL, "embedding-url", os.Getenv("OXBOW_EMBEDDING_URL"),
		"the server, if it is not the provider's usual one ($OXBOW_EMBEDDING_URL)")
	flags.BoolVar(&f.cfg.SendDimension, "embedding-send-dimension", f.yes("OXBOW_EMBEDDING_SEND_DIMENSION"),
		"ask the server for vectors of that length ($OXBOW_EMBEDDING_SEND_DIMENSION)")
	flags.DurationVar(&f.cfg.Timeout, "embedding-timeout", f.duration("OXBOW_EMBEDDING_TIMEOUT"),
		"limit of one request ($OXBOW_EMBEDDING_TIMEOUT, default 30s, for ollama 2m)")
	flags.IntVar(&f.cfg.BatchSize, "embedding-batch-size", f.number("OXBOW_EMBEDDING_BATCH_SIZE"),
		"how many texts one request has ($OXBOW_EMBEDDING_BATCH_SIZE, default 128)")
	// The zero value of each flag keeps help from showing its default: the usage text names the
	// default, so that help is the same on every machine.
	for name, zero := range map[string]string{"provider": "", "model": "", "dimension": "0", "url": "", "send-dimension": "false",
		"timeout": "0s", "batch-size": "0"} {
		flags.Lookup("embedding-" + name).DefValue = zero
	}
}

// config returns the chosen configuration. An error names the variable and its value.
func (f *embeddingFlags) config() (providers.Config, error) { return f.cfg, f.invalid }

func (f *embeddingFlags) number(name string) int {
	return parsed(f, name, "a number", strconv.Atoi)
}

func (f *embeddingFlags) yes(name string) bool {
	return parsed(f, name, "true or false", strconv.ParseBool)
}

func (f *embeddingFlags) duration(name string) time.Duration {
	return parsed(f, name, "a duration such as 30s", time.ParseDuration)
}

func parsed[T any](f *embeddingFlags, name, what string, parse func(string) (T, error)) (value T) {
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
