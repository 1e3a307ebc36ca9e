// Errors by the names that the contract wants: Kafka's where the client's error stands for a code, else the client's own in capitals.

// Kafka's Errors, for clients whose errors carry the number, or an older name.
export const ERROR_NAMES = {
  '-1': 'UNKNOWN_SERVER_ERROR', 1: 'OFFSET_OUT_OF_RANGE', 3: 'UNKNOWN_TOPIC_OR_PARTITION', 4: 'INVALID_FETCH_SIZE',
  5: 'LEADER_NOT_AVAILABLE', 6: 'NOT_LEADER_OR_FOLLOWER', 7: 'REQUEST_TIMED_OUT', 10: 'MESSAGE_TOO_LARGE', 12: 'OFFSET_METADATA_TOO_LARGE',
  13: 'NETWORK_EXCEPTION', 14: 'COORDINATOR_LOAD_IN_PROGRESS', 15: 'COORDINATOR_NOT_AVAILABLE', 16: 'NOT_COORDINATOR',
  18: 'RECORD_LIST_TOO_LARGE', 19: 'NOT_ENOUGH_REPLICAS', 20: 'NOT_ENOUGH_REPLICAS_AFTER_APPEND', 22: 'ILLEGAL_GENERATION',
  23: 'INCONSISTENT_GROUP_PROTOCOL', 24: 'INVALID_GROUP_ID', 25: 'UNKNOWN_MEMBER_ID', 26: 'INVALID_SESSION_TIMEOUT',
  27: 'REBALANCE_IN_PROGRESS', 28: 'INVALID_COMMIT_OFFSET_SIZE', 29: 'TOPIC_AUTHORIZATION_FAILED', 30: 'GROUP_AUTHORIZATION_FAILED',
  35: 'UNSUPPORTED_VERSION', 40: 'INVALID_CONFIG', 42: 'INVALID_REQUEST', 47: 'INVALID_PRODUCER_EPOCH', 48: 'INVALID_TXN_STATE',
  49: 'INVALID_PRODUCER_ID_MAPPING', 56: 'KAFKA_STORAGE_ERROR', 68: 'NON_EMPTY_GROUP', 69: 'GROUP_ID_NOT_FOUND',
  70: 'FETCH_SESSION_ID_NOT_FOUND', 79: 'MEMBER_ID_REQUIRED', 81: 'GROUP_MAX_SIZE_REACHED', 82: 'FENCED_INSTANCE_ID',
  86: 'GROUP_SUBSCRIBED_TO_TOPIC', 88: 'UNSTABLE_OFFSET_COMMIT', 100: 'UNKNOWN_TOPIC_ID', 110: 'FENCED_MEMBER_EPOCH',
  111: 'UNRELEASED_INSTANCE_ID', 112: 'UNSUPPORTED_ASSIGNOR', 113: 'STALE_MEMBER_EPOCH', 128: 'INVALID_REGULAR_EXPRESSION',
}

// What ends more than the command that meets it.
const FATAL = new Set(['FENCED_INSTANCE_ID', 'GROUP_AUTHORIZATION_FAILED', 'TOPIC_AUTHORIZATION_FAILED', 'INVALID_GROUP_ID', 'UNSUPPORTED_VERSION'])

const DEPTH_MAX = 8
const KAFKA_NAME = /^[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$/

/** A command that the client, or this shim, refuses. */
export class Refused extends Error {
  constructor(error, message) {
    super(message)
    this.name = error
  }
}

/** An error of the client's, under the name that Kafka or its library has for it. */
export class Named extends Error {
  constructor(name, message) {
    super(message)
    this.name = name
    this.type = name
  }
}

/** The client has no such feature; the message says why. */
export class Unimplemented extends Error {}

/** The commit was made, and the client tells nobody what became of it. */
export class OutcomeUnknown extends Error {}

/** Return Kafka's name of an error code; a number that has none is `CODE_999`. */
export const nameOfCode = (code) => ERROR_NAMES[code] ?? `CODE_${code}`

const upperSnake = (name) =>
  name
    .replace(/^KafkaJS(?=.)/, '')
    .replace(/(?<=.)(Error|Exception)$/, '')
    .replace(/(?<=[a-z0-9])(?=[A-Z])/g, '_')
    .toUpperCase()

/** Return every error inside one with its depth: clients wrap the broker's in aggregates and causes. */
function* inside(error, depth = 0) {
  if (!error || depth === DEPTH_MAX) return
  yield [depth, error]
  for (const inner of [...(error.errors ?? []), error.cause, error.originalError]) yield* inside(inner, depth + 1)
}

/** Name an error as Kafka does (`type` is kafkajs's, `apiId` platformatic's), else as its class is called. The innermost that bears Kafka's name counts. */
export function problemOf(error) {
  const message = String(error?.message ?? error)
  const named = [...inside(error)].map(([depth, { type, apiId }]) => [depth, type ?? apiId]).filter(([, name]) => KAFKA_NAME.test(name ?? ''))
  if (named.length > 0) {
    const [, name] = named.reduce((deepest, found) => (found[0] > deepest[0] ? found : deepest))
    return { error: name, message, fatal: FATAL.has(name) }
  }
  const own = [error?.name, error?.constructor?.name].find((name) => name && name !== 'Error') // a class may have left its name to Error
  return { error: upperSnake(own ?? 'Error'), message, fatal: false }
}
