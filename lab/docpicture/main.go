// Docpicture generates the life of a trait for docs/traits.md: the picture
// docs/life-of-a-trait.svg, and the tables between the page's markers. All numbers come from
// package lifecycle. It also generates the tables of docs/security.md from the catalog of a new database.
//
//	go -C lab run ./docpicture [-check]
//
// -check writes nothing, and fails if a file is out of date.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

func main() {
	check := flag.Bool("check", false, "write nothing, fail if a file is out of date")
	docs := flag.String("docs", "../docs", "the directory of the documents")
	flag.Parse()
	stale, err := update(context.Background(), *docs, !*check)
	for _, file := range stale {
		if *check {
			err = fmt.Errorf("out of date: run go -C lab run ./docpicture")
			fmt.Fprintln(os.Stderr, file)
		} else {
			fmt.Println(file)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "docpicture:", err)
		os.Exit(1)
	}
}

// update returns the files that are out of date, and writes them if it may.
func update(ctx context.Context, docs string, write bool) (stale []string, err error) {
	security, err := securityTables(ctx)
	if err != nil {
		return nil, err
	}
	type file struct {
		name    string
		content []byte
	}
	var files []file
	for _, page := range []struct {
		name   string
		tables map[string]func() string
	}{{"traits.md", tables}, {"security.md", security}} {
		name := filepath.Join(docs, page.name)
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		filled, err := fill(text, page.tables)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		files = append(files, file{name, filled})
	}
	files = append(files, file{filepath.Join(docs, "life-of-a-trait.svg"), []byte(picture(tell(story)))})
	for _, f := range files {
		old, err := os.ReadFile(f.name)
		if err == nil && bytes.Equal(old, f.content) {
			continue
		}
		if err != nil && !os.IsNotExist(err) {
			return stale, err
		}
		stale = append(stale, f.name)
		if write {
			if err := os.WriteFile(f.name, f.content, 0o644); err != nil {
				return stale, err
			}
		}
	}
	return stale, nil
}

var marked = regexp.MustCompile(`(?s)(<!-- docpicture: (\w+) -->\n).*?(<!-- end -->)`)

// fill puts the tables between their markers. The page must contain each once.
func fill(page []byte, tables map[string]func() string) ([]byte, error) {
	found := map[string]int{}
	page = marked.ReplaceAllFunc(page, func(old []byte) []byte {
		m := marked.FindSubmatch(old)
		name := string(m[2])
		found[name]++
		if table, there := tables[name]; there {
			return fmt.Appendf(nil, "%s\n%s\n%s", m[1], table(), m[3])
		}
		return old
	})
	for name := range tables {
		if found[name] != 1 {
			return nil, fmt.Errorf("table %q: found its markers %d times instead of once", name, found[name])
		}
	}
	if len(found) != len(tables) {
		return nil, fmt.Errorf("markers without a table: %v", found)
	}
	return page, nil
}
