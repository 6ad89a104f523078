package kafkatools

import (
	"regexp"
	"slices"
	"strings"
)

// isInternalTopic says whether a topic is one that Kafka keeps for itself.
func isInternalTopic(name string) bool {
	return slices.Contains([]string{"__consumer_offsets", "__transaction_state", "__share_group_state"}, name)
}

// includeList reads a list of topics as Kafka's tools take it: a regular
// expression for the whole name, in which a comma is another way to write "or",
// and quotes around it and blanks do not count. The expressions are RE2's, which
// have no look-around and no back-references.
func includeList(list string) (func(topic string) bool, error) {
	expr := strings.ReplaceAll(strings.ReplaceAll(strings.TrimSpace(list), ",", "|"), " ", "")
	expr = strings.TrimRight(strings.TrimLeft(expr, `"'`), `"'`)
	re, err := regexp.Compile(`^(?:` + expr + `)$`)
	if err != nil {
		return nil, &failure{"java.lang.RuntimeException", expr + " is an invalid regex."}
	}
	return re.MatchString, nil
}
