// Datasets converts public data sets to the files that oxbow eval reads.
//
//	go -C lab run ./datasets -to DIR [-from NAME=PATH]… [NAME…]
//
//	go -C lab run ./datasets -agreement FILE
//
// It writes DIR/NAME.jsonl for each named set, by default for all. A set is cloned from its public repository at a
// pinned commit; -from names a clone of that repository instead, which may be a bare one. Two sets have no public
// repository in this format and need -from with a file: locomo and lifebench-zh. -agreement prints how well the comparison
// of oxbow eval with the points of realmem.jsonl agrees with a person.
//
// A loader opens only the files that it names, and converts only the parts that its comment names. The other parts of a
// set are held out for independent tests, so the project does not load them. The data must not be added to this
// repository, because its license does not cover the data.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/oxbow-memory/oxbow/lab/must"
)

// set is a data set. One without a repository must be given as a file.
type set struct {
	name    string
	url     string // public address of the git repository
	commit  string // whose files are read
	convert func(*repository) []line
}

var sets = []set{
	{name: "locomo"},
	{name: "lifebench-zh"},
	realmem, memdaily, madialChinese, madialEnglish,
	precision, precisionScoped, precisionSessions,
}

func main() {
	must.Main("datasets", func(ctx context.Context) { command(ctx, os.Stdout, os.Args[1:]) })
}

func command(ctx context.Context, out io.Writer, args []string) {
	from := map[string]string{}
	flags := flag.NewFlagSet("datasets", flag.ExitOnError)
	to := flags.String("to", "", "directory of the converted files")
	flags.Func("from", "NAME=PATH: a clone of the set's repository, or the file of a set without one", func(s string) error {
		name, path, ok := strings.Cut(s, "=")
		if !ok {
			return errors.New("expected NAME=PATH")
		}
		from[name] = path
		return nil
	})
	judged := flags.String("agreement", "", "the converted RealMem: print how well the comparison with points agrees with a person")
	must.OK(flags.Parse(args))
	if *judged != "" {
		agreement(ctx, out, *judged)
		return
	}
	if *to == "" {
		must.OK(errors.New("name a directory with -to"))
	}
	chosen := must.Get(choose(flags.Args()))
	must.OK(os.MkdirAll(*to, 0o755))
	for _, s := range chosen {
		n := s.write(ctx, filepath.Join(*to, s.name+".jsonl"), from[s.name])
		fmt.Fprintf(out, "%s: %s\n", s.name, n)
	}
}

func choose(names []string) ([]set, error) {
	if len(names) == 0 {
		return sets, nil
	}
	var chosen []set
	for _, name := range names {
		i := slices.IndexFunc(sets, func(s set) bool { return s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("unknown set %q", name)
		}
		chosen = append(chosen, sets[i])
	}
	return chosen, nil
}

// write writes the set's file and returns the counts of its lines.
func (s set) write(ctx context.Context, name, from string) tally {
	if s.convert == nil {
		if from == "" {
			must.OK(fmt.Errorf("%s has no public repository in this format: give -from %s=FILE", s.name, s.name))
		}
		return unpack(from, name)
	}
	repo := &repository{dir: from, commit: s.commit}
	if from == "" {
		dir := must.Get(os.MkdirTemp("", "datasets-"))
		defer func() { must.OK(os.RemoveAll(dir)) }()
		repo.clone(ctx, dir, s.url)
	}
	return writeLines(name, s.convert(repo))
}
