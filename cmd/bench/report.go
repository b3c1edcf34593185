package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// pair holds the results of both servers in a scenario.
type pair struct {
	left, right sample
	problem     string // reason why it was not measured; "" if it was
}

// row is one line of the main table.
type row struct {
	scenario scenario
	normal   pair
	full     *pair // nil if the scenario only reads
}

// printRows prints the main table and the problems below it. If beside is set, the table shows the
// processor time of the database's own processes. Otherwise it has columns for synchronous=FULL.
func printRows(w io.Writer, rows []row, beside bool) {
	head := []string{"scenario", "floor µs", "restsrv µs", "ratio", "must", "held", "floor req/s", "restsrv req/s",
		"floor p99", "restsrv p99", "failed"}
	if beside {
		head = append(head, "floor db µs", "restsrv db µs")
	} else {
		head = append(head, "FULL µs", "FULL ratio", "FULL req/s")
	}
	lines := [][]string{head}
	var notes []string
	for _, r := range rows {
		line := append([]string{r.scenario.name}, r.normal.normalCells(r.scenario.must)...)
		if beside {
			line = append(line, r.normal.besideCells()...)
		} else {
			line = append(line, r.full.fullCells()...)
		}
		lines = append(lines, line)
		for _, p := range []*pair{&r.normal, r.full} {
			notes = append(notes, p.problemNotes(r.scenario.name)...)
		}
	}
	printTable(w, lines)
	for _, n := range notes {
		fmt.Fprintln(w, "! "+n)
	}
}

// besideCells returns the cells for the database's own processes.
func (p *pair) besideCells() []string {
	if p.problem != "" {
		return []string{"-", "-"}
	}
	return []string{microText(p.left.perAnswer(p.left.database)), microText(p.right.perAnswer(p.right.database))}
}

// normalCells returns the cells for synchronous=NORMAL.
func (p *pair) normalCells(must target) []string {
	ratio, wanted, held := p.compare(must)
	if p.problem != "" {
		return []string{"-", "-", "-", wanted, "-", "-", "-", "-", "-", "-"}
	}
	return []string{microText(p.left.perRequest()), microText(p.right.perRequest()), ratio, wanted, held,
		medianRate(&p.left), medianRate(&p.right), milliText(p99(&p.left)), milliText(p99(&p.right)),
		fmt.Sprintf("%d/%d", p.left.failed, p.right.failed)}
}

// fullCells returns the cells for synchronous=FULL: floor / restsrv.
func (p *pair) fullCells() []string {
	if p == nil {
		return []string{"", "", ""}
	}
	if p.problem != "" {
		return []string{"-", "-", "-"}
	}
	ratio, _, _ := p.compare(target{ratio: 1})
	return []string{microText(p.left.perRequest()) + " / " + microText(p.right.perRequest()), ratio, medianRate(&p.left) + " / " + medianRate(&p.right)}
}

// compare compares the processor times of the right and the left server for the main table. must is
// the goal. The result is the text of three cells: got has the measured ratio or difference, wanted
// has the goal, and held is "yes" or "no".
func (p *pair) compare(must target) (got, wanted, held string) {
	left, right := p.left.perRequest(), p.right.perRequest()
	if must.extra > 0 {
		wanted = fmt.Sprintf("+%s µs", microText(must.extra))
		return fmt.Sprintf("%+.1f µs", float64(right-left)/1e3), wanted, yesNo(right-left <= must.extra)
	}
	if must.ratio > 0 {
		wanted = strings.TrimSuffix(fmt.Sprintf("%.2f", must.ratio), "0")
	}
	if left == 0 || right == 0 {
		return "-", wanted, "-"
	}
	ratio := float64(right) / float64(left)
	if must.ratio == 0 {
		return fmt.Sprintf("%.2f", ratio), "", ""
	}
	return fmt.Sprintf("%.2f", ratio), wanted, yesNo(ratio <= must.ratio)
}

func yesNo(ok bool) string {
	if ok {
		return "yes"
	}
	return "no"
}

// problemNotes returns lines about failures in a scenario.
func (p *pair) problemNotes(name string) []string {
	if p == nil {
		return nil
	}
	if p.problem != "" {
		return []string{name + ": not measured: " + p.problem}
	}
	var all []string
	for i, side := range []string{"floor", "restsrv"} {
		s := [...]*sample{&p.left, &p.right}[i]
		if s.failed > 0 {
			all = append(all, fmt.Sprintf("%s: %d of %d requests to %s failed, the first with: %s",
				name, s.failed, s.failed+s.answered, side, s.fault))
		}
	}
	return all
}

// printTable writes a Markdown table. The first line is the head.
func printTable(w io.Writer, lines [][]string) {
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	for i, line := range lines {
		fmt.Fprintf(t, "| %s\t|\n", strings.Join(line, "\t| "))
		if i == 0 {
			fmt.Fprintf(t, "|%s\n", strings.Repeat("---\t|", len(line)))
		}
	}
	t.Flush()
}

// percentile returns the smallest value v such that at least the given share of all values is at
// most v. For example, share is 0.99 for the 99th percentile. It returns 0 if there are no values.
func percentile[T cmp.Ordered](values []T, share float64) T {
	var none T
	if len(values) == 0 {
		return none
	}
	sorted := slices.Sorted(slices.Values(values))
	n := int(share * float64(len(sorted)))
	if float64(n) < share*float64(len(sorted)) {
		n++
	}
	return sorted[max(n, 1)-1]
}

func p99(s *sample) time.Duration { return percentile(s.latencies, 0.99) }

// medianRate returns the median of the requests per second of the rounds.
func medianRate(s *sample) string { return fmt.Sprintf("%.0f", percentile(s.rates, 0.5)) }

func microText(d time.Duration) string {
	us := float64(d) / 1e3
	if us >= 100 {
		return fmt.Sprintf("%.0f", us)
	}
	return fmt.Sprintf("%.1f", us)
}

func milliText(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d)/1e6) }

func mebiText(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
