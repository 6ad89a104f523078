package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Target is the broker that is measured, and the topic that is used.
type Target struct {
	// Bootstrap is one or more addresses, host:port.
	Bootstrap []string
	// PID is the broker's process if it runs on this machine, else 0.
	PID int
	// Topic is used if it exists. If it is empty the driver makes a topic of its
	// own, and deletes it afterwards.
	Topic string
	// Partitions is how many a topic of the driver's own gets.
	Partitions int
	// TopicConfigs are the settings of a topic of the driver's own.
	TopicConfigs map[string]string
}

// client makes a client of the target.
func (t Target) client(opts ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(t.Bootstrap...), kgo.ClientID("moldau-bench")}, opts...)...)
}

// topic returns the name of the topic to use, and what removes it if it is the
// driver's own.
func (t Target) topic(ctx context.Context) (name string, remove func(), err error) {
	if t.Topic != "" {
		return t.Topic, func() {}, nil
	}
	cl, err := t.client()
	if err != nil {
		return "", nil, err
	}
	adm := kadm.NewClient(cl)
	name = fmt.Sprintf("moldau-bench-%d", time.Now().UnixNano())
	configs := map[string]*string{}
	for key, value := range t.TopicConfigs {
		configs[key] = &value
	}
	resp, err := adm.CreateTopic(ctx, int32(max(t.Partitions, 1)), 1, configs, name)
	if err == nil {
		err = resp.Err
	}
	if err == nil {
		err = awaitLeaders(ctx, adm, name)
	}
	if err != nil {
		adm.Close()
		return "", nil, fmt.Errorf("the topic %s could not be created on %v: %w", name, t.Bootstrap, err)
	}
	return name, func() {
		defer adm.Close()
		// What is left of a run that was interrupted is removed too.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		_, _ = adm.DeleteTopics(ctx, name)
	}, nil
}

// awaitLeaders returns when every partition of a new topic has a leader: Kafka
// answers CreateTopics before its brokers know the topic.
func awaitLeaders(ctx context.Context, adm *kadm.Client, name string) error {
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		topics, err := adm.ListTopics(ctx, name)
		if err != nil {
			return err
		}
		detail := topics[name]
		err = detail.Err
		for _, p := range detail.Partitions {
			if err == nil {
				err = p.Err
			}
		}
		if err == nil && len(detail.Partitions) > 0 {
			return nil
		}
		if err != nil && !kerr.IsRetriable(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-again.C:
		}
	}
}
