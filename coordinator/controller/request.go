package controller

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Request is what a Shard is asked. The answer is the kmsg response to Body, of
// the same version.
type Request struct {
	// Body is one of the requests that handlers lists (shard.go).
	Body kmsg.Request
	// Describable tells whose settings CreateTopics may answer; nil is all topics.
	Describable func(topic string) bool
	// Local says that the broker in the controller's own process asks. It registers
	// at once, although the session of its last incarnation, which ended with the
	// process, still runs.
	Local bool
}

// Refusal is why a request, or a part of it, was turned down.
type Refusal struct {
	Kerr    *kerr.Error
	Message string // For the client; "" is null.
}

func (r *Refusal) Error() string { return r.Kerr.Message + ": " + r.Message }

// Unwrap is the Kafka error.
func (r *Refusal) Unwrap() error { return r.Kerr }

// refuse makes a refusal with a message of its own.
func refuse(k *kerr.Error, format string, args ...any) *Refusal {
	return &Refusal{k, fmt.Sprintf(format, args...)}
}

// refuseBare makes a refusal with the message that belongs to the code.
func refuseBare(k *kerr.Error) *Refusal { return &Refusal{k, k.Description} }

// refuseSilent makes a refusal without a message, as Kafka does where it throws an
// exception that has none.
func refuseSilent(k *kerr.Error) *Refusal { return &Refusal{Kerr: k} }

// code and text are the fields of a response; a nil refusal is success.
func (r *Refusal) code() int16 {
	if r == nil {
		return 0
	}
	return r.Kerr.Code
}

func (r *Refusal) text() *string {
	if r == nil || r.Message == "" {
		return nil
	}
	return &r.Message
}
