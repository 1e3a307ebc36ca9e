// The cases of groupproof as tests of node:test: one run of `groupproof certify client`, and a subtest for each case.
import { spawn } from 'node:child_process'
import { test } from 'node:test'
import { join } from 'node:path'

const LAST_LINES = 12

/**
 * Declare a test that certifies a client. `subject` is the command line of its shim as an array, or the name of a registered client ('kafkajs@2.2.4').
 *
 * `options` are options of `groupproof certify client` as they stand on its command line, such as ['--only', 'heartbeat/classic', '--expect', 'known.toml'];
 * `failOn` names what fails a case beside FAILED ('non-strict', 'unclean'); `groupproof` is the command that runs the kit, by default what the environment's
 * GROUPPROOF says, else `groupproof`. The report is written to `output`.
 */
export function conformance(subject, { title = 'groupproof', options = [], failOn = [], groupproof, output = 'reports/groupproof' } = {}) {
  const command = (groupproof ?? process.env.GROUPPROOF ?? 'groupproof').split(' ')
  const chosen = [...options, ...failOn.flatMap((what) => ['--fail-on', what])]
  const named = Array.isArray(subject) ? ['--', ...subject] : [subject]
  return test(title, async (t) => {
    const ended = await certified([...command, 'certify', 'client', '--json', '--output', output, ...chosen, ...named], t.signal)
    const outcomes = ended.cases.map((result) => [result, outcomeOf(result, failOn, output)])
    for (const [{ id }, { fails, skips }] of outcomes) {
      await t.test(id, (t) => {
        if (fails) throw bare(fails)
        if (skips) t.skip(skips)
      })
    }
    const rest = whatElse(ended, outcomes.map(([, outcome]) => outcome))
    if (rest) throw bare(rest)
  })
}

/** Run the kit; return its exit status, the cases of its report, and what it said. What it says on stderr is passed on while it runs. */
function certified([program, ...rest], signal) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, rest, { stdio: ['ignore', 'pipe', 'pipe'], signal, killSignal: 'SIGINT' }) // which ends a run in order
    const out = []
    const said = []
    child.stdout.on('data', (data) => out.push(data))
    child.stderr.on('data', (data) => (said.push(data), process.stderr.write(data)))
    child.on('error', (error) => reject(error.code === 'ENOENT' ? bare(`${program} cannot be started: install groupproof, or say in GROUPPROOF how it is run`) : error))
    child.on('close', (status) => resolve({ status, ...reportIn(Buffer.concat(out).toString()), said: lastOf(Buffer.concat(said).toString()) }))
  })
}

function reportIn(text) {
  try {
    return { cases: JSON.parse(text).cases }
  } catch {
    return { cases: [], hasNoReport: true } // it ended before there was anything to report; its last words say why
  }
}

const lastOf = (text) => text.trimEnd().split('\n').slice(-LAST_LINES).join('\n')

/** What becomes of a case: the same as in groupproof's pytest plugin. */
function outcomeOf({ verdict, observed, preview, goodbye, excused, ...rest }, failOn, output) {
  const fail = (why) => ({ verdict, fails: [why, ...evidence({ ...rest, observed }, output)].join('\n') })
  if (preview && verdict !== 'OK') return { verdict, skips: `preview, not counted: ${verdict}: ${observed}` }
  if (excused) return { verdict, skips: `known: ${excused.reason} (${excused.source})` }
  if (verdict === 'FAILED' || (verdict === 'NON_STRICT' && failOn.includes('non-strict'))) return fail(`${verdict}: ${observed}`)
  if (verdict === 'BROKEN') return fail(`the shim is broken, which says nothing of the client: ${observed}`)
  if (verdict === 'INCONCLUSIVE') return fail(`no verdict, which is not laid at the client's door: ${observed}`)
  if (verdict === 'UNIMPLEMENTED') return { verdict, skips: observed }
  if (goodbye === 'UNCLEAN' && failOn.includes('unclean')) return fail('UNCLEAN: it did not end in order')
  return { verdict }
}

function* evidence({ title, requirements, expected, observed, grounds, trace, replay }, output) {
  yield `  case         ${title}`
  yield `  requirements ${requirements.join(', ')}`
  if (expected) yield `  expected     ${expected}`
  if (observed) yield `  observed     ${observed}`
  if (grounds) yield `  grounds      ${grounds}`
  if (trace) yield `  trace        ${join(output, trace)}`
  if (replay) yield `  replay       ${replay}`
}

/** What fails the run as a whole, though no case does: an environment that lacks something, an expectation that is stale, nothing judged. */
function whatElse({ status, hasNoReport, said }, outcomes) {
  if (hasNoReport || ![0, 1, 2, 4].includes(status)) return said || `groupproof ended with ${status}`
  if (!outcomes.some(({ verdict }) => verdict !== 'UNIMPLEMENTED')) return `nothing was judged\n${said}`
  if ((status === 1 || status === 4) && !outcomes.some(({ fails }) => fails)) return said
  return null
}

/** An error that shows its message alone: where it was thrown is of no use to anybody. */
function bare(message) {
  const error = new Error(message)
  error.stack = message
  return error
}
