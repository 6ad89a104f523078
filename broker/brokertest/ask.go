package brokertest

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/internal/api"
)

// errDown is Do's error while the broker is down.
var errDown = errors.New("the broker is down: call Restart first")

// Do has the broker carry out any request, with no client and no connection:
// hooks do not see it, and Cut does not hinder it. The version is set to the
// newest that is served. It is the way to look at what no method of Cluster
// shows, and to make what no option makes.
func (c *Cluster) Do(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	c.mu.Lock()
	n := c.mu.node
	if n == nil {
		c.mu.Unlock()
		return nil, errDown
	}
	n.calls.Add(1)
	c.mu.Unlock()
	defer n.calls.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(n.ctx, cancel)()

	versions := kmsg.NewPtrApiVersionsRequest()
	resp, err := n.ask(ctx, versions)
	if err != nil {
		return nil, err
	}
	for _, k := range resp.(*kmsg.ApiVersionsResponse).ApiKeys {
		if k.ApiKey == req.Key() {
			req.SetVersion(min(k.MaxVersion, req.MaxVersion()))
			return n.ask(ctx, req)
		}
	}
	return nil, fmt.Errorf("the broker does not serve %s", kmsg.NameForKey(req.Key()))
}

// ask gives a request to the broker's handler.
func (n *node) ask(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	id := "brokertest"
	call := &api.Call{
		Key: req.Key(), Version: req.GetVersion(), ClientID: &id, Body: req.AppendTo(nil),
		Conn: &api.Conn{
			Listener: "PLAINTEXT", Protocol: "PLAINTEXT", Authenticated: true, Principal: "User:ANONYMOUS",
			Peer: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, Local: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)},
		},
	}
	a, err := n.handler.Serve(ctx, call)
	if err != nil {
		return nil, err
	}
	resp, _, err := decodeAnswer(call, a)
	return resp, err
}

// fill makes the topics and records of the options.
func (c *Cluster) fill() error {
	topics := c.opts.topics
	named := map[string]bool{}
	for _, t := range topics {
		named[t.name] = true
	}
	for _, s := range c.opts.seeds {
		if !named[s.topic] {
			named[s.topic] = true
			topics = append(topics, topic{name: s.topic, partitions: 1})
		}
	}
	if err := c.create(topics); err != nil {
		return err
	}
	for _, s := range c.opts.seeds {
		if err := c.write(context.Background(), s.topic, s.records); err != nil {
			return err
		}
	}
	return nil
}

// create makes topics. One that is in the directory already is left as it is.
func (c *Cluster) create(topics []topic) error {
	if len(topics) == 0 {
		return nil
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	for _, t := range topics {
		rt := kmsg.NewCreateTopicsRequestTopic()
		rt.Topic, rt.NumPartitions, rt.ReplicationFactor = t.name, int32(t.partitions), -1
		for name, value := range t.config {
			rc := kmsg.NewCreateTopicsRequestTopicConfig()
			rc.Name, rc.Value = name, &value
			rt.Configs = append(rt.Configs, rc)
		}
		req.Topics = append(req.Topics, rt)
	}
	resp, err := c.Do(context.Background(), req)
	if err != nil {
		return fmt.Errorf("topics were not made: %w", err)
	}
	var errs []error
	for _, t := range resp.(*kmsg.CreateTopicsResponse).Topics {
		err := kerr.ErrorForCode(t.ErrorCode)
		if err == nil || (c.storage.keep && errors.Is(err, kerr.TopicAlreadyExists)) {
			continue
		}
		if t.ErrorMessage != nil {
			err = fmt.Errorf("%w: %s", err, *t.ErrorMessage)
		}
		errs = append(errs, fmt.Errorf("topic %s was not made: %w", t.Topic, err))
	}
	return errors.Join(errs...)
}
