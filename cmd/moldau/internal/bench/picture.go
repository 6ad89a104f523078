package bench

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
)

// Measures of the picture, in pixels.
const (
	labelWidth = 250
	plotWidth  = 560
	barHeight  = 9
	rowGap     = 10
	topMargin  = 74
	sideMargin = 20
)

// colours are told apart by people who see red and green alike.
var colours = map[string]string{
	nameOurs:   "#0072b2",
	nameHeader: "#56b4e9",
	nameKfake:  "#e69f00",
	nameApache: "#999999",
}

// axis is a logarithmic scale from low to high.
type axis struct{ low, high float64 }

// x is where a value stands, from the left edge of the plot.
func (a axis) x(v float64) float64 {
	v = min(max(v, a.low), a.high)
	return plotWidth * math.Log2(v/a.low) / math.Log2(a.high/a.low)
}

// axisFor spans what is shown, in powers of two.
func axisFor(ratios []float64) axis {
	a := axis{0.5, 4}
	for _, r := range ratios {
		for r > a.high {
			a.high *= 2
		}
		for r < a.low && a.low > 1.0/16 {
			a.low /= 2
		}
	}
	return a
}

// bar is one broker's ratio.
type bar struct {
	name  string
	ratio float64
}

// bars are the ratios of a row that are known, in the order of the peers.
func (f findings) bars(r row) []bar {
	var found []bar
	for _, name := range f.peers {
		if x, known := r.ratio(name); known && name != nameFloor {
			found = append(found, bar{name, x})
		}
	}
	return found
}

// svg draws each workload's ratios to the floor as bars from one to the right;
// one is the floor itself.
func (f findings) svg() string {
	var all []float64
	height := topMargin
	f.rows = slices.DeleteFunc(slices.Clone(f.rows), func(r row) bool { return slices.Contains(r.except, nameFloor) })
	for _, r := range f.rows {
		for _, b := range f.bars(r) {
			all = append(all, b.ratio)
		}
		height += rowHeight(len(f.bars(r)))
	}
	a := axisFor(all)
	bottom := height
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="Helvetica,Arial,sans-serif" font-size="11">`+"\n",
		labelWidth+plotWidth+2*sideMargin+30, bottom+30)
	b.WriteString(`<rect width="100%" height="100%" fill="#ffffff"/>` + "\n")
	fmt.Fprintf(&b, `<text x="%d" y="22" font-size="15" font-weight="bold">CPU for the same work, as a multiple of the floor</text>`+"\n", sideMargin)
	fmt.Fprintf(&b, `<text x="%d" y="38" fill="#555">less is better; end to end: p99 latency; logarithmic; commit %s, %s</text>`+"\n",
		sideMargin, html.EscapeString(f.commit), f.machine.when.Format("2006-01-02"))
	f.drawLegend(&b)
	a.draw(&b, bottom)
	y := topMargin
	for _, r := range f.rows {
		bars, top := f.bars(r), y
		middle := y + len(bars)*barHeight/2 + 4
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", sideMargin+labelWidth-8, middle, html.EscapeString(r.name))
		for _, one := range bars {
			a.drawBar(&b, top, one)
			top += barHeight
		}
		y += rowHeight(len(bars))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// rowHeight has room for the bars of a row, and for its name if there are none.
func rowHeight(bars int) int { return max(bars*barHeight, 12) + rowGap }

func (f findings) drawLegend(b *strings.Builder) {
	x := sideMargin + labelWidth
	for _, name := range f.peers {
		colour, ok := colours[name]
		if !ok {
			continue
		}
		fmt.Fprintf(b, `<rect x="%d" y="47" width="10" height="10" fill="%s"/><text x="%d" y="56">%s</text>`+"\n",
			x, colour, x+14, html.EscapeString(name))
		x += 30 + 6*len(name)
	}
}

// draw draws the lines of the scale.
func (a axis) draw(b *strings.Builder, bottom int) {
	for v := a.low; v <= a.high; v *= 2 {
		x := sideMargin + labelWidth + a.x(v)
		colour, text := "#dddddd", fmt.Sprintf("%g", v)
		if v == 1 {
			colour, text = "#000000", "floor"
		}
		fmt.Fprintf(b, `<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="%s"/>`, x, x, topMargin-6, bottom, colour)
		fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="middle" fill="#555">%s</text>`+"\n", x, bottom+14, text)
	}
}

// drawBar draws from the floor's line to the ratio, left of it if it is less.
func (a axis) drawBar(b *strings.Builder, y int, one bar) {
	from, to := a.x(1), a.x(one.ratio)
	left := sideMargin + labelWidth + min(from, to)
	right := sideMargin + labelWidth + max(from, to)
	fmt.Fprintf(b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`,
		left, y, max(right-left, 1), barHeight-1, colours[one.name])
	fmt.Fprintf(b, `<text x="%.1f" y="%d" font-size="8" fill="#333">%.2f</text>`+"\n", right+3, y+barHeight-2, one.ratio)
}
