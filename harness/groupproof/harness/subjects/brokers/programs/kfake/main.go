// Command kfake runs franz-go's fake cluster for as long as its standard input is open.
//
// Its one argument is JSON: brokers, topics (name to partitions), settings (Kafka's dotted names). The first line it says is
// JSON with the brokers' addresses, by node id from 0 on. It reads commands, one a line: "stop N" kills a broker, and is
// answered "stopped N" or "error WHY".
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kfake"
)

type plan struct {
	Brokers  int               `json:"brokers"`
	Topics   map[string]int32  `json:"topics"`
	Settings map[string]string `json:"settings"`
}

// nodes keeps the connections of each broker, so that a broker that is killed takes them along.
type nodes struct {
	mu   sync.Mutex
	open map[string]map[net.Conn]struct{}
}

type listener struct {
	net.Listener
	nodes *nodes
}

type connection struct {
	net.Conn
	closed func()
}

func (n *nodes) listen(network, address string) (net.Listener, error) {
	inner, err := net.Listen(network, address)
	if err != nil {
		return nil, err
	}
	return &listener{inner, n}, nil
}

func (l *listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	at := l.Addr().String()
	l.nodes.mu.Lock()
	defer l.nodes.mu.Unlock()
	if l.nodes.open[at] == nil {
		l.nodes.open[at] = map[net.Conn]struct{}{}
	}
	l.nodes.open[at][conn] = struct{}{}
	return &connection{conn, func() {
		l.nodes.mu.Lock()
		defer l.nodes.mu.Unlock()
		delete(l.nodes.open[at], conn)
	}}, nil
}

func (c *connection) Close() error {
	c.closed()
	return c.Conn.Close()
}

func (n *nodes) cut(address string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for conn := range n.open[address] {
		conn.Close()
	}
}

func main() {
	var given plan
	if err := json.Unmarshal([]byte(os.Args[1]), &given); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	own := &nodes{open: map[string]map[net.Conn]struct{}{}}
	options := []kfake.Opt{
		kfake.NumBrokers(given.Brokers),
		kfake.ListenFn(own.listen),
		kfake.AllowAutoTopicCreation(),
		kfake.DefaultNumPartitions(1),
		kfake.BrokerConfigs(given.Settings),
		kfake.WithLogger(kfake.BasicLogger(os.Stderr, kfake.LogLevelInfo)),
	}
	for topic, partitions := range given.Topics {
		options = append(options, kfake.SeedTopics(partitions, topic))
	}
	cluster, err := kfake.NewCluster(options...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	addresses := cluster.ListenAddrs()
	said, _ := json.Marshal(map[string]any{"addresses": addresses})
	fmt.Println(string(said))
	commands := bufio.NewScanner(os.Stdin)
	for commands.Scan() {
		fmt.Println(stop(cluster, own, addresses, commands.Text()))
	}
}

func stop(cluster *kfake.Cluster, own *nodes, addresses []string, command string) string {
	node, err := strconv.Atoi(strings.TrimPrefix(command, "stop "))
	if err != nil || node < 0 || node >= len(addresses) {
		return "error there is no such node: " + command
	}
	if err := cluster.RemoveNode(int32(node)); err != nil {
		return "error " + err.Error()
	}
	own.cut(addresses[node])
	return fmt.Sprintf("stopped %d", node)
}
