package broker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestResolveListeners(t *testing.T) {
	for name, tc := range map[string]struct {
		listen   string
		settings map[string]string
		want     []listener
		wantErr  string
	}{
		"nothing set": {
			want: []listener{{Name: "PLAINTEXT", Protocol: "PLAINTEXT", Host: "localhost", Port: 9092, AdvertisedHost: "localhost"}},
		},
		"a free port": {
			listen: "127.0.0.1:0",
			want:   []listener{{Name: "PLAINTEXT", Protocol: "PLAINTEXT", Host: "127.0.0.1", AdvertisedHost: "127.0.0.1"}},
		},
		"every interface advertises what the client reached": {
			settings: map[string]string{"listeners": "PLAINTEXT://:9092"},
			want:     []listener{{Name: "PLAINTEXT", Protocol: "PLAINTEXT", Port: 9092}},
		},
		"Kafka's own single node compose file": {
			settings: map[string]string{
				"listeners":                      "CONTROLLER://:29093,PLAINTEXT_HOST://:9092,PLAINTEXT://:19092",
				"advertised.listeners":           "PLAINTEXT_HOST://localhost:9092,PLAINTEXT://broker:19092",
				"listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,PLAINTEXT_HOST:PLAINTEXT",
				"controller.listener.names":      "CONTROLLER",
				"controller.quorum.voters":       "1@broker:29093",
				"inter.broker.listener.name":     "PLAINTEXT",
			},
			want: []listener{
				{Name: "PLAINTEXT_HOST", Protocol: "PLAINTEXT", Port: 9092, AdvertisedHost: "localhost", AdvertisedPort: 9092},
				{Name: "PLAINTEXT", Protocol: "PLAINTEXT", Port: 19092, AdvertisedHost: "broker", AdvertisedPort: 19092},
			},
		},
		"a trailing comma and a dash in a name": {
			settings: map[string]string{
				"listeners":                      "TC-0://0.0.0.0:9092",
				"advertised.listeners":           "TC-0://localhost:49153,",
				"listener.security.protocol.map": "tc-0:plaintext",
			},
			want: []listener{{Name: "TC-0", Protocol: "PLAINTEXT", Host: "0.0.0.0", Port: 9092, AdvertisedHost: "localhost", AdvertisedPort: 49153}},
		},
		"an IPv6 address": {
			settings: map[string]string{"listeners": "PLAINTEXT://[::1]:9092"},
			want:     []listener{{Name: "PLAINTEXT", Protocol: "PLAINTEXT", Host: "::1", Port: 9092, AdvertisedHost: "::1"}},
		},
		"encryption asked for": {
			settings: map[string]string{"listeners": "SSL://:9093"},
			wantErr:  "PLAINTEXT only",
		},
		"no protocol for a name": {
			settings: map[string]string{"listeners": "INSIDE://:9093"},
			wantErr:  "add INSIDE:PLAINTEXT",
		},
		"advertised wildcard": {
			settings: map[string]string{"advertised.listeners": "PLAINTEXT://0.0.0.0:9092"},
			wantErr:  "clients cannot connect to 0.0.0.0",
		},
		"advertised without a listener": {
			settings: map[string]string{"advertised.listeners": "OUTSIDE://h:9092"},
			wantErr:  "OUTSIDE is not in listeners",
		},
		"two listeners on a port": {
			settings: map[string]string{
				"listeners":                      "A://:9092,B://:9092",
				"listener.security.protocol.map": "A:PLAINTEXT,B:PLAINTEXT",
			},
			wantErr: "A and B have the same port 9092",
		},
		"no port":         {settings: map[string]string{"listeners": "PLAINTEXT://host"}, wantErr: "NAME://HOST:PORT"},
		"port too large":  {settings: map[string]string{"listeners": "PLAINTEXT://host:70000"}, wantErr: "0 to 65535"},
		"controller only": {settings: map[string]string{"listeners": "CONTROLLER://:9093"}, wantErr: "no listener for clients"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := resolve(Config{Dir: "d", Listen: tc.listen, Settings: tc.settings})
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Fatalf("error %v, want one about %q", err, tc.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, s.listeners); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestResolveSettings(t *testing.T) {
	for name, tc := range map[string]struct {
		settings map[string]string
		wantErr  string // Part of the error; empty for none.
		warning  string // Part of a warning; empty for none at all.
	}{
		"ranges are Kafka's": {
			map[string]string{"num.partitions": "0"}, "Value must be at least 1", "",
		},
		"an unknown name warns": {map[string]string{"heap.opts": "x"}, "", "heap.opts it is not one of Kafka's"},
		"an authorizer's setting warns": {
			map[string]string{"super.users": "User:a"}, "", "super.users it is for an authorizer, which this release does not have",
		},
		"the authorizer's other setting": {
			map[string]string{"allow.everyone.if.no.acl.found": "true"}, "", "it is for an authorizer",
		},
		"a setting of tiered storage": {map[string]string{"rsm.config.dir": "/x"}, "", "it is for tiered storage"},
		"settings of TLS and SASL warn together": {
			map[string]string{
				"ssl.keystore.location": "/k", "sasl.enabled.mechanisms": "PLAIN", "ssl.client.auth": "none",
				"listener.name.plaintext.plain.sasl.jaas.config": "x;",
			},
			"",
			"listener.name.plaintext.plain.sasl.jaas.config, sasl.enabled.mechanisms, ssl.keystore.location every listener is PLAINTEXT",
		},
		"a default of TLS stays unspoken": {map[string]string{"ssl.client.auth": "none"}, "", ""},
		"a name of old warns":             {map[string]string{"zookeeper.connect": "zk:2181"}, "", "zookeeper.connect it was taken out"},
		"an authorizer is refused":        {map[string]string{"authorizer.class.name": "org.apache.X"}, "authorizer.class.name", ""},
		"an empty authorizer is none":     {map[string]string{"authorizer.class.name": ""}, "", ""},
		"broker.id names the node":        {map[string]string{"broker.id": "7", "controller.quorum.voters": "7@h:9093"}, "", ""},
		"another node's voter":            {map[string]string{"controller.quorum.voters": "2@h:9093"}, "not this node's, 1", ""},
		"three voters":                    {map[string]string{"controller.quorum.voters": "1@a:1,2@b:1,3@c:1"}, "cluster of one node", ""},
		"node ids from 0":                 {map[string]string{"node.id": "-1"}, "at least 0", ""},
		"node 0":                          {map[string]string{"node.id": "0", "controller.quorum.voters": "0@h:9093"}, "", ""},
		"encryption between brokers":      {map[string]string{"security.inter.broker.protocol": "SSL"}, "PLAINTEXT only", ""},
		"a broker alone":                  {map[string]string{"process.roles": "broker"}, "broker,controller", ""},
		"two directories":                 {map[string]string{"log.dirs": "/a,/b"}, "name one", ""},
		"inert settings stay unspoken":    {map[string]string{"num.io.threads": "4"}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := resolve(Config{Settings: tc.settings})
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Fatalf("error %v, want one about %q", err, tc.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprintln(s.warnings); len(s.warnings) > 0 && tc.warning == "" && got != "" || !strings.Contains(got, tc.warning) {
				t.Errorf("warnings %q, want one about %q", got, tc.warning)
			}
		})
	}
}
