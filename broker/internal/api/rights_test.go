package api

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// rightsRow is one request, and what a client is answered that has all the rights to
// it or lacks some. A right is written "READ TOPIC t".
type rightsRow struct {
	name string
	req  func() kmsg.Request
	// suffice are sets of rights, each of which is enough, without any other, for the
	// answer served.
	suffice []string
	served  string
	without []lacking
	// operations says that the answer tells of all operations on a topic whether the
	// client may, which TestAuthorizedOperations looks at instead.
	operations bool
}

// lacking is what a client is answered that has every right but these.
type lacking struct{ rights, want string }

// rightsTable is every route and every right that its handler asks for. The answers are
// as KafkaApis, ControllerApis, AuthHelper and ConfigAdminManager of Kafka make them.
var rightsTable = slices.Concat(rightsOfTopics, rightsOfRecords, rightsOfCluster, rightsOfConfigs, rightsOfGroups, rightsOfOffsets, rightsOfTransactions)

// rightsIn takes a list of rights apart.
func rightsIn(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, "; ")
}

// authorizer grants rights and remembers for which it was asked.
type authorizer struct {
	grants func(right string) bool

	mu    sync.Mutex
	asked map[string]bool
}

func (a *authorizer) authorize(_ *Conn, op kmsg.ACLOperation, kind kmsg.ACLResourceType, name string) bool {
	right := strings.TrimSpace(fmt.Sprintf("%v %v %s", op, kind, name))
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked[right] = true
	return a.grants(right)
}

var operationsTold = regexp.MustCompile(` AuthorizedOperations:\d+`)

// TestRights asks each request of the table with all rights, with exactly those that
// suffice, and with all but those that the row says it needs.
func TestRights(t *testing.T) {
	for _, row := range rightsTable {
		t.Run(row.name, func(t *testing.T) {
			asked := map[string]bool{}
			check := func(t *testing.T, want string, grants func(right string) bool) map[string]bool {
				t.Helper()
				a := &authorizer{grants: grants, asked: map[string]bool{}}
				env := rightsNode(t)
				if grants != nil {
					env.Authorize = a.authorize
				}
				got := shownAll(ask(t, env, row.req()))
				if row.operations {
					got = operationsTold.ReplaceAllString(got, "")
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
				for right := range a.asked {
					asked[right] = true
				}
				return a.asked
			}
			check(t, row.served, nil)
			t.Run("all", func(t *testing.T) { check(t, row.served, func(string) bool { return true }) })
			known, refused := map[string]bool{}, map[string]bool{}
			for _, set := range row.suffice {
				rights := rightsIn(set)
				t.Run("only "+set, func(t *testing.T) {
					check(t, row.served, func(right string) bool { return slices.Contains(rights, right) })
				})
				for _, right := range rights {
					known[right] = true
				}
			}
			for _, l := range row.without {
				rights := rightsIn(l.rights)
				t.Run("without "+l.rights, func(t *testing.T) {
					got := check(t, l.want, func(right string) bool { return !slices.Contains(rights, right) })
					for _, right := range rights {
						if !got[right] {
							t.Errorf("nobody asked for %s", right)
						}
					}
				})
				for _, right := range rights {
					known[right], refused[right] = true, true
				}
			}
			for right := range asked {
				if !known[right] && !(row.operations && strings.Contains(right, " TOPIC ") && !strings.HasPrefix(right, "DESCRIBE ")) {
					t.Errorf("the handler asks for %s, of which the table says nothing", right)
				}
			}
			for right := range known {
				if !refused[right] {
					t.Errorf("the table does not say what is answered without %s", right)
				}
			}
		})
	}
}

// TestEveryRouteIsInTheTableOfRights: a new route says what is answered without the
// rights that it takes, and its need is one of them.
func TestEveryRouteIsInTheTableOfRights(t *testing.T) {
	rights := map[int16]string{}
	for _, row := range rightsTable {
		key := row.req().Key()
		rights[key] += "; " + strings.Join(row.suffice, "; ")
	}
	for key, r := range routes {
		all, ok := rights[key]
		switch {
		case !ok:
			t.Errorf("%s has no row in rightsTable", kmsg.NameForKey(key))
		case r.need != nothing && !openToAll[kmsg.Key(key)] && !strings.Contains(all, fmt.Sprintf("; %v %v", r.need.operation, r.need.resource)):
			t.Errorf("%s needs %v %v by its route, but its rows say %s", kmsg.NameForKey(key), r.need.operation, r.need.resource, all)
		}
	}
}

// shownAll is a response as text: all fields that are not as they are by default.
func shownAll(resp kmsg.Response) string {
	return tell(reflect.ValueOf(resp).Elem())
}

func tell(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return "null"
		}
		return tell(v.Elem())
	case reflect.String:
		return fmt.Sprintf("%q", v.String())
	case reflect.Array: // An id.
		return fmt.Sprintf("id%d", v.Index(0).Uint())
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return fmt.Sprintf("%d bytes", v.Len())
		}
		var parts []string
		for i := range v.Len() {
			parts = append(parts, tell(v.Index(i)))
		}
		return "[" + strings.Join(parts, " ") + "]"
	case reflect.Struct:
		return "{" + strings.Join(tellFields(v), " ") + "}"
	}
	return fmt.Sprint(v.Interface())
}

func tellFields(v reflect.Value) (fields []string) {
	usual := reflect.New(v.Type())
	if d, ok := usual.Interface().(interface{ Default() }); ok {
		d.Default()
	}
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		switch {
		case name == "Version" || name == "UnknownTags":
		case name == "ErrorCode" && v.Field(i).Int() != 0:
			fields = append(fields, kerr.TypedErrorForCode(int16(v.Field(i).Int())).Message)
		case !reflect.DeepEqual(v.Field(i).Interface(), usual.Elem().Field(i).Interface()):
			fields = append(fields, name+":"+tell(v.Field(i)))
		}
	}
	return fields
}
