package scenario

import (
	"sync"
)

// answered notes which versions of which APIs were answered, and whether every
// answer was what its version says. Several scenarios note at once.
type answered struct {
	mu       sync.Mutex
	versions map[[2]int16]Version
}

// Version is one version of an API, and what the scenarios saw of it.
type Version struct {
	Version  int16 `json:"version"`
	Answered bool  `json:"answered,omitempty"`
	Unsound  bool  `json:"unsound,omitempty"` // An answer could not be read, or had bytes too many.
}

// note takes an answer down; err says why it could not be read, nil if it could.
func (a *answered) note(key, version int16, err error) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.versions == nil {
		a.versions = make(map[[2]int16]Version)
	}
	v := a.versions[[2]int16{key, version}]
	v.Answered, v.Unsound = true, v.Unsound || err != nil
	a.versions[[2]int16{key, version}] = v
}

// mostVersions bounds what is told of an API that advertises thousands.
const mostVersions = 256

// between are the versions from lo to hi.
func (a *answered) between(key, lo, hi int16) []Version {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []Version
	for v := int(lo); v <= int(hi) && len(all) < mostVersions; v++ { // An int16 could not pass the highest.
		one := a.versions[[2]int16{key, int16(v)}]
		one.Version = int16(v)
		all = append(all, one)
	}
	return all
}
