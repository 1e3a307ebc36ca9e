//go:build !one_strategy

package main

import "github.com/IBM/sarama"

var strategies = map[string]func() sarama.BalanceStrategy{
	"range": sarama.NewBalanceStrategyRange, "roundrobin": sarama.NewBalanceStrategyRoundRobin, "sticky": sarama.NewBalanceStrategySticky,
}

func init() { capabilities = append(capabilities, "static") }

// offer has the group offer these strategies, the best first.
func offer(config *sarama.Config, chosen []sarama.BalanceStrategy) error {
	config.Consumer.Group.Rebalance.GroupStrategies = chosen
	return nil
}

func nameInstance(config *sarama.Config, id string) error {
	config.Consumer.Group.InstanceId = id
	return nil
}
