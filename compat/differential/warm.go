package differential

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// warmNames are so many that each partition of the coordinators' topics has one.
const warmNames = 64

// warm waits until a broker's coordinators serve: their topics are made when they
// are first asked for.
func (s *side) warm(ctx context.Context) error {
	for kind := range int8(2) {
		find := kmsg.NewPtrFindCoordinatorRequest()
		find.Version, find.CoordinatorType, find.CoordinatorKeys = 4, kind, []string{s.view.name("warm")}
		groups := kmsg.NewPtrDescribeGroupsRequest()
		groups.Version = 5
		txns := kmsg.NewPtrDescribeTransactionsRequest()
		for i := range warmNames {
			groups.Groups = append(groups.Groups, s.view.name(fmt.Sprint("warm", i)))
			txns.TransactionalIDs = append(txns.TransactionalIDs, s.view.name(fmt.Sprint("warm", i)))
		}
		requests := []kmsg.Request{find, groups}
		if kind == 1 {
			requests[1] = txns
		}
		for _, req := range requests {
			for until := time.Now().Add(time.Minute); ; {
				a := s.exchange(ctx, req, false)
				if a.err != nil {
					return a.err
				}
				if !passing.MatchString(s.view.normalise(a.response).String()) {
					break
				}
				if time.Now().After(until) {
					return fmt.Errorf("the coordinators do not serve: %s", s.view.normalise(a.response))
				}
				if err := rest(ctx, retryEvery); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// warm does so with both.
func (f Fuzzer) warm(ctx context.Context) error {
	w := newWorld(f.Here, f.There, "fz-", 0, 0, nil)
	defer w.close()
	for _, s := range w.sides {
		if err := s.warm(ctx); err != nil {
			return fmt.Errorf("%s: %w", s.addr, err)
		}
	}
	return nil
}
