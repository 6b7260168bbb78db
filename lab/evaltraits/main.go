// Evaltraits measures which known interests of people the traits show.
//
//	go -C lab run ./evaltraits [-json] [-reasoner-model NAME …] RECORDS PERSONAS
//
// RECORDS is a file for oxbow eval, of which only the memories are used. PERSONAS is a JSON object:
//
//	{"USER": {"name": N, "interests": [{"kind": K, "name": N, "match": [WORD, …]}, …]}, …}
//
// It loads the memories into a database of its own on the tests' PostgreSQL, embeds them, and
// reflects on each person with the clock at the end of the person's records. An interest is seen
// when a trait of stage emerging or higher contains one of its words; a trait counts for one
// interest. The exit status is 1 if a trait is in a sensitive category.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"text/tabwriter"

	"github.com/oxbow-memory/oxbow/internal/sensitive"
	"github.com/oxbow-memory/oxbow/worker"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "evaltraits:", err)
		os.Exit(1)
	}
}

func command(ctx context.Context, out io.Writer) error {
	asJSON := flag.Bool("json", false, "print JSON")
	var reasoner worker.ReasonerConfig
	flag.StringVar(&reasoner.Provider, "reasoner-provider", "",
		"provider of a model that reflects: openai, ollama (default: the rules)")
	flag.StringVar(&reasoner.Model, "reasoner-model", "", "the provider's name for the model")
	flag.StringVar(&reasoner.URL, "reasoner-url", "", "the provider's server")
	reasoner.APIKey = os.Getenv("OXBOW_REASONER_API_KEY")
	flag.Parse()
	if flag.NArg() != 2 {
		return errors.New("name two files: RECORDS PERSONAS")
	}
	people, err := os.ReadFile(flag.Arg(1))
	if err != nil {
		return err
	}
	personas, err := ReadPersonas(bytes.NewReader(people))
	if err != nil {
		return fmt.Errorf("%s: %w", flag.Arg(1), err)
	}
	traits, err := reflectOn(ctx, flag.Arg(0), reasoner)
	if err != nil {
		return err
	}
	report := SeenInterests(personas, traits, sensitive.Category)
	if *asJSON {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return cmp.Or(encoder.Encode(report), report.refused())
	}
	t := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "person\tinterests seen\tof\ttraits\tmissed")
	for _, p := range report.Persons {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%s\n", p.User, p.Seen, p.Total, p.Traits, strings.Join(p.Missed, ", "))
	}
	fmt.Fprintf(t, "all\t%d\t%d\tat most %d\n", report.Seen, report.Total, report.Most)
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%.1f %% of the interests were seen.\n", 100*report.Share)
	return report.refused()
}

// refused returns an error that names the traits in sensitive categories.
func (r TraitReport) refused() (err error) {
	for _, p := range r.Persons {
		for _, s := range p.Sensitive {
			err = errors.Join(err, fmt.Errorf("sensitive (%s), of %s: %s", s.Category, p.User, s.Trait))
		}
	}
	return err
}
