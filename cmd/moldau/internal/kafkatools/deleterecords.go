package kafkatools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
)

var deleteRecordsOptions = []option{
	bootstrapServer,
	{name: "offset-json-file", arity: argument, help: "Required: up to where, as {\"partitions\": [{\"topic\": \"t\", \"partition\": 0, \"offset\": 1}], \"version\": 1}."},
	adminConfig,
}

// deletePlan is the content of --offset-json-file.
type deletePlan struct {
	Version    *int `json:"version"`
	Partitions *[]struct {
		Topic     string `json:"topic"`
		Partition int32  `json:"partition"`
		Offset    int64  `json:"offset"`
	} `json:"partitions"`
}

// deleteRecords is kafka-delete-records.
func deleteRecords(ctx context.Context, e *Env, args []string) error {
	err := runDeleteRecords(ctx, e, args)
	if _, ok := errors.AsType[*exit](err); ok || err == nil {
		return err
	}
	return e.complain(err)
}

func runDeleteRecords(ctx context.Context, e *Env, args []string) error {
	o, err := parseOptions(deleteRecordsOptions, args)
	if err != nil {
		return err
	}
	if err := e.helpOrVersion(o, args, "This tool helps to delete records of the given partitions down to the specified offset."); err != nil {
		return err
	}
	if err := e.require(o, "bootstrap-server", "offset-json-file"); err != nil {
		return err
	}
	if err := o.check("command-config", "bootstrap-server", "offset-json-file"); err != nil {
		return err
	}
	settings, err := loadProperties(o.str("command-config"))
	if err != nil {
		return err
	}
	seeds, err := e.seeds(ctx, o.str("bootstrap-server"))
	if err != nil {
		return notCreated(noAdminClient)
	}
	offsets, err := readDeletePlan(o.str("offset-json-file"))
	if err != nil {
		return err
	}
	fmt.Fprintln(e.Out, "Executing records delete operation")
	fmt.Fprintln(e.Out, "Records delete operation completed:")
	cl, err := e.connect(ctx, connection{seeds: seeds, settings: settings, clientID: "adminclient-1", call: "deleteRecords"})
	if err != nil {
		return err
	}
	defer cl.raw.Close()
	resps, err := cl.DeleteRecords(ctx, offsets)
	if err != nil {
		return err
	}
	for _, r := range resps.Sorted() {
		p := topicPartition{r.Topic, r.Partition}
		if r.Err != nil {
			fmt.Fprintf(e.Out, "partition: %s\terror: %s\n", p, thrown(r.Err).String())
		} else {
			fmt.Fprintf(e.Out, "partition: %s\tlow_watermark: %d\n", p, r.LowWatermark)
		}
	}
	return nil
}

// readDeletePlan reads which records shall go.
func readDeletePlan(file string) (kadm.Offsets, error) {
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &failure{"java.io.IOException", "Unable to read file " + file}
	}
	if err != nil {
		return nil, err
	}
	invalid := func(message string) error {
		return &failure{"org.apache.kafka.server.common.AdminOperationException", message}
	}
	var plan deletePlan
	if err := json.Unmarshal(content, &plan); err != nil {
		return nil, invalid("The input string is not a valid JSON")
	}
	if plan.Version != nil && *plan.Version != 1 {
		return nil, invalid(fmt.Sprintf("Not supported version field value %d", *plan.Version))
	}
	if plan.Partitions == nil {
		return nil, invalid("Missing partitions field")
	}
	offsets := kadm.Offsets{}
	var twice []string
	for _, p := range *plan.Partitions {
		if _, ok := offsets.Lookup(p.Topic, p.Partition); ok {
			twice = append(twice, topicPartition{p.Topic, p.Partition}.String())
		}
		offsets.AddOffset(p.Topic, p.Partition, p.Offset, -1)
	}
	if len(twice) > 0 {
		slices.Sort(twice)
		return nil, &failure{
			"org.apache.kafka.server.common.AdminCommandFailedException",
			"Offset json file contains duplicate topic partitions: " + strings.Join(slices.Compact(twice), ","),
		}
	}
	return offsets, nil
}
