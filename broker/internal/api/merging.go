package api

// merging puts together the answers of topics that come in pieces, one entry a topic, in
// the order in which each was first heard of.
type merging[T any] struct {
	topics []T
	places map[string]int // By topic, so that many of them do not look for each other.
	join   func(into *T, more T)
}

func newMerging[T any](join func(into *T, more T)) *merging[T] {
	return &merging[T]{places: make(map[string]int), join: join}
}

func (m *merging[T]) add(topic string, more T) {
	if i, ok := m.places[topic]; ok {
		m.join(&m.topics[i], more)
		return
	}
	m.places[topic] = len(m.topics)
	m.topics = append(m.topics, more)
}
