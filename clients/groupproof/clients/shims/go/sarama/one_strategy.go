//go:build one_strategy

package main

import (
	"github.com/IBM/sarama"

	"github.com/groupproof/groupproof/clients/groupproof/clients/shims/go/groupproof/shim"
)

// Releases before 1.40 make their strategies once for all groups, and most of them offer one and know no static members.
var strategies = map[string]func() sarama.BalanceStrategy{
	"range":      func() sarama.BalanceStrategy { return sarama.BalanceStrategyRange },
	"roundrobin": func() sarama.BalanceStrategy { return sarama.BalanceStrategyRoundRobin },
	"sticky":     func() sarama.BalanceStrategy { return sarama.BalanceStrategySticky },
}

func offer(config *sarama.Config, chosen []sarama.BalanceStrategy) error {
	if len(chosen) != 1 {
		return shim.Unimplemented("sarama offers one assignor before 1.40")
	}
	config.Consumer.Group.Rebalance.Strategy = chosen[0]
	return nil
}

func nameInstance(_ *sarama.Config, id string) error {
	if id != "" {
		return shim.Unimplemented("sarama has no static members before 1.40")
	}
	return nil
}
