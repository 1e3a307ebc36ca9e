import 'reflect-metadata'
import { ServerKafka } from '@nestjs/microservices'
import { Member, installed, rangeShares, run } from 'groupproof'
import kafkajs from 'kafkajs'

const { MemberAssignment, MemberMetadata } = kafkajs.AssignerProtocol
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

class NestServer extends ServerKafka {
  registerConsumerEventListeners() { // by which Nest itself follows its consumer
    super.registerConsumerEventListeners()
    this.options.follow(this.consumer)
  }
}

class Nest extends Member {
  async start(settings) {
    this.group = settings.take('group')
    this.server = new NestServer({
      postfixId: '',
      client: { brokers: settings.take('bootstrap').split(','), ...settings.takeAll({ client_id: 'clientId', request_timeout_ms: 'requestTimeout' }) },
      consumer: {
        groupId: this.group,
        partitionAssigners: settings.takeAssignors(['range']).map(() => range),
        ...settings.takeAll({
          session_timeout_ms: 'sessionTimeout', heartbeat_interval_ms: 'heartbeatInterval', max_poll_interval_ms: 'rebalanceTimeout',
          poll_timeout_ms: 'maxWaitTimeInMs', metadata_max_age_ms: 'metadataMaxAge',
        }),
      },
      subscribe: { fromBeginning: settings.take('auto_offset_reset') === 'earliest' },
      run: settings.takeAll({ auto_commit: 'autoCommit', auto_commit_interval_ms: 'autoCommitInterval' }),
      follow: (consumer) => this.follow(consumer),
    })
    for (const topic of settings.take('topics')) {
      this.server.addHandler(topic, async (_, context) => {
        await this.received([{ topic: context.getTopic(), partition: context.getPartition(), offset: context.getMessage().offset }])
      }, true)
    }
    this.server.listen((error) => error && this.failed(error, { fatal: true }))
  }

  follow(consumer) {
    const { GROUP_JOIN, REBALANCING, CRASH, STOP } = consumer.events
    const partitionsOf = (assignment) => Object.entries(assignment).flatMap(([topic, numbers]) => numbers.map((partition) => ({ topic, partition })))
    consumer.on(REBALANCING, () => this.revoked())
    consumer.on(STOP, () => this.revoked())
    consumer.on(GROUP_JOIN, ({ payload }) => this.assigned(partitionsOf(payload.memberAssignment), { member_id: payload.memberId }))
    consumer.on(CRASH, ({ payload }) => {
      this.lost()
      this.failed(payload.error, { fatal: !payload.restart })
    })
  }

  async commitOffsets(offsets) {
    const [, consumer] = this.server.unwrap()
    await consumer.commitOffsets(offsets.map((place) => ({ ...place, offset: String(place.offset) })))
  }

  async committed(partitions) {
    const admin = this.server.unwrap()[0].admin()
    await admin.connect()
    const found = await admin.fetchOffsets({ groupId: this.group, topics: [...new Set(partitions.map(([topic]) => topic))] })
    await admin.disconnect()
    const offsetOf = (topic, partition) => found.find((one) => one.topic === topic)?.partitions.find((one) => one.partition === partition)?.offset ?? -1
    return partitions.map(([topic, partition]) => [topic, partition, Number(offsetOf(topic, partition))])
  }

  stop() {
    return this.server.close()
  }
}

run({ client: 'nestjs-microservices', version: installed('@nestjs/microservices', import.meta.url), capabilities: ['classic', 'commit', 'auto-commit'], member: Nest })
