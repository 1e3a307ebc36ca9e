import { Member, installed, rangeShares, run } from 'groupproof'
import kafkajs from 'kafkajs'

const { Kafka, logLevel } = kafkajs
const { MemberAssignment, MemberMetadata } = kafkajs.AssignerProtocol
const version = installed('kafkajs', import.meta.url)

// kafkajs calls its only assignor RoundRobinAssigner, which no other client knows: an application that shares a group with others brings one of its own.
const range = ({ cluster }) => ({
  name: 'range',
  version: 0,
  protocol: ({ topics }) => ({ name: 'range', metadata: MemberMetadata.encode({ version: 0, topics }) }),
  async assign({ members }) {
    const wishes = members.map(({ memberId, memberMetadata }) => ({ memberId, topics: MemberMetadata.decode(memberMetadata).topics }))
    const shares = rangeShares(wishes, (topic) => cluster.findTopicPartitionMetadata(topic).map(({ partitionId }) => partitionId))
    return shares.map(({ memberId, assignment }) => ({ memberId, memberAssignment: MemberAssignment.encode({ version: 0, assignment }) }))
  },
})

class KafkaJs extends Member {
  async start(settings) {
    this.kafka = new Kafka({
      brokers: settings.take('bootstrap').split(','),
      logLevel: logLevel.INFO,
      logCreator: () => ({ label, log }) => console.error(label, JSON.stringify(log)),
      ...settings.takeAll({ client_id: 'clientId', request_timeout_ms: 'requestTimeout' }),
    })
    this.group = settings.take('group')
    this.consumer = this.kafka.consumer({
      partitionAssigners: settings.takeAssignors(['range']).map(() => range),
      groupId: this.group,
      ...settings.takeAll({
        session_timeout_ms: 'sessionTimeout', heartbeat_interval_ms: 'heartbeatInterval', max_poll_interval_ms: 'rebalanceTimeout',
        poll_timeout_ms: 'maxWaitTimeInMs', metadata_max_age_ms: 'metadataMaxAge',
      }),
    })
    this.listen(this.consumer.events)
    const topics = { topics: settings.take('topics'), fromBeginning: settings.take('auto_offset_reset') === 'earliest' }
    const options = settings.takeAll({ auto_commit: 'autoCommit', auto_commit_interval_ms: 'autoCommitInterval' })
    this.go(topics, options) // nobody awaits the join: subscribe is answered when the client has its settings
  }

  async go(topics, options) {
    try {
      await this.consumer.connect()
      await this.consumer.subscribe(topics)
      await this.consumer.run({ ...options, eachBatch: ({ batch }) => this.received(batch.messages.map(({ offset }) => ({ ...batch, offset }))) })
    } catch (error) {
      this.failed(error, { fatal: true })
    }
  }

  // kafkajs has no callbacks of a rebalance, only these events: what was assigned is given up when a rebalance begins.
  listen({ GROUP_JOIN, REBALANCING, CRASH, STOP }) {
    const partitionsOf = (assignment) => Object.entries(assignment).flatMap(([topic, numbers]) => numbers.map((partition) => ({ topic, partition })))
    this.consumer.on(REBALANCING, () => this.revoked())
    this.consumer.on(STOP, () => this.revoked())
    this.consumer.on(GROUP_JOIN, ({ payload }) => this.assigned(partitionsOf(payload.memberAssignment), { member_id: payload.memberId }))
    this.consumer.on(CRASH, ({ payload }) => {
      this.lost()
      this.failed(payload.error, { fatal: !payload.restart })
    })
  }

  async commitOffsets(offsets) {
    await this.consumer.commitOffsets(offsets.map((place) => ({ ...place, offset: String(place.offset) })))
  }

  async committed(partitions) {
    const admin = this.kafka.admin()
    await admin.connect()
    const found = await admin.fetchOffsets({ groupId: this.group, topics: [...new Set(partitions.map(([topic]) => topic))] })
    await admin.disconnect()
    const offsetOf = (topic, partition) => found.find((one) => one.topic === topic)?.partitions.find((one) => one.partition === partition)?.offset ?? -1
    return partitions.map(([topic, partition]) => [topic, partition, Number(offsetOf(topic, partition))])
  }

  stop() {
    return this.consumer.disconnect()
  }
}

run({ client: 'kafkajs', version, capabilities: ['classic', 'commit', 'auto-commit'], member: KafkaJs })
