package chaos

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// checked is the result of a check.
type checked struct {
	name       string
	looked     int // rows that it compared
	violations int
}

// checker reads an idle system in one snapshot. After an error its queries return nothing.
type checker struct {
	ctx      context.Context
	tx       pgx.Tx
	ledger   *ledger
	provider *provider
	app      string // a login of oxbow_app
	report   func(Violation)
	err      error
}

// checks run in this order. Each reports violations and returns the number of rows that it compared.
var checks = []struct {
	name string
	look func(*checker) int
}{
	{"nothing acknowledged is missing, nothing rolled back exists", (*checker).writes},
	{"no request is done twice", (*checker).posted},
	{"no mark is out of place", (*checker).marks},
	{"every memory is embedded once", (*checker).vectors},
	{"the vector indexes are correct", (*checker).vectorIndex},
	{"every memory is indexed once", (*checker).terms},
	{"every message is extracted once", (*checker).messages},
	{"repeated facts are merged", (*checker).repeats},
	{"merged memories stand for their originals", (*checker).merges},
	{"replaced facts have a reason", (*checker).replaced},
	{"every memory is reflected on once", (*checker).reflections},
	{"traits agree with their events and evidence", (*checker).traits},
	{"what people said of answers, want and intend has its effects once", (*checker).learned},
	{"the webhook took what is due", (*checker).delivered},
	{"strategies are tried, adopted and rolled back", (*checker).strategies},
	{"no orphans", (*checker).orphans},
	{"no job is stuck", (*checker).jobs},
	{"a login of oxbow_app sees only its user", (*checker).isolation},
}

func (k *checker) violate(check, user, id, where, expected, found string) {
	k.report(Violation{Check: check, User: user, ID: id, Where: where, Expected: expected, Found: found})
}

// all runs all checks.
func (k *checker) all() (made []checked, err error) {
	report := k.report
	defer func() { k.report = report }()
	for _, c := range checks {
		this := checked{name: c.name}
		k.report = func(v Violation) {
			this.violations++
			if this.violations <= 20 {
				report(v)
			}
		}
		this.looked = c.look(k)
		if k.err != nil {
			return made, fmt.Errorf("check %q: %w", c.name, k.err)
		}
		made = append(made, this)
	}
	return made, nil
}

// check runs all checks on the run's database, and oxbow check.
func (r *run) check(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, r.postgres.dsn())
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // nothing was changed
	k := &checker{ctx: ctx, tx: tx, ledger: r.ledger, provider: r.provider, app: appRole, report: r.violate}
	if r.checks, err = k.all(); err != nil {
		return err
	}
	k.each(`select state, count(*) from oxbow.strategies group by state`, func(c []string) {
		r.strategies[c[0]], k.err = strconv.Atoi(c[1])
	})
	if k.err != nil {
		return k.err
	}
	own := checked{name: "oxbow check finds no problem", looked: 1}
	out, err := r.command(ctx, r.postgres.dsn(), "check").CombinedOutput()
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		own.violations++
		r.violate(Violation{Check: "oxbow check", Expected: "no problems",
			Found: fmt.Sprintf("%v\n%s", ended, strings.TrimSpace(string(out)))})
	} else if err != nil {
		return err
	}
	r.checks = append(r.checks, own)
	return nil
}

// each runs a query and hands over its rows, whose columns it reads as texts; null is empty. It returns their number.
func (k *checker) each(sql string, do func(columns []string), args ...any) (n int) {
	if k.err != nil {
		return 0
	}
	rows, err := k.tx.Query(k.ctx, sql, append([]any{pgx.QueryResultFormats{pgx.TextFormatCode}}, args...)...)
	if err != nil {
		k.err = fmt.Errorf("%w: %s", err, sql)
		return 0
	}
	defer rows.Close()
	for rows.Next() {
		raw := rows.RawValues()
		columns := make([]string, len(raw))
		for i, value := range raw {
			columns[i] = string(value)
		}
		do(columns)
		n++
	}
	if err := rows.Err(); err != nil {
		k.err = fmt.Errorf("%w: %s", err, sql)
	}
	return n
}

// none reports each row of a query that should return none: user, id and finding.
func (k *checker) none(check, expected, sql string, args ...any) {
	k.each(sql, func(c []string) { k.violate(check, c[0], c[1], "", expected, c[2]) }, args...)
}

// rule is a query that returns a row for each violation: user, id and finding.
type rule struct{ check, expected, sql string }

func (k *checker) rules(all []rule) {
	for _, r := range all {
		k.none(r.check, r.expected, r.sql)
	}
}

func (k *checker) exec(sql string, args ...any) { k.each(sql, func([]string) {}, args...) }

func (k *checker) count(from string) (n int) {
	k.each("select count(*) from "+from, func(c []string) { n, k.err = strconv.Atoi(c[0]) })
	return n
}
