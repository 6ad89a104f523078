package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// table is what a command prints: columns for people, and the same as JSON for
// programs, one object a row.
type table struct {
	columns []string // Upper case; in JSON lower case with underscores.
	rows    [][]any
}

func newTable(columns ...string) *table { return &table{columns: columns, rows: [][]any{}} }

func (t *table) add(cells ...any) {
	if len(cells) != len(t.columns) {
		panic(fmt.Sprintf("BUG: a row of %d cells in a table of %d columns", len(cells), len(t.columns)))
	}
	t.rows = append(t.rows, cells)
}

// print writes the table in the format that the user chose.
func (a *app) print(cmd *cobra.Command, t *table) error {
	if a.format == "json" {
		return t.writeJSON(cmd.OutOrStdout())
	}
	return t.writeText(cmd.OutOrStdout())
}

func (t *table) writeText(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, strings.Join(t.columns, "\t"))
	for _, row := range t.rows {
		cells := make([]string, len(row))
		for i, c := range row {
			cells[i] = text(c)
		}
		fmt.Fprintln(tw, strings.TrimRight(strings.Join(cells, "\t"), "\t"))
	}
	return tw.Flush()
}

// text is a cell as people read it; nothing is a dash.
func text(c any) string {
	switch v := c.(type) {
	case nil:
		return "-"
	case string:
		if v == "" {
			return "-"
		}
		return v
	case []int32:
		parts := make([]string, len(v))
		for i, n := range v {
			parts[i] = strconv.Itoa(int(n))
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	return fmt.Sprint(c)
}

func (t *table) writeJSON(w io.Writer) error {
	out := make([]map[string]any, len(t.rows))
	for i, row := range t.rows {
		out[i] = map[string]any{}
		for j, c := range row {
			out[i][strings.ReplaceAll(strings.ToLower(t.columns[j]), " ", "_")] = c
		}
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}
