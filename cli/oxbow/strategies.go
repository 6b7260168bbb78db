package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow/store"
)

func strategiesCommand(a *app) *cobra.Command {
	limit := 50
	var adopt, rollback, why int64
	var mode, language string
	cmd := &cobra.Command{
		Use:   "strategies",
		Short: "Show which policies were tried and changed, and change them",
		Long: `Show the strategies (changes of policies) that the job molt proposed, tried on past replies, adopted and
rolled back, the latest first, and the mode of the job:

  off      it does nothing
  suggest  it tries changes, and --adopt adopts them
  auto     it adopts changes that gain`,
		Example: `  oxbow strategies --mode suggest
  oxbow strategies --adopt 7
  oxbow strategies --rollback 7
  oxbow strategies --why 7`,
		Args: cobra.NoArgs,
	}
	f := cmd.Flags()
	limitFlag(f, &limit, "number of versions to show")
	f.Int64Var(&adopt, "adopt", 0, "set the policies of this version first")
	f.Int64Var(&rollback, "rollback", 0, "restore the policies that this version replaced first")
	choiceFlag(f, &mode, "mode", "set this mode first", store.MoltModes...)
	f.Int64Var(&why, "why", 0, "explain this version in sentences instead")
	f.StringVar(&language, "language", "en", "`language` of the sentences: en or zh")
	cmd.MarkFlagsMutuallyExclusive("adopt", "rollback", "why")
	cmd.MarkFlagsMutuallyExclusive("mode", "why")
	a.jsonFlag(f)
	cmd.RunE = a.onDatabase(func(ctx context.Context, d *database, _ []string) error {
		if why != 0 {
			reasons, err := store.WhyStrategy(ctx, d.pool, why, language)
			if err != nil {
				return err
			}
			return d.output(reasons, func() {
				for _, r := range reasons {
					d.printf("%s\n", r.Sentence)
				}
			})
		}
		if mode != "" {
			if err := store.SetMoltMode(ctx, d.pool, mode); err != nil {
				return err
			}
		}
		var err error
		if adopt != 0 {
			err = store.AdoptStrategy(ctx, d.pool, adopt)
		}
		if rollback != 0 {
			err = errors.Join(err, store.RollbackStrategy(ctx, d.pool, rollback))
		}
		if err != nil {
			return err
		}
		strategies, err := store.Strategies(ctx, d.pool, limit)
		if err != nil {
			return err
		}
		now, err := store.MoltMode(ctx, d.pool)
		if err != nil {
			return err
		}
		shown := struct {
			Mode       string           `json:"mode"`
			Strategies []store.Strategy `json:"strategies"`
		}{now, strategies}
		return d.output(shown, func() {
			d.printf("The mode is %s.\n", shown.Mode)
			if len(strategies) == 0 {
				return
			}
			d.printf("\n")
			t := d.table("#version", "at", "state", "|changes", "metric", "#before", "#after", "|cause")
			for _, s := range strategies {
				before, after := "", ""
				var changes []string
				for _, c := range s.Policies {
					changes = append(changes, c.String())
				}
				if s.Metric != "" {
					before, after = fmt.Sprintf("%.3f", s.MetricBefore), fmt.Sprintf("%.3f", s.MetricAfter)
				}
				t.add(s.Version, s.At, s.State, strings.Join(changes, ", "), s.Metric, before, after, s.Cause)
			}
			t.print()
		})
	})
	return cmd
}
