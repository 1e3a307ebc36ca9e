//go:build !eager_only

package main

import "github.com/IBM/sarama"

// Releases before 1.60.1 have no cooperative assignor.
func init() {
	strategies["cooperative-sticky"] = sarama.NewBalanceStrategyCooperativeSticky
	capabilities = append(capabilities, "cooperative")
}
