// A consumer by franz-go, with the settings of test/support/client-programs.ts. With "generations" it reads a number of
// records as a client of each release of Kafka since 0.11, alone and in a group, and prints the releases.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

type settings struct {
	Bootstrap   string
	Topic       string
	Group       string
	Instance    string
	SinceMs     int64
	SessionMs   int64
	Ca          string
	Sasl        *struct{ Mechanism, User, Password string }
	Generations int
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func options(given settings) []kgo.Opt {
	from := kgo.NewOffset().AtStart()
	if given.SinceMs != 0 {
		from = kgo.NewOffset().AfterMilli(given.SinceMs)
	}
	all := []kgo.Opt{
		kgo.SeedBrokers(given.Bootstrap),
		kgo.ConsumeTopics(given.Topic),
		kgo.ConsumeResetOffset(from),
	}
	if given.Group != "" {
		all = append(all,
			kgo.ConsumerGroup(given.Group),
			kgo.DisableAutoCommit(),
			kgo.SessionTimeout(time.Duration(given.SessionMs)*time.Millisecond),
			kgo.HeartbeatInterval(200*time.Millisecond),
			kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, assigned map[string][]int32) {
				if len(assigned) > 0 && given.Generations == 0 {
					fmt.Println("assigned")
				}
			}),
		)
	}
	if given.Instance != "" {
		all = append(all, kgo.InstanceID(given.Instance))
	}
	if given.Ca != "" {
		pem, err := os.ReadFile(given.Ca)
		must(err)
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(pem)
		all = append(all, kgo.DialTLSConfig(&tls.Config{RootCAs: pool}))
	}
	if given.Sasl != nil {
		all = append(all, kgo.SASL(mechanism(given)))
	}
	return all
}

func mechanism(given settings) sasl.Mechanism {
	user, password := given.Sasl.User, given.Sasl.Password
	switch given.Sasl.Mechanism {
	case "PLAIN":
		return plain.Auth{User: user, Pass: password}.AsMechanism()
	case "SCRAM-SHA-256":
		return scram.Auth{User: user, Pass: password}.AsSha256Mechanism()
	default:
		return scram.Auth{User: user, Pass: password}.AsSha512Mechanism()
	}
}

// Reads records, and in a group commits each, until `each` says that it is enough.
func consume(given settings, more []kgo.Opt, each func(*kgo.Record) bool) {
	client, err := kgo.NewClient(append(options(given), more...)...)
	must(err)
	defer client.Close()
	for {
		context, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		fetches := client.PollFetches(context)
		if given.Generations > 0 {
			must(fetches.Err())
		}
		isEnough := false
		fetches.EachRecord(func(record *kgo.Record) {
			// the broker may be away for a while
			for given.Group != "" {
				err := client.CommitRecords(context, record)
				if err == nil {
					break
				}
				must(context.Err())
				time.Sleep(100 * time.Millisecond)
			}
			isEnough = each(record) || isEnough
		})
		cancel()
		if isEnough {
			return
		}
	}
}

func generations(given settings) {
	for _, release := range kversion.VersionStrings() {
		// record batches came with 0.11
		if strings.HasPrefix(release, "v0.") && !strings.HasPrefix(release, "v0.11") {
			continue
		}
		pinned := kversion.FromString(release)
		for _, group := range []string{"", "generation-" + release} {
			own := given
			own.Group = group
			count := 0
			consume(own, []kgo.Opt{kgo.MaxVersions(pinned)}, func(*kgo.Record) bool {
				count++
				return count >= given.Generations
			})
		}
		fmt.Println("generation", release)
	}
	fmt.Println("all generations")
}

func main() {
	var given settings
	must(json.Unmarshal([]byte(os.Args[1]), &given))
	if given.Generations > 0 {
		generations(given)
		return
	}
	consume(given, nil, func(record *kgo.Record) bool {
		fmt.Println("key", string(record.Key))
		return false
	})
}
