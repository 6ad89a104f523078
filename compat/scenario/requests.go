package scenario

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Advertised are the versions of an API that the broker advertises.
func (t *T) Advertised(key kmsg.Key) kmsg.ApiVersionsResponseApiKey {
	return t.target.versions[key.Int16()]
}

// Has says whether the broker advertises that version of an API.
func (t *T) Has(key kmsg.Key, version int16) bool {
	k, ok := t.target.versions[key.Int16()]
	return ok && k.MinVersion <= version && version <= k.MaxVersion
}

// Newest is the highest advertised version of an API up to limit.
func (t *T) Newest(key kmsg.Key, limit int16) int16 {
	k, ok := t.target.versions[key.Int16()]
	if !ok || k.MinVersion > limit {
		t.NotApplicable("%s up to version %d is not advertised", key.Name(), limit)
	}
	return min(limit, k.MaxVersion)
}

// Each runs f for every advertised version of an API from lo to hi.
func (t *T) Each(key kmsg.Key, lo, hi int16, f func(version int16)) {
	any := false
	for v := lo; v <= hi; v++ {
		if !t.Has(key, v) {
			continue
		}
		any = true
		t.part = fmt.Sprintf("%s v%d", key.Name(), v)
		f(v)
	}
	t.part = ""
	if !any {
		t.NotApplicable("%s %d to %d is not advertised", key.Name(), lo, hi)
	}
}

// Ask sends a request on the first connection and returns its response.
func Ask[R kmsg.Response](t *T, version int16, req kmsg.Request) R {
	return AskOn[R](t, t.Conn(), version, req)
}

// AskOn sends a request on a connection and returns its response.
func AskOn[R kmsg.Response](t *T, c *Conn, version int16, req kmsg.Request) R {
	if !t.Has(kmsg.Key(req.Key()), version) {
		t.NotApplicable("%s version %d is not advertised", kmsg.NameForKey(req.Key()), version)
	}
	req.SetVersion(version)
	resp, err := c.Do(req)
	if err != nil {
		t.Fatalf("%s version %d: %v", kmsg.NameForKey(req.Key()), version, err)
	}
	return resp.(R)
}

// Receive reads the response of a request that was sent.
func Receive[R kmsg.Response](t *T, c *Conn, p Pending) R {
	resp, err := c.Receive(p)
	if err != nil {
		t.Fatalf("%s: %v", kmsg.NameForKey(p.Request.Key()), err)
	}
	return resp.(R)
}

// Send writes a request and does not wait.
func (t *T) Send(c *Conn, version int16, req kmsg.Request) Pending {
	req.SetVersion(version)
	p, err := c.Send(req)
	if err != nil {
		t.Fatalf("send %s: %v", kmsg.NameForKey(req.Key()), err)
	}
	return p
}
