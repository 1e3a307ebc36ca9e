// A shim of level 1 around kafka-node's ConsumerGroup.
import kafka from 'kafka-node'
import { Member, Named, installed, nameOfCode, run } from 'groupproof'

const NOTHING = -1
const named = (error) => (error?.errorCode ? new Named(nameOfCode(error.errorCode), error.message) : error)
const promised = (call) => new Promise((resolve, reject) => call((error, result) => (error ? reject(named(error)) : resolve(result))))

class KafkaNode extends Member {
  async start(settings) {
    this.batch = []
    this.consumer = new kafka.ConsumerGroup({
      kafkaHost: settings.take('bootstrap'),
      fromOffset: settings.take('auto_offset_reset'),
      protocol: settings.takeAssignors(['range', 'roundrobin']),
      onRebalance: (isMember, done) => this.rebalance(isMember).then(() => done(), done),
      ...settings.takeAll({
        group: 'groupId', client_id: 'id', session_timeout_ms: 'sessionTimeout', heartbeat_interval_ms: 'heartbeatInterval', poll_timeout_ms: 'fetchMaxWaitMs',
        request_timeout_ms: 'requestTimeout', metadata_max_age_ms: 'topicPartitionCheckInterval', auto_commit: 'autoCommit',
        auto_commit_interval_ms: 'autoCommitIntervalMs',
      }),
    }, settings.take('topics'))
    this.consumer.on('rebalanced', () => this.assigned(this.consumer.topicPayloads.map(({ topic, partition }) => ({ topic, partition }))))
    this.consumer.on('error', (error) => this.failed(named(error)))
    this.consumer.on('message', (message) => this.batch.push(message))
    this.consumer.on('done', () => this.handle())
  }

  /** What a slow application does with this client: it pauses the consumer while it works. */
  async handle() {
    const messages = this.batch.splice(0)
    if (messages.length === 0) return
    this.consumer.pause()
    await this.received(messages)
    if (!this.gate.isShut && !this.isClosed) this.consumer.resume()
  }

  async rebalance(isMember) {
    if (isMember) await this.givenBack(this.assignment)
    else this.lost()
  }

  async pauseFlow() {
    this.consumer.pause()
    while (this.consumer._isFetchPending) await this.wait(10) // its records are reported before the answer
    await super.pauseFlow()
  }

  async resumeFlow() {
    await super.resumeFlow()
    this.consumer.resume()
  }

  async commitOffsets(offsets) {
    const answer = await promised((done) => this.consumer.sendOffsetCommitRequest(offsets.map((place) => ({ ...place, metadata: 'm' })), done))
    if (typeof answer === 'string') throw new Named('NOT_A_MEMBER', answer)
    for (const { errorCode } of Object.values(answer)) if (errorCode) throw new Named(nameOfCode(errorCode), 'the commit was refused')
  }

  async committed(partitions) {
    const offset = this.consumer.getOffset()
    const places = partitions.map(([topic, partition]) => ({ topic, partition }))
    const found = await promised((done) => offset.fetchCommits(this.consumer.options.groupId, places, done))
    return partitions.map(([topic, partition]) => [topic, partition, found[topic]?.[partition] ?? NOTHING])
  }

  async changeTopics(topics) {
    const before = this.consumer.topics
    const added = topics.filter((topic) => !before.includes(topic))
    const removed = before.filter((topic) => !topics.includes(topic))
    if (added.length > 0) await promised((done) => this.consumer.addTopics(added, done))
    if (removed.length > 0) await promised((done) => this.consumer.removeTopics(removed, done))
  }

  async stop() {
    await promised((done) => this.consumer.close(this.consumer.options.autoCommit, done))
    this.revoked()
  }
}

const capabilities = ['classic', 'commit', 'auto-commit', 'pause', 'on-revoked', 'resubscribe']
run({ client: 'kafka-node', version: installed('kafka-node', import.meta.url), capabilities, member: KafkaNode })
