// What the shims of librdkafka's bindings share: its settings and its names of errors.
import { Named, Unimplemented } from './groupproof/index.mjs'

const ASSIGNORS = ['range', 'roundrobin', 'cooperative-sticky']

// librdkafka's own names of some of Kafka's errors are older.
const KAFKA_NAMES = { 6: 'NOT_LEADER_OR_FOLLOWER', 14: 'COORDINATOR_LOAD_IN_PROGRESS', 15: 'COORDINATOR_NOT_AVAILABLE', 16: 'NOT_COORDINATOR' }

/** Return what names an error of a binding, whose table of codes is given (`ERR_UNKNOWN_MEMBER_ID: 25`, `ERR__TIMED_OUT: -185`). */
export function errorsOf(codes) {
  const own = Object.fromEntries(Object.entries(codes).map(([name, code]) => [code, name.replace(/^ERR_/, '')]))
  return (error) => (error && error.code in own ? new Named(KAFKA_NAMES[error.code] ?? own[error.code], error.message) : error)
}

/** Take the assignors; librdkafka has no others, and lets nobody mix eager and cooperative ones. */
export function takeAssignors(settings) {
  const asked = settings.take('assignors', ['range'])
  const missing = asked.filter((name) => !ASSIGNORS.includes(name))
  if (missing.length > 0) throw new Unimplemented(`librdkafka has no assignor ${missing}`)
  if (asked.length > 1 && asked.includes('cooperative-sticky')) throw new Unimplemented('librdkafka lets nobody mix cooperative and eager assignors')
  return asked
}

/** Take max.poll.interval.ms, which librdkafka wants no shorter than the session timeout. */
export function takePollInterval(settings) {
  const [asked, session] = [settings.take('max_poll_interval_ms', 300_000), settings.take('session_timeout_ms', 45_000)]
  if (asked < session) settings.ignore('max_poll_interval_ms')
  return Math.max(asked, session)
}
