package txn

import "github.com/twmb/franz-go/pkg/kerr"

// idBatch is how many producer ids are asked for at least. They are needed only for
// new transactional ids, and once in 32,000 transactions of an old one, and what is
// left when the shard moves is lost: a few save most of the trips.
const idBatch = 10

// takeID takes a producer id from stock. It is used up even if the step is refused.
func (s *Shard) takeID() (int64, bool) {
	if s.nextID == s.endID {
		return noID, false
	}
	s.nextID++
	return s.nextID - 1, true
}

// park keeps a question until there are producer ids. It is then decided anew, for
// much may have happened.
func (s *Shard) park(q question) {
	s.waiting = append(s.waiting, q)
	s.want()
}

// want asks for producer ids, unless that was done.
func (s *Shard) want() {
	if s.flags.wanting {
		return
	}
	s.flags.wanting = true
	s.eff.Sends = append(s.eff.Sends, WantProducerIDs{Count: int32(max(idBatch, len(s.waiting)))})
}

// refill takes producer ids into stock and decides what waited for them. If there
// are none the clients are told to ask again; Kafka's code for that is the one that
// old clients do not take for fatal.
func (s *Shard) refill(in ProducerIDs) {
	waiting := s.waiting
	s.waiting, s.flags.wanting = nil, false
	if in.Count <= 0 {
		for _, q := range waiting {
			s.refuse(q, kerr.CoordinatorLoadInProgress.Code)
		}
		return
	}
	s.nextID, s.endID = in.First, in.First+int64(in.Count)
	for _, q := range waiting {
		s.ask(q)
	}
	if s.flags.starved {
		s.flags.starved = false
		s.scan()
	}
}
