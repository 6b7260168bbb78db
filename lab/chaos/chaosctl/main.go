// Chaosctl runs seeds of package chaos, and exits with status 1 if one has violations.
//
//	chaosctl [--minutes 1] [--binary bin/oxbow-failpoints] [SEED | FROM-TO]...
//
// Without a seed it picks one at random.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/oxbow-memory/oxbow/lab/chaos"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	failed, err := run(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaosctl:", err)
	}
	if err != nil || failed {
		os.Exit(1)
	}
}

func run(ctx context.Context) (failed bool, err error) {
	minutes := flag.Float64("minutes", 1, "duration of each seed, without the healing after it")
	binary := flag.String("binary", "bin/oxbow-failpoints", "oxbow, built with -tags failpoints")
	hurry := flag.Bool("hurry", false, "requeue the jobs of killed workers at once")
	flag.Parse()
	seeds, err := seedsOf(flag.Args())
	if err != nil {
		return false, err
	}
	path, err := filepath.Abs(*binary)
	if err != nil {
		return false, err
	}
	var bad []string
	for _, seed := range seeds {
		result, err := chaos.Run(ctx, chaos.Options{Seed: seed,
			Duration: time.Duration(*minutes * float64(time.Minute)), Binary: path, Hurry: *hurry, Out: os.Stdout,
			Notes: os.Stderr})
		again := fmt.Sprintf("make chaos SEED=%d MINUTES=%g", seed, *minutes)
		if errors.Is(err, context.Canceled) && ctx.Err() != nil {
			return true, errors.Join(fmt.Errorf("interrupted; to run it again: %s", again), os.RemoveAll(result.Dir))
		}
		if err != nil {
			return true, fmt.Errorf("seed %d: %w\nlogs: %s\nto run it again: %s", seed, err, result.Dir, again)
		}
		if len(result.Violations) == 0 {
			continue
		}
		bad = append(bad, fmt.Sprint(seed))
		fmt.Printf("\nseed %d failed: %d violations\nlogs: %s\nto run it again: %s\n\n", seed, len(result.Violations),
			result.Dir, again)
	}
	if len(seeds) > 1 {
		fmt.Printf("%d seeds, %d failed %s\n", len(seeds), len(bad), strings.Join(bad, " "))
	}
	return len(bad) > 0, nil
}

// seedsOf parses seeds and ranges of seeds.
func seedsOf(args []string) (seeds []uint64, err error) {
	for _, arg := range args {
		from, to, isRange := strings.Cut(arg, "-")
		if !isRange {
			to = from
		}
		first, err1 := strconv.ParseUint(from, 10, 64)
		last, err2 := strconv.ParseUint(to, 10, 64)
		if err := errors.Join(err1, err2); err != nil || last < first || last-first > 10000 {
			return nil, fmt.Errorf("%q is not a seed or a range of at most 10,000 seeds, such as 1-20", arg)
		}
		for seed := first; seed <= last; seed++ {
			seeds = append(seeds, seed)
		}
	}
	if len(seeds) == 0 {
		seeds = []uint64{uint64(rand.Uint32())}
	}
	return seeds, nil
}
