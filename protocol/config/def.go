package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Type is the type of a setting, with the number that DescribeConfigs v3 and
// later answer (org.apache.kafka.common.requests.DescribeConfigsResponse).
type Type int8

// The types of settings.
const (
	Boolean  Type = 1
	String   Type = 2
	Int      Type = 3
	Short    Type = 4
	Long     Type = 5
	Double   Type = 6
	List     Type = 7
	ClassRef Type = 8 // A Java class name.
	Password Type = 9 // Never shown.
)

// String is Kafka's name of the type, as its error messages print it.
func (t Type) String() string {
	return [...]string{
		"UNKNOWN", "BOOLEAN", "STRING", "INT", "SHORT", "LONG", "DOUBLE", "LIST", "CLASS", "PASSWORD",
	}[t]
}

// Class says what Moldau does with a setting.
type Class int8

const (
	// Inert settings are accepted, checked and described, and change nothing:
	// there is no such machinery here (purgatories, thread pools, JMX).
	Inert Class = iota
	// Works means that the setting does what Kafka's documentation says.
	Works
	// Rejected settings stop the start: ignoring them would break a promise
	// that the user asked for (encryption, authentication).
	Rejected
)

// String is the word that `moldau config` prints.
func (c Class) String() string {
	return [...]string{"accepted without effect", "works", "rejected"}[c]
}

// Update says how a broker setting may change while the broker runs.
type Update int8

const (
	// ReadOnly settings change with a restart, and only in server.properties.
	ReadOnly Update = iota
	// PerBroker settings are dynamic, for one broker.
	PerBroker
	// ClusterWide settings are dynamic, for one broker or for all.
	ClusterWide
)

// Def is one setting.
type Def struct {
	Name    string
	Type    Type
	Default string // As DescribeConfigs prints it; see NoDefault.
	// NoDefault means that the value is null when nobody sets it.
	NoDefault bool
	Class     Class
	Update    Update
	// Doc is one sentence of what the setting does.
	Doc string
	// Synonyms are, for a topic setting, the broker settings that give its
	// default, strongest first.
	Synonyms []Synonym
	// Internal settings work but are not described.
	Internal bool

	check check
}

// Synonym is a broker setting that gives a topic setting its default.
type Synonym struct {
	Name string
	// Factor turns its unit into the topic setting's: hours to milliseconds is
	// 3,600,000.
	Factor int64
}

// Sensitive reports whether the value must never be shown.
func (d *Def) Sensitive() bool { return d.Type == Password }

// A ValueError says why a setting cannot have a value. Its text is Kafka's.
type ValueError struct {
	Name, Value string
	Why         string
}

func (e *ValueError) Error() string {
	return fmt.Sprintf("Invalid value %s for configuration %s: %s", e.Value, e.Name, e.Why)
}

// A ListError says why a list cannot be the value of a setting. Its text is
// Kafka's.
type ListError struct {
	Name string
	Why  string
}

func (e *ListError) Error() string { return fmt.Sprintf("Configuration '%s' %s", e.Name, e.Why) }

// Normalize checks a value and returns it in the form that Kafka shows: trimmed,
// booleans in lower case, lists with single commas. The error is a *ValueError
// or a *ListError.
func (d *Def) Normalize(value string) (string, error) {
	v := strings.TrimSpace(value)
	var err error
	switch d.Type {
	case Boolean:
		v = strings.ToLower(v)
		if v != "true" && v != "false" {
			err = d.bad(value, "Expected value to be either true or false")
		}
	case Int, Short, Long:
		v, err = d.integer(value, v)
	case Double:
		f, perr := strconv.ParseFloat(strings.TrimRight(v, "fFdD"), 64)
		if perr != nil || v == "" {
			return "", d.bad(value, "Not a number of type "+d.Type.String())
		}
		if d.check.number != nil {
			err = d.wrap(v, d.check.number(f))
		}
		v = javaDouble(f)
	case List:
		items := SplitList(v)
		if d.check.list != nil {
			if why := d.check.list(items); why != "" {
				err = &ListError{d.Name, why}
			}
		}
		if err == nil && d.check.text != nil {
			for _, item := range items {
				if why := d.check.text(item); why != "" {
					return "", d.bad(item, why)
				}
			}
		}
		v = strings.Join(items, ",")
	default:
		if d.check.text != nil {
			err = d.wrap(v, d.check.text(v))
		}
	}
	if err != nil {
		return "", err
	}
	return v, nil
}

