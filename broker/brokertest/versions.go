package brokertest

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/moldau-broker/moldau/broker/internal/api"
	"github.com/moldau-broker/moldau/broker/internal/server"
)

// limited serves no API above the version that highest says, and none of which it
// says false.
type limited struct {
	next    server.Handler
	highest func(key int16) (int16, bool)
}

// limit puts MaxVersions before a handler.
func limit(next server.Handler, highest func(key int16) (int16, bool)) server.Handler {
	if highest == nil {
		return next
	}
	return limited{next, highest}
}

// Serve implements server.Handler.
func (l limited) Serve(ctx context.Context, call *api.Call) (api.Answer, error) {
	top, ok := l.highest(call.Key)
	asksVersions := call.Key == int16(kmsg.ApiVersions)
	switch {
	case !ok:
		return api.Answer{}, &api.UnsupportedError{Key: call.Key, Version: call.Version, Min: -1, Max: -1}
	case call.Version > top && asksVersions:
		resp := kmsg.NewPtrApiVersionsResponse()
		resp.ErrorCode = kerr.UnsupportedVersion.Code
		k := kmsg.NewApiVersionsResponseApiKey()
		k.ApiKey, k.MaxVersion = call.Key, top
		resp.ApiKeys = append(resp.ApiKeys, k)
		return encodeAnswer(call, resp), nil
	case call.Version > top:
		return api.Answer{}, &api.UnsupportedError{Key: call.Key, Version: call.Version, Max: top}
	}
	a, err := l.next.Serve(ctx, call)
	if err != nil || !asksVersions {
		return a, err
	}
	resp, _, err := decodeAnswer(call, a)
	if err != nil {
		return api.Answer{}, err
	}
	l.cap(resp.(*kmsg.ApiVersionsResponse))
	return encodeAnswer(call, resp), nil
}

// cap takes out of an answer what is not served.
func (l limited) cap(resp *kmsg.ApiVersionsResponse) {
	var kept []kmsg.ApiVersionsResponseApiKey
	for _, k := range resp.ApiKeys {
		top, ok := l.highest(k.ApiKey)
		if k.MaxVersion = min(k.MaxVersion, top); ok && k.MinVersion <= k.MaxVersion {
			kept = append(kept, k)
		}
	}
	resp.ApiKeys = kept
}
