package differential

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Step is one request of a world, in the world's own names.
type Step struct {
	// Number is the step's place in the world as it was drawn.
	Number int
	// API and Version are what is asked; both brokers advertise it.
	API     kmsg.Key
	Version int16
	// Reads says that the request changes nothing and may be asked again.
	Reads bool

	build func(v *view) kmsg.Request // Draws nothing: both brokers are asked the same.
	learn func(v *view, resp kmsg.Response)
}

// request is what one broker is asked.
func (s Step) request(v *view) kmsg.Request {
	req := s.build(v)
	req.SetVersion(s.Version)
	return req
}
