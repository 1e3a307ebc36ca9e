//go:build serversidebeta

package main

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"
)

// From 1.19 until 1.22 the protocol of KIP-848 is a beta, which a value of the client's context asks for.
var dialects = []string{"classic", "consumer", "consumer-preview"}

func serverSide() []kgo.Opt {
	return []kgo.Opt{kgo.WithContext(context.WithValue(context.Background(), "opt_in_kafka_next_gen_balancer_beta", true))} //nolint:revive,staticcheck // franz-go looks for this very string
}
