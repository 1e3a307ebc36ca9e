// A shim of level 1 around @confluentinc/kafka-javascript by its promisified API, which is the one that its pages teach: librdkafka polled by workers, with a handler for each batch.
import { Member, OutcomeUnknown, installed, run } from './groupproof/index.mjs'
import { errorsOf, takeAssignors, takePollInterval } from './librdkafka.mjs'

const version = installed('@confluentinc/kafka-javascript', import.meta.url)
const { KafkaJS } = (await import('@confluentinc/kafka-javascript')).default
const CODES = KafkaJS.ErrorCodes

const CAPABILITIES = ['classic', 'commit', 'commit-async', 'auto-commit', 'pause', 'poll-deadline', 'static', 'cooperative', 'on-revoked', 'resubscribe']
const COMMITTED_MS_MAX = 10_000
const CONNECTS_MAX = 5

const named = errorsOf(CODES)
const bare = ({ topic, partition }) => ({ topic, partition })

class KafkaJavascript extends Member {
  #consumer
  #connecting

  async start(settings) {
    const topics = settings.take('topics')
    const kafka = new KafkaJS.Kafka(settings.takeAll({ bootstrap: 'bootstrap.servers', client_id: 'client.id' }))
    const config = this.#config(settings)
    // Nobody waits for the connection: the command is answered when the client has its settings.
    this.#connecting = this.#go(() => kafka.consumer({ ...config }), topics)
  }

  #config(settings) {
    const reset = settings.take('auto_offset_reset', 'latest')
    return {
      'partition.assignment.strategy': takeAssignors(settings).join(','),
      // It gives librdkafka, and so the group, twice what it is told (#finalizedConfig in its _consumer.js).
      'max.poll.interval.ms': takePollInterval(settings) / 2,
      'auto.offset.reset': reset === 'none' ? 'error' : reset,
      rebalance_cb: (error, partitions, { assignmentLost }) => this.#rebalanced(error, partitions, assignmentLost()),
      ...settings.takeAll({
        group: 'group.id', instance_id: 'group.instance.id', session_timeout_ms: 'session.timeout.ms', heartbeat_interval_ms: 'heartbeat.interval.ms',
        auto_commit: 'enable.auto.commit', auto_commit_interval_ms: 'auto.commit.interval.ms', poll_timeout_ms: 'fetch.wait.max.ms',
        metadata_max_age_ms: 'topic.metadata.refresh.interval.ms', request_timeout_ms: 'socket.timeout.ms', retry_backoff_ms: 'retry.backoff.ms',
        reconnect_backoff_ms: 'reconnect.backoff.ms',
      }),
      ...settings.take('properties', {}),
    }
  }

  // A connection that is lost within `connect`, which asks for metadata, ends it: the application makes the consumer anew.
  async #connect(made) {
    for (let left = CONNECTS_MAX; ; left -= 1) {
      this.#consumer = made()
      try {
        return await this.#consumer.connect()
      } catch (error) {
        if (left === 1 || this.isClosed) throw error
        this.failed(named(error), { fatal: false })
      }
    }
  }

  async #go(made, topics) {
    try {
      await this.#connect(made)
      await this.#consumer.subscribe({ topics })
      await this.#consumer.run({ eachBatch: ({ batch }) => this.#eachBatch(batch) })
    } catch (error) {
      this.failed(named(error), { fatal: true })
    }
  }

  #eachBatch({ topic, partition, messages }) {
    return this.received(messages.map(({ offset }) => ({ topic, partition, offset })))
  }

  // What librdkafka assigns or takes away is so when this returns.
  async #rebalanced(error, partitions, isLost) {
    if (error.code === CODES.ERR__ASSIGN_PARTITIONS) this.added(partitions.map(bare))
    else if (isLost) this.revoked(partitions.map(bare), 'partitions_lost')
    else await this.givenBack(partitions.map(bare))
  }

  // Its promise ends when the commit is queued; what the broker answers is told to nobody (KafkaConsumerCommitCb in its workers.cc).
  async commitOffsets(offsets) {
    if (offsets.length === 0) return // which other clients call a success
    try {
      await this.#consumer.commitOffsets(offsets.map(({ offset, ...each }) => ({ ...each, offset: String(offset) })))
    } catch (error) {
      throw named(error)
    }
    throw new OutcomeUnknown()
  }

  async committed(partitions) {
    const asked = partitions.map(([topic, partition]) => ({ topic, partition }))
    try {
      const answer = await this.#consumer.committed(asked, COMMITTED_MS_MAX)
      return answer.map(({ topic, partition, offset }) => [topic, partition, Math.max(Number(offset ?? -1), -1)])
    } catch (error) {
      throw named(error)
    }
  }

  changeTopics(topics) {
    return this.#consumer.subscribe({ topics, replace: true })
  }

  async stop() {
    await this.#connecting
    await this.#consumer.disconnect()
  }
}

run({ client: 'confluent-kafka-javascript', version, capabilities: CAPABILITIES, member: KafkaJavascript })