// javaDouble is how Java prints a double, and so how Kafka describes one: with at
// least one digit behind the point, and an exponent from 10^7 up and below 10^-3.
func javaDouble(f float64) string {
	if abs := math.Abs(f); abs == 0 || 1e-3 <= abs && abs < 1e7 {
		s := strconv.FormatFloat(f, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	mantissa, exponent, ok := strings.Cut(strconv.FormatFloat(f, 'E', -1, 64), "E")
	if !ok {
		return mantissa // Infinity and NaN.
	}
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	n, _ := strconv.Atoi(exponent) // It was just formatted.
	return mantissa + "E" + strconv.Itoa(n)
}

// integer checks a whole number of the setting's width and range.
func (d *Def) integer(given, v string) (string, error) {
	bits := map[Type]int{Short: 16, Int: 32, Long: 64}[d.Type]
	n, err := strconv.ParseInt(v, 10, bits)
	if err != nil {
		return "", d.bad(given, "Not a number of type "+d.Type.String())
	}
	if d.check.number != nil {
		// Kafka compares as double too, so that bounds near 2^63 round alike.
		if why := d.check.number(float64(n)); why != "" {
			return "", d.bad(v, why)
		}
	}
	return strconv.FormatInt(n, 10), nil
}

func (d *Def) bad(value, why string) error { return &ValueError{d.Name, value, why} }

func (d *Def) wrap(value, why string) error {
	if why == "" {
		return nil
	}
	return d.bad(value, why)
}

// SplitList cuts a comma-separated value as Kafka does: white space around the
// commas goes, an empty value is an empty list.
func SplitList(v string) []string {
	v = strings.TrimSpace(v)
	if v == "" {
		return nil
	}
	items := strings.Split(v, ",")
	for i := range items {
		items[i] = strings.TrimSpace(items[i])
	}
	return items
}

// check holds what a setting demands of its value, apart from its type. Each
// function returns why not, or "".
type check struct {
	number func(float64) string
	text   func(string) string
	list   func([]string) string
}

func atLeast(least int64) check {
	return check{number: func(f float64) string {
		if f < float64(least) {
			return fmt.Sprintf("Value must be at least %d", least)
		}
		return ""
	}}
}

func between(least, most int64) check {
	return check{number: func(f float64) string {
		switch {
		case f < float64(least):
			return fmt.Sprintf("Value must be at least %d", least)
		case f > float64(most):
			return fmt.Sprintf("Value must be no more than %d", most)
		}
		return ""
	}}
}

// either is a range with single values allowed beside it (compression levels).
func either(why string, ok func(int64) bool) check {
	return check{number: func(f float64) string {
		if f != math.Trunc(f) || !ok(int64(f)) {
			return why
		}
		return ""
	}}
}

func oneOf(words ...string) check {
	return check{text: func(v string) string {
		if !slices.Contains(words, v) {
			return "String must be one of: " + strings.Join(words, ", ")
		}
		return ""
	}}
}

// listOf demands distinct, non-empty items, of the given words if there are any.
func listOf(emptyAllowed bool, words ...string) check {
	c := check{list: func(items []string) string {
		if len(items) == 0 && !emptyAllowed {
			if len(words) == 0 {
				return "must not be empty. Valid values include: any non-empty value"
			}
			return "must not be empty. Valid values include: [" + strings.Join(words, ", ") + "]"
		}
		seen := make(map[string]bool, len(items))
		for _, item := range items {
			if seen[item] {
				return "values must not be duplicated."
			}
			seen[item] = true
		}
		if seen[""] {
			return "values must not be empty."
		}
		return ""
	}}
	if len(words) > 0 {
		c.text = oneOf(words...).text
	}
	return c
}
