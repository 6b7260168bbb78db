// Evaltraits measures which known interests of people the traits show.
//
//	go -C lab run ./evaltraits [-list] [-nights N] [-reasoner-model NAME …] RECORDS PERSONAS
//
// RECORDS is a file for oxbow eval, of which only the memories are used. PERSONAS is a JSON object:
//
//	{"USER": {"interests": [{"name": N, "match": [WORD, …]}, …]}, …}
//
// It loads the memories into its own database on the tests' PostgreSQL, embeds them, and reflects on each person with
// the clock at the end of the person's records. A trait of stage emerging or higher shows an interest if it contains
// one of its words; it counts for one interest. With -list, all traits are printed, so that a reader can judge them.
// With -nights, deep reflections follow, each within its budget. The exit status is 1 if a trait is in a sensitive
// category.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/oxbow-memory/oxbow/internal/sensitive"
	"github.com/oxbow-memory/oxbow/lab/must"
	"github.com/oxbow-memory/oxbow/worker"
)

func main() {
	must.Main("evaltraits", func(ctx context.Context) { command(ctx, os.Stdout) })
}

func command(ctx context.Context, out io.Writer) {
	var reasoner worker.ReasonerConfig
	flag.StringVar(&reasoner.Provider, "reasoner-provider", "",
		"provider of a model that reflects: openai, ollama (default: the rules)")
	flag.StringVar(&reasoner.Model, "reasoner-model", "", "the provider's name for the model")
	flag.StringVar(&reasoner.URL, "reasoner-url", "", "the provider's server")
	nights := flag.Int("nights", 0, "deep reflections (the job sleep) of each person after that")
	list := flag.Bool("list", false, "list the traits")
	reasoner.APIKey = os.Getenv("OXBOW_REASONER_API_KEY")
	flag.Parse()
	if flag.NArg() != 2 {
		must.OK(errors.New("name two files: RECORDS PERSONAS"))
	}
	personas := must.Get(readPersonas(must.Get(os.Open(flag.Arg(1)))))
	traits := reflectOn(ctx, out, flag.Arg(0), reasoner, *nights)
	var seen, total, most int
	var refused error
	t := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "person\tinterests seen\tof\ttraits\tmissed")
	for _, p := range personas {
		mine := traits[p.user]
		if *list {
			for _, trait := range mine {
				fmt.Fprintf(out, "%s: %s\n", p.user, trait)
			}
		}
		missed := p.missed(mine)
		n := len(p.Interests)
		seen, total, most = seen+n-len(missed), total+n, max(most, len(mine))
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%s\n", p.user, n-len(missed), n, len(mine), strings.Join(missed, ", "))
		for _, trait := range mine {
			if category, ok := sensitive.Category(trait); ok {
				refused = errors.Join(refused, fmt.Errorf("sensitive (%s), of %s: %s", category, p.user, trait))
			}
		}
	}
	fmt.Fprintf(t, "all\t%d\t%d\tat most %d\n", seen, total, most)
	must.OK(t.Flush())
	fmt.Fprintf(out, "\n%.1f %% of the interests were seen.\n", 100*float64(seen)/float64(max(total, 1)))
	must.OK(refused)
}
