package bench

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Page writes a report into a page of Markdown: a heading for each section, with what it was measured on and its tables.
// Sections that the page has and the report does not, or that failed, stay as they are. What stands before the first section stays, too.
func (r Report) Page(page string) string {
	head, old := parsePage(page)
	if strings.TrimSpace(head) == "" {
		head = pageHead
	}
	for _, s := range r.Sections {
		if s.Error == "" {
			old[s.Name] = r.markdown(s)
		}
	}
	var out strings.Builder
	out.WriteString(strings.TrimRight(head, "\n") + "\n")
	for _, name := range Sections() {
		if text, ok := old[name]; ok {
			out.WriteString("\n" + strings.TrimSpace(text) + "\n")
		}
	}
	return out.String()
}

const pageHead = `# Benchmarks

Written by ` + "`oxbow bench --page`" + `: each section by the run that is named in it. Rates and times depend on the machine and on what
else it does; what is compared is measured in turns within one run, so that the ratios say more.
`

var sectionHeading = regexp.MustCompile(`(?m)^## (\S+)$`)

// parsePage divides a page into what comes before the first section, and the sections by their names.
func parsePage(page string) (head string, sections map[string]string) {
	sections = map[string]string{}
	at := sectionHeading.FindAllStringSubmatchIndex(page, -1)
	if len(at) == 0 {
		return page, sections
	}
	for i, m := range at {
		end := len(page)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		sections[page[m[2]:m[3]]] = page[m[0]:end]
	}
	return page[:at[0][0]], sections
}

func (r Report) markdown(s Section) string {
	var out strings.Builder
	fmt.Fprintf(&out, "## %s\n\nMeasured on %s with seed %d, in %s: %s. Load average before %s, after %s.\n",
		s.Name, s.Began.Format("2006-01-02"), r.Seed, time.Duration(s.Seconds)*time.Second, r.Machine, s.LoadBefore, s.LoadAfter)
	for _, t := range s.Tables {
		fmt.Fprintf(&out, "\n%s\n\n| %s |\n|%s\n", t.Title, strings.Join(t.Columns, " | "), strings.Repeat("---|", len(t.Columns)))
		for _, row := range t.Rows {
			cells := make([]string, len(row))
			for i, c := range row {
				cells[i] = strings.ReplaceAll(string(c), "|", `\|`)
			}
			fmt.Fprintf(&out, "| %s |\n", strings.Join(cells, " | "))
		}
	}
	return out.String()
}
