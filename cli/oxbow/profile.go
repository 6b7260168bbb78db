package main

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"
)

func profileCommand(a *app) *cobra.Command {
	var sets []string
	cmd := &cobra.Command{
		Use:   "profile USER",
		Short: "Show or change the profile values of a user",
		Long: `Show the values that an application keeps about a user. --set KEY=VALUE stores one, as JSON or as a text;
KEY= deletes it. Keys such as occupation, interests and values become facts (see oxbow.profile_mapping).`,
		Example: `  oxbow profile ada --set occupation=carpenter --set 'interests=["boats", "bread"]'`,
		Args:    cobra.ExactArgs(1),
	}
	f := cmd.Flags()
	f.StringArrayVar(&sets, "set", nil, "KEY=VALUE to store first; may be repeated")
	a.jsonFlag(f)
	cmd.RunE = a.onUser(func(ctx context.Context, u *user, _ []string) error {
		for _, set := range sets {
			key, text, ok := strings.Cut(set, "=")
			if !ok {
				return usagef("--set %q is not KEY=VALUE", set)
			}
			var value any = text
			if json.Valid([]byte(text)) {
				value = json.RawMessage(text)
			} else if text == "" {
				value = nil
			}
			if _, err := u.client.SetValue(ctx, u.id, key, value); err != nil {
				return err
			}
		}
		values, err := u.client.Profile(ctx, u.id)
		if err != nil {
			return err
		}
		return u.output(values, func() {
			if len(values) == 0 {
				u.say("User %q has no profile values.", u.id)
				return
			}
			t := u.table("key", "~value", "#facts", "updated")
			for _, v := range values {
				t.add(v.Key, string(v.Value), v.Facts, v.UpdatedAt)
			}
			t.print()
		})
	})
	return cmd
}

func emotionsCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "emotions USER",
		Short: "Show how a user felt, and about what",
		Long: `Show the emotional profile of a user, computed from the emotions of memories: the baseline, the mood of the
last days, the people, things and contexts whose memories differ from the baseline, what calms, and the last
weeks.
Valence is -1 (unpleasant) to 1, arousal 0 (calm) to 1.`,
		Example: `  oxbow emotions ada`,
		Args:    cobra.ExactArgs(1),
	}
	f := cmd.Flags()
	now := momentFlag(f, "now", "the profile at this time (default: now)")
	a.jsonFlag(f)
	cmd.RunE = a.onUser(func(ctx context.Context, u *user, _ []string) error {
		feelings, err := u.client.EmotionProfile(ctx, u.id, now.end(u.zone))
		if err != nil {
			return err
		}
		return u.output(feelings, func() {
			if len(feelings) == 0 {
				u.say("No memory of user %q has an emotion.", u.id)
				return
			}
			t := u.table("aspect", "name", "#valence", "#arousal", "#shift", "#memories")
			for _, e := range feelings {
				t.add(e.Aspect, e.Name, e.Valence, e.Arousal, e.Shift, e.Memories)
			}
			t.print()
		})
	})
	return cmd
}
