// The shim contract of groupproof, version 1, for Kafka clients in Node. A shim fills in a `Member`, or a `PollingMember`, and calls `run`.
export { Gate } from './gate.mjs'
export { Member } from './member.mjs'
export { PollingMember } from './polling.mjs'
export { ERROR_NAMES, Named, OutcomeUnknown, Refused, Unimplemented, nameOfCode, problemOf } from './problems.mjs'
export { cannotRunHere, installed, run } from './process.mjs'
export { rangeShares } from './range.mjs'
export { Settings } from './settings.mjs'
