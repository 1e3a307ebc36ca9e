// The process of a shim: hello, commands from stdin, an end in order.
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'

import { write } from './lines.mjs'

const CONTRACT = 1
const CANNOT_RUN_HERE = 89 // before hello: this shim cannot run here

/** Return the release of a package that is installed beside the shim (`from` is its import.meta.url), whatever package.json asked for. */
export function installed(name, from) {
  const require = createRequire(from)
  for (const folder of require.resolve.paths(name)) {
    try {
      return require(`${folder}/${name}/package.json`).version.replace(/^v/, '')
    } catch (error) {
      if (error.code !== 'MODULE_NOT_FOUND') throw error
    }
  }
  return cannotRunHere(`${name} is not installed: npm ci in the shim's folder`)
}

export function cannotRunHere(why) {
  console.error(why)
  return process.exit(CANNOT_RUN_HERE)
}

/**
 * Serve commands from stdin until its end, SIGTERM, `exit`, or the close of the only member. `member` is the class of the client's members.
 *
 * Members of one process are told apart by `member` (the capability `multi`); a kit that leaves it out speaks to the only one. With the argument --single the
 * process is one member's, as an application's is: then what one member breaks stays its own, and each start costs what it costs.
 */
export function run({ client, version, capabilities, member: ClientMember }) {
  const isSingle = process.argv.includes('--single')
  capabilities = [...capabilities, ...(isSingle ? [] : ['multi'])]
  globalThis.console = new console.Console(process.stderr) // stdout is the contract's, whose lines are written past it
  process.stdout.write = process.stderr.write.bind(process.stderr) // for clients with a logger of their own
  const members = new Map()
  const queues = new Map()
  const end = async () => {
    await Promise.allSettled([...members.values()].map((member) => member.close()))
    process.exit(0)
  }
  const handle = async (command) => {
    const name = command.member
    if (!members.has(name) || (members.get(name).isClosed && command.command === 'subscribe')) members.set(name, new ClientMember(name, { capabilities }))
    await members.get(name).carryOut(command)
    if (command.command === 'exit' || (command.command === 'close' && name === undefined && members.get(name).isClosed)) await end()
  }
  process.on('SIGTERM', end)
  const lines = createInterface({ input: process.stdin })
  lines.on('line', (line) => {
    if (!line.startsWith('{')) return
    const command = JSON.parse(line)
    queues.set(command.member, (queues.get(command.member) ?? Promise.resolve()).then(() => handle(command)))
  })
  lines.on('close', () => Promise.all(queues.values()).then(end))
  write({ name: 'hello', contract: CONTRACT, client, version, language: 'javascript', capabilities })
}
